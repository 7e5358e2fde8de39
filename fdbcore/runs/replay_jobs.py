"""Replays the calls of a corpus, several at a time. If a process dies that replays one, only its own call is lost."""

import ctypes
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from fdbcore.analysis.score import read_quantities, read_scores, score, unscored
from fdbcore.audio.files import content_hash
from fdbcore.errors import FdbError, InputError, RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import (
    AUDIO,
    DERIVED,
    HEALTH_SCHEMA,
    META,
    OF_ACTIVITY,
    part_of,
    read_json,
    settings_hash,
    write_json,
)
from fdbcore.recording.labels import given_labels, keep_labels
from fdbcore.recording.places import place_from, with_places_from
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import FAILED, LOG, SCORED, ReplayedFile, Standing, held_columns, standing
from fdbcore.recording.versions import installed_versions
from fdbcore.runs.amend import is_kept, keep_log, lay_again
from fdbcore.runs.replay import ReplaySettings as ReplaySettings
from fdbcore.runs.replay import decided_by, replay_session
from fdbcore.runtime.executor import Executor
from fdbcore.session.vad import DEFAULT_VAD, make_vad, vads_of
from fdbcore.sources.left_out import within_call
from fdbcore.sources.recorded import held_by, settings_of
from fdbcore.sources.sessions import SessionInput
from fdbcore.sources.word_files import kept_words
from fdbcore.types import SIDES, TurnSettings, ticks_to_s

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of call `number`; see `corpus.Call`. skipped: an earlier replay of the same content was kept."""

    number: int
    status: Standing
    reason: str | None
    unscored: str | None
    audio_s: float = 0.0
    skipped: bool = False
    files: Sequence[ReplayedFile] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


Replays: TypeAlias = Callable[
    [Iterable[tuple[int, SessionInput]], ReplaySettings, Executor], Generator[ReplayResult | None]
]
"""`replayed`, or what does the same elsewhere."""


def replayed(
    sessions: Iterable[tuple[int, SessionInput]], settings: ReplaySettings, executor: Executor
) -> Generator[ReplayResult | None]:
    """Replay numbered sessions, and yield the result of each as it ends, and None so that progress can be shown.

    Closing the iterator ends the work at once; a half-written recording keeps the status "running". Sessions are drawn
    only as needed, so memory does not grow with their number.
    """
    return executor.results(partial(replay_one, settings=settings), sessions, died_at, settings.run_path / LOG)


def died_at(task: tuple[int, SessionInput], cause: str) -> ReplayResult:
    """The result of a session whose process died."""
    number, session = task
    why = f"{session.a}: the process that read it died: {cause}; see {LOG}"
    return ReplayResult(number, FAILED, why, why)


@cache
def _keep_freed_memory() -> None:
    """Let glibc keep up to 16 MiB of what arrays free: to give their pages back and fetch them again, block by block,
    costs a tenth of a replay. Other systems have no such setting.
    """
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 16 << 20)
        mallopt(_M_MMAP_THRESHOLD, 2 << 20)  # larger ones, such as columns of long calls, still go back at once


def replay_one(task: tuple[int, SessionInput], settings: ReplaySettings) -> ReplayResult:
    """Replay and score a numbered session, or keep its earlier recording. What fails is in the result."""
    number, session = task
    _keep_freed_memory()
    try:
        kept = kept_recording(session, settings)
        if kept is not None:
            _update(kept, session)
            return _outcome(number, kept, skipped=True)
        has_live_audio = session.recording is not None and session.a == session.recording / AUDIO
        reading = replay_session(session, settings, keep_audio=has_live_audio)
        score(reading)
        return _outcome(number, reading)
    except FdbError as error:
        return ReplayResult(number, FAILED, str(error), str(error))
    except Exception as error:
        traceback.print_exc()
        why = f"{session.a}: {type(error).__name__}: {error}; see {LOG}"
        return ReplayResult(number, FAILED, why, why)


def _update(recording: Recording, session: SessionInput) -> None:
    """If the session has other labels or another log than its kept recording, give them to the recording."""
    given = given_labels(recording.path)
    has_new_labels = False
    if session.labels is not None:
        source, labels = session.labels
        has_new_labels = given != (place_from(recording.path, Path(source)), sorted(labels))
    if session.labels is not None and has_new_labels:
        keep_labels(recording.path, *session.labels)
        score(Reading(recording.path))
    if session.log is not None and (has_new_labels or not is_kept(recording, session.log)):
        keep_log(Reading(recording.path), session.log)
    elif has_new_labels and recording.marks is not None:
        lay_again(Reading(recording.path), recording.marks)


def _outcome(number: int, recording: Recording, skipped: bool = False) -> ReplayResult:
    files: list[ReplayedFile] = [
        {"path": str(path), "sha256": file["sha256"]}
        for path, file in zip(recording.source_paths, recording.source_files, strict=True)
    ]
    status, reason = standing(recording)
    return ReplayResult(
        number,
        status,
        reason,
        unscored(recording),
        ticks_to_s(recording.n_ticks),
        skipped,
        files,
        held_columns(recording),
    )


def kept_recording(session: SessionInput, settings: ReplaySettings) -> Reading | None:
    """The recording of an earlier replay if it is whole and has the same content, settings and versions; else None.

    Words and annotations beside the audio (Full-Duplex-Bench) have to be the same, too.
    If the audio file has moved since, the recording is made to link its new place.
    """
    path = part_of(settings.run_path, session.name)
    if settings.real_time or not all((path / part).is_file() for part in (META, *SCORED)):
        return None
    try:
        recording = Reading(path)
        same = recording.meta["status"] == "complete" and _same(recording, session, settings)
        if same:
            read_quantities(recording), read_scores(recording)  # RecordingError if damaged
            recording.check()
            same = recording.health is not None and recording.health["schema"] == HEALTH_SCHEMA
    except (RecordingError, InputError, KeyError, OSError):
        return None
    if not same:
        return None
    files = recording.meta["source"]["files"]
    if [file["path"] for file in files] != (paths := [place_from(path, each) for each in session.paths]):
        recording.meta["source"]["files"] = [{**file, "path": p} for file, p in zip(files, paths, strict=True)]
        write_json(path / META, recording.meta)
    return recording


def _same(recording: Recording, session: SessionInput, settings: ReplaySettings) -> bool:
    meta, source = recording.meta, recording.meta["source"]
    kinds = (source["swap"], source["offset_ms"], len(source["files"]))
    if kinds != (session.swap, session.offset_ms, len(session.paths)):
        return False
    if not _has_what_is_beside(recording, session):
        return False
    held = held_by(session)
    if recording.left_out != within_call(session.left_out(held, _stated_ticks(session)), recording.n_ticks):
        return False
    if meta["versions"] != installed_versions() or meta["settings_sha256"] != _expected_settings(
        source, held, settings
    ):
        return False
    return all(file["sha256"] == content_hash(path) for file, path in zip(source["files"], session.paths, strict=True))


def _has_what_is_beside(recording: Recording, session: SessionInput) -> bool:
    """True if the recording has the words and annotations that lie beside the session's audio now, and no others."""
    found = {path.stem: read_json(path) for path in (recording.path / DERIVED).glob("[AB].json")}
    kept = {side: {name: each for name, each in words.items() if name != OF_ACTIVITY} for side, words in found.items()}
    beside: list[object] = with_places_from(recording.path, [kept_words(session.words), session.annotations()])
    return [kept, recording.meta.get("annotations", [])] == beside


def _stated_ticks(session: SessionInput) -> int | None:
    """The length that the files of a session state, which may differ from what they hold; None if it is not needed."""
    if not any(span.is_from_end for span in session.leave_out or ()):
        return None
    with session.open() as source:
        return source.stated_ticks


def _expected_settings(source: Mapping[str, Any], held: Recording | None, settings: ReplaySettings) -> str:
    """The hash of the settings that a replay would have now. held: the recording that it replays."""
    turns = replace(settings_of(held) if held else TurnSettings(), **settings.changes)
    if held and settings.vad is None:
        return settings_hash(decided_by(turns, [vad.describe() for vad in vads_of(held)], settings))
    rates_hz = [source["files"][source["sides"][side]["file"]]["rate_hz"] for side in SIDES]
    vads = [_vad_description(settings.vad or DEFAULT_VAD, rate_hz) for rate_hz in rates_hz]
    return settings_hash(decided_by(turns, vads, settings))


@cache
def _vad_description(name: str, rate_hz: int) -> Mapping[str, Any]:
    return make_vad(name, rate_hz).describe()
