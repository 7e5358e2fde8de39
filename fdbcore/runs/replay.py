"""Replays a recorded conversation: from the files that a user names, through the loop, to a scored recording."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import to_builtins

from fdbcore.clock import MonotonicClock, VirtualClock, utc_now
from fdbcore.endpoints.replay import replayed_sides
from fdbcore.errors import RecordingError
from fdbcore.measures.health.examine import HealthProbe, keep_health
from fdbcore.measures.reading import Reading
from fdbcore.protocols import Vad
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    AUDIO_END,
    DERIVED,
    EVENTS,
    HEALTH,
    LABELS,
    MARKS,
    META,
    QUANTITIES,
    REPORT,
    SCORES,
    SOUND,
    TURNS,
    WORDS,
    file_sha256,
    part_of,
    settings_hash,
    write_json,
)
from fdbcore.recording.labels import Label, given_labels, keep_labels
from fdbcore.recording.left_out import heard_spans, kept_spans
from fdbcore.recording.meta import KnownMeta, Settings
from fdbcore.recording.others import is_ours
from fdbcore.recording.places import located, with_places_from, write_with_places
from fdbcore.recording.reader import Recording
from fdbcore.recording.versions import installed_versions
from fdbcore.recording.writer import RecordingWriter
from fdbcore.runs.amend import audio_sha256s, keep_log, log_in, renew_log
from fdbcore.session.loop import run
from fdbcore.session.vad import DEFAULT_VAD, make_vads, vads_of
from fdbcore.sources.left_out import within_call
from fdbcore.sources.names import real_path
from fdbcore.sources.recorded import held_by, settings_of
from fdbcore.sources.sessions import SessionInput
from fdbcore.sources.word_files import kept_words
from fdbcore.types import FRAME_SAMPLES, SIDES, TurnSettings
from fdbcore.types.timing import TimingCertificate

_PARTS: Final = frozenset(
    {META, EVENTS, AUDIO, SOUND, REPORT, "derived", ACTIVITY, TURNS, SCORES, QUANTITIES, HEALTH, MARKS, LABELS}
    | {f"derived/{side}.json" for side in "AB"}
    | set(WORDS.values())
)
"""All that the folder of a recording may hold."""


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a run's replay.

    vad, changes: the detector of both sides, and settings of the turn detector, where they differ from those of a
    session's recording (or from the defaults). real_time: keep the real clock. line_open: B could have answered until
    the recording ended. count_bad_input: a recording that went wrong is scored, too.
    """

    run_path: Path
    vad: str | None = None
    changes: Mapping[str, int] = field(default_factory=dict)
    real_time: bool = False
    line_open: bool = False
    count_bad_input: bool = False


def replay_session(
    session: SessionInput,
    asked: ReplaySettings,
    on_tick: Callable[[float | None, int], None] = lambda stated_s, tick: None,
    keep_audio: bool = True,
) -> Reading:
    """Run the loop over one recorded session, as fast as it goes or in real time, and return its recording.

    on_tick: called after each tick with the session's stated length in seconds and the tick's number. keep_audio: write
    session.wav if a browser cannot play the source itself. A session without a log keeps that of an earlier recording
    of its name. InputError and RecordingError as in `replay`.
    """
    path = _case_path(asked.run_path, session)
    held = held_by(session)
    words, annotations = kept_words(session.words), session.annotations()
    earlier_log = None
    if (path / MARKS).is_file():
        with suppress(RecordingError):  # the earlier recording is not whole
            earlier_log = log_in(Recording(path))
    clock = MonotonicClock() if asked.real_time else VirtualClock()
    with session.open() as source, HealthProbe() as probe:
        settings = replace(settings_of(held) if held else TurnSettings(), **asked.changes)
        left_out = source.left_out(held)
        kept = kept_spans(left_out) if left_out else None
        heard = None if kept is None else heard_spans(kept)
        if held and asked.vad is None:
            vads = vads_of(held, heard)
        else:
            vads = make_vads(asked.vad or DEFAULT_VAD, source.rates_hz, heard)
        meta = _meta(vads, settings, asked)
        with RecordingWriter(path, meta, keep_audio=keep_audio and not source.playable_in_browser) as recording:
            sides = replayed_sides(probe.tap(source.blocks(), heard))
            with clock.undisturbed() if isinstance(clock, MonotonicClock) else nullcontext():
                ticks = run(*sides, clock, vads, settings, recording, partial(on_tick, source.stated_s), kept=kept)
            lengths = {side: source.sides[side].samples for side in SIDES}
            for side in SIDES:
                recording.event(-(-lengths[side] // FRAME_SAMPLES), side, AUDIO_END)
            padded = {side: ticks * FRAME_SAMPLES - lengths[side] for side in SIDES}
            timing: TimingCertificate = {**clock.certificate(), "padded_samples": padded}
            recording.note(source=source.describe(), timing=timing, annotations=annotations)
            if left_out:
                recording.note(left_out=to_builtins(within_call(left_out, ticks)))
            if held is not None:
                _keep_live_facts(recording, held)
        del recording  # this writes its values of each tick
        reading = Reading(path)
        keep_health(reading, probe)
    for side, said in words.items():
        write_with_places(path, f"{DERIVED}/{side}.json", said)
    reading.meta["sha256s"][HEALTH] = file_sha256(path / HEALTH) or ""
    if held is not None:
        reading.meta["held"]["same"], reading.meta["held"]["differences"] = compared(held, reading)
    write_json(path / META, reading.meta)
    labels = session.labels or (_labels_of(held) if held is not None else None)
    if labels is not None:
        keep_labels(path, *labels)
    if session.log is not None:
        keep_log(reading, session.log)
    elif (log := log_in(held) if held is not None else earlier_log) is not None:
        renew_log(reading, log, held is not None or log.audio_sha256s == audio_sha256s(reading))
    return reading


def _keep_live_facts(recording: RecordingWriter, held: Recording) -> None:
    """Copy from the original recording what a replay cannot produce: its meta.json, and the events of its parties."""
    recording.note(held={"path": str(held.path.resolve()), "meta": with_places_from(held.path, held.original_meta)})
    for event in held.events:
        if event["kind"] != AUDIO_END:
            recording.event(**event)


def _labels_of(held: Recording) -> tuple[str, list[Label]] | None:
    """The labels of the original recording, and where they came from: a file by its absolute path."""
    if (given := given_labels(held.path)) is None:
        return None
    source, labels = given
    file = located(held.path, source)
    return str(file) if file.exists() else source, labels


def _case_path(run_path: Path, session: SessionInput) -> Path:
    """The folder of a case. RecordingError if it holds the input, or anything but an earlier recording."""
    path = part_of(run_path, session.name)
    held = session.recording and session.recording / META
    for source in filter(None, (session.a, session.b, held, *session.words.values())):
        if real_path(path) in real_path(source).parents:
            raise RecordingError(
                f"{path}: expected a folder without the input, got the one that holds {source}: choose another --out"
            )
    if not _is_replaceable(path):
        raise RecordingError(f"{path}: expected a new folder or an earlier recording, got something else")
    return path


def _is_replaceable(path: Path) -> bool:
    """True if a recording may be made in `path`: it is free, or holds an earlier recording, perhaps an unfinished one.

    A recording whose process died early has no meta.json: it is a folder with derived/, which is made first, and
    nothing but files of a recording.
    """
    if not os.path.lexists(path):
        return True
    if not os.path.isdir(path) or os.path.lexists(path / META):
        return bool(is_ours(path / META))
    found = {item.relative_to(path).as_posix() for item in path.rglob("*")}
    return not found or ("derived" in found and {name.removesuffix(".part") for name in found} <= _PARTS)


def decided_by(turns: TurnSettings, vads: Sequence[Mapping[str, Any]], asked: ReplaySettings) -> Settings:
    """The settings of a replay as its recording stores them. vads: the descriptions of the detectors of A and B."""
    a, b = vads
    decided: Settings = {"turns": asdict(turns), "vad": {"A": dict(a), "B": dict(b)}}
    if asked.line_open:
        decided["line_open"] = True
    if asked.count_bad_input:
        decided["count_bad_input"] = True
    return decided


def _meta(vads: tuple[Vad, Vad], turns: TurnSettings, asked: ReplaySettings) -> KnownMeta:
    described = decided_by(turns, [vad.describe() for vad in vads], asked)
    return {
        "created": utc_now(),
        "parties": {side: {"kind": "replay"} for side in SIDES},
        "settings": described,
        "settings_sha256": settings_hash(described),
        "versions": installed_versions(),
    }


def compared(held: Recording, replayed: Recording) -> tuple[bool | None, list[str]]:
    """True if a replay gave the same turn events and activity as the conversation; and the differences.

    The first is None if the conversation was cut off before they were stored. The differences are a line each, first
    of the settings, then of the results.
    """
    differences = list(_settings_differ(held, replayed))
    if not (held.path / TURNS).is_file():
        return None, differences
    results = list(_results_differ(held, replayed))
    return not results, differences + results


def _settings_differ(held: Recording, replayed: Recording) -> Iterator[str]:
    then, now = held.meta["settings"], replayed.meta["settings"]
    for name, value in now["turns"].items():
        if value != then["turns"].get(name):
            yield f"{name} is {value}, was {then['turns'].get(name)}"
    if held.left_out != replayed.left_out:
        yield f"left out is {_left_out_text(replayed)}, was {_left_out_text(held)}"
    for side in SIDES:
        if now["vad"][side] != then["vad"][side]:
            yield (
                f"the voice activity detector of {side} is {_vad_text(now['vad'][side])},"
                f" was {_vad_text(then['vad'][side])}"
            )


def _left_out_text(recording: Recording) -> str:
    return ", ".join(span.brief for span in recording.left_out) or "nothing"


def _vad_text(vad: Mapping[str, Any]) -> str:
    return f"{vad['name']} {vad.get('version', '')} {vad.get('settings', '')}".strip()


def _results_differ(held: Recording, replayed: Recording) -> Iterator[str]:
    if held.n_ticks != replayed.n_ticks:
        yield f"{replayed.n_ticks} ticks, were {held.n_ticks}"
    for side, active_then, active_now in zip(SIDES, held.activity, replayed.activity, strict=True):
        both = min(len(active_then), len(active_now))
        changed = int(np.count_nonzero(active_then[:both] != active_now[:both]))
        if changed:
            yield f"the activity of {side} differs in {changed} of {both} ticks"
    then, now = held.turn_events, replayed.turn_events
    if then != now:
        gone, new = Counter(then) - Counter(now), Counter(now) - Counter(then)
        yield f"of {len(then)} turn events {gone.total()} are gone, and {new.total()} are new"
