"""Speaks the users of a data set: DIR/ID.wav for each record, and DIR/speak.json with the speaker and the lengths.

The format is the paper's (section 3.3): 24 kHz, 16 bit, mono, 120 ms of silence before and after. The silence is
digital, and exact to the sample: it replaces the zeros with which a speaker itself begins or ends. Nothing else is cut
off, not even where it is quiet, since no threshold separates a speaker's pause from a soft onset.

A set that has been spoken is the users of a run.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from fdbcore import registry
from fdbcore._ext.resample import Resampler
from fdbcore.audio import resampler_to_48k, wav_bytes
from fdbcore.clock import now_ns
from fdbcore.errors import InputError, RecordingError, SettingsError
from fdbcore.protocols import Speaker
from fdbcore.recording import one_call, read_json, settings_hash, write_bytes, write_json, write_text
from fdbcore.runs import users_of
from fdbcore.runtime import query_of, split_query
from fdbcore.sources import fit_for_a_folder
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.suites.dialogue_acts.records import Record
from fdbcore.suites.dialogue_acts.sets import (
    GENERATED,
    GENERATED_SCHEMA,
    PROMPTS,
    RECORDS,
    SHIPPED,
    RecordSet,
    check_locale,
    generated,
    prompts_in,
    records_in,
    rules_of,
)
from fdbcore.types import SAMPLE_RATE_HZ, Clip, Material, Problem, SideA

SPEAK_SCHEMA: Final = "fdbcore.speak/1"
SPEAK, ASSISTANT = "speak.json", "assistant"
SPEAKERS: Final = {"ja": "open-jtalk", "en": "hibari"}
RATE_HZ: Final = 24_000
SILENCE_SAMPLES: Final = 2_880
TAIL_S: Final = 30
"""Time that a user waits for a reply to be given and said."""

PAUSE_MS: Final = 1500
"""More than any pause within a request, which would be sent by halves; a system that replies once is not timed."""

Samples = npt.NDArray[np.int16]

_FULL_SCALE: Final = 32_767
_HEADER_BYTES: Final = len(wav_bytes(np.zeros(0, np.int16), RATE_HZ))
_NOTE_EVERY_NS: Final = 1_000_000_000


def default_speaker(locale: str) -> str:
    """The speaker of a set's language if the user names nobody. SettingsError if none of the speakers here does."""
    language = locale.partition("-")[0]
    if language not in SPEAKERS:
        raise SettingsError(f"--tts: expected a speaker of {locale}, as those here speak Japanese and English")
    return SPEAKERS[language]


def wav_path(folder: Path, record: Record) -> Path:
    """The file of the user of a record. InputError if the id cannot be the name of a file."""
    if fit_for_a_folder(record.id) != record.id:
        raise InputError(f"id: expected letters, digits and _.+- only, as it names a file, got {record.id!r}")
    return folder / f"{record.id}.wav"


def speak_records(
    records: Sequence[Record], folder: Path, speaker: Speaker, show: Callable[[str], None] = lambda text: None
) -> list[Problem]:
    """Speak each record that is new, or has another text or speaker than its file; return those that failed.

    If it is called again, it continues where it stopped; a file is replaced once the new one is complete. show: called
    for each record. Raises SettingsError for a speaker that cannot speak at all, and for a folder that holds other
    recordings under these names; RecordingError if it cannot be written.
    """
    if speaker.describe().get("folder") == str(folder.absolute()):
        raise SettingsError(f"{folder}: expected a speaker's recordings in another folder than what is made of them")
    fit: list[Record] = []
    problems: list[Problem] = []
    for record in records:
        try:
            wav_path(folder, record)
            fit.append(record)
        except InputError as error:
            problems.append(Problem(record.id, str(error)))
    with one_call(folder / SPEAK):
        notes = _Notes(folder, speaker.describe(), fit)
        lacking = {record.id for record in fit if notes.lacks(record)}
    try:
        for number, record in enumerate(fit, 1):
            if record.id not in lacking:
                continue
            show(f"speaking {number} of {len(fit)}: {record.id}")
            try:
                pcm = clip_of(*speaker.speak(record.id, record.user_text))
            except SettingsError:  # no other would fare better
                raise
            except InputError as error:
                problems.append(Problem(record.id, str(error)))
                notes.drop(record)
                continue
            write_bytes(wav_path(folder, record), wav_bytes(pcm, RATE_HZ))
            notes.add(record, len(pcm))
    finally:
        notes.write()
    return problems


def clip_of(pcm: Samples, rate_hz: int) -> Samples:
    """The clip of a user from what a speaker said, mono int16 (n,) at `rate_hz`.

    InputError if it is silent or clipped, before or after its rate is converted.
    """
    full = _at_full_scale(pcm)
    if (full[2:] & full[1:-1] & full[:-2]).any():  # so many in a row are no peak
        raise InputError("speech: expected no clipping, got three samples in a row at full scale")
    converted = pcm
    for resampler in (resampler_to_48k(rate_hz), Resampler(SAMPLE_RATE_HZ, RATE_HZ)) if rate_hz != RATE_HZ else ():
        converted = np.concatenate((resampler.process(converted), resampler.flush()))
    if converted is not pcm and _at_full_scale(converted).any():
        raise InputError(f"speech: expected lower peaks, got some that clip when {rate_hz} Hz become {RATE_HZ}")
    sounding = np.flatnonzero(converted)
    if not len(sounding):
        raise InputError("speech: expected a sound, got silence")
    return np.pad(converted[sounding[0] : sounding[-1] + 1], SILENCE_SAMPLES)


def _at_full_scale(pcm: Samples) -> npt.NDArray[np.bool_]:
    at: npt.NDArray[np.bool_] = np.abs(pcm.astype(np.int32)) >= _FULL_SCALE
    return at


class _Notes:
    """speak.json: which files are ours, and who has spoken what in them."""

    def __init__(self, folder: Path, speaker: Mapping[str, Any], records: Sequence[Record]) -> None:
        self._folder = folder
        earlier = read_json(folder / SPEAK) if (folder / SPEAK).is_file() else {"files": {}, "speakers": {}}
        if earlier.setdefault("schema", SPEAK_SCHEMA) != SPEAK_SCHEMA:
            raise RecordingError(f"{folder / SPEAK}: expected schema {SPEAK_SCHEMA}, got {earlier['schema']!r}")
        paths = [wav_path(folder, record) for record in records if record.id not in earlier["files"]]
        if foreign := [path.name for path in paths if path.exists()]:
            raise SettingsError(
                f"{folder}: expected only recordings of {SPEAK}, found others, which would be lost: "
                f"{', '.join(foreign[:5])}{' ...' if len(foreign) > 5 else ''}"
            )
        self._files: dict[str, Any] = {record.id: earlier["files"].get(record.id) for record in records}
        self._speaker = settings_hash(speaker)[:12]
        self._speakers = {**earlier["speakers"], self._speaker: json.loads(json.dumps(speaker))}
        self.write()  # before the first file, so that all of them are known to be ours

    def lacks(self, record: Record) -> bool:
        """True if the record must still be spoken."""
        done, path = self._files[record.id], wav_path(self._folder, record)
        if not done or (done["text"], done["speaker"]) != (record.user_text, self._speaker):
            return True
        return not path.is_file() or path.stat().st_size != _HEADER_BYTES + 2 * done["samples"]

    def add(self, record: Record, samples: int) -> None:
        """Note that the file of a record is complete; within a second this is on the disk."""
        self._files[record.id] = {
            "text": record.user_text,
            "speaker": self._speaker,
            "samples": samples,
            "length_s": samples / RATE_HZ,
        }
        if now_ns() - self._written_ns > _NOTE_EVERY_NS:
            self.write()

    def drop(self, record: Record) -> None:
        """Note that a record could not be spoken. Its file is removed if it says another text; of another speaker, it
        stays.
        """
        if (done := self._files[record.id]) and done["text"] != record.user_text:
            self._files[record.id] = None
            wav_path(self._folder, record).unlink(missing_ok=True)

    def write(self) -> None:
        used = {done["speaker"] for done in self._files.values() if done}
        value = {
            "schema": SPEAK_SCHEMA,
            "rate_hz": RATE_HZ,
            "silence_samples": SILENCE_SAMPLES,
            "speakers": {name: speaker for name, speaker in self._speakers.items() if name in used},
            "files": self._files,
        }
        write_json(self._folder / SPEAK, value)
        self._written_ns = now_ns()


def prompts(told: Prompts | None = None) -> Mapping[str, str]:
    """The settings of parties that take prompts and whose addresses set none. told: the prompts of the set."""
    return {**(told or Prompts()).responding, "pause_ms": str(PAUSE_MS), "hears": "recording"}


def side_a(data: str) -> SideA:
    """The users of the data set "DIR" or "DIR?prompts=DIR&locale=LOCALE&SETTINGS", and lines that are no records.

    prompts, locale: as `rules_of` and `check_locale` take them. The other settings are those of the clip endpoint.
    Raises InputError if there are no records, or if some of them have not been spoken.
    """
    path, query = split_query(data, file=True)
    settings = query_of(query)
    own_prompts, locale = settings.pop("prompts", None), settings.pop("locale", None)
    folder = Path(path).absolute()
    records, problems = records_in(folder)
    clips = [Clip(record.id, wav_path(folder, record), record.topic, {"id": record.id}) for record in records]
    if missing := [clip.name for clip in clips if not clip.path.is_file()]:
        several = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        raise InputError(
            f"{folder}: expected a recording of each record, found none of {len(missing)} of {len(clips)} ({several}): "
            f"fdbcore dataset speak {folder}"
        )
    texts = {name: (folder / name).read_text("utf-8") for name in (RECORDS, SPEAK) if (folder / name).is_file()}
    if made := generated(folder)["settings"]:  # without what changes when records are added
        texts[GENERATED] = json.dumps({"schema": GENERATED_SCHEMA, "settings": made}, ensure_ascii=False)
    of = RecordSet(folder.name, {record.id: record for record in records}, made, prompts_in(folder))
    check_locale(of, locale)
    told = rules_of(of, Path(own_prompts) if own_prompts else None)
    texts |= {f"{PROMPTS}/{name}": text for name, text in told.own.items()}
    material = Material("dialogue-acts", str(folder), texts)
    return SideA(
        users_of(clips, urlencode(settings) or f"tail_s={TAIL_S}"), prompts(told), material, problems, untimed=True
    )


def shipped(folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Put the shipped set into `folder`, spoken by Open JTalk, unless it is there already."""
    write_text(folder / RECORDS, (SHIPPED / RECORDS).read_text(encoding="utf-8"))
    records, _ = records_in(folder)
    for where, reason in speak_records(records, folder, registry.speaker(SPEAKERS["ja"]), show):
        raise InputError(f"{where}: {reason}")
