"""A conversation that was held and recorded: what it takes to replay it, and whether that gives the same again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fdbcore.audio import content_hash, state_of
from fdbcore.errors import RecordingError
from fdbcore.protocols import Vad
from fdbcore.recording import AUDIO, TURNS, Recording
from fdbcore.registry import VADS, resolve
from fdbcore.sources import SessionInput, recorded_session
from fdbcore.types import SAMPLE_RATE_HZ, SIDES, Side, TurnSettings
from fdbcore.vad import TELEPHONE_RATE_HZ
from fdbcore.wav import HEADER_BYTES


def open_held(path: Path) -> Recording:
    """The recording in a folder, which may have been cut off while it was made.

    RecordingError if it has no audio, or the files that it links are no longer what they were, by their content.
    """
    held = Recording(path)
    audio = path / AUDIO
    linked = [] if audio.is_file() else (held.meta.get("source") or {}).get("files", [])
    for file in linked:
        _refuse_another(path, path / file["path"], file["sha256"])
    if not linked and (not audio.is_file() or audio.stat().st_size <= HEADER_BYTES):
        outcome = held.meta.get("outcome") or {}
        why = outcome.get("reason") or held.meta.get("reason") or f"it is {held.meta.get('status')}"
        raise RecordingError(f"{path}: expected a conversation, got a recording without audio: {why}")
    return held


def _refuse_another(path: Path, file: Path, sha256: str) -> None:
    """RecordingError unless the file that the recording in `path` links has the content that it had."""
    try:
        same = content_hash(file) == sha256
    except OSError as error:
        raise RecordingError(f"{path}: expected {file}, which it links, got: {error.strerror}") from error
    if not same:
        raise RecordingError(f"{path}: expected {file} as it was when it was replayed, got another content")


def session_of(recording: Recording) -> SessionInput:
    """What a recording was made of, or its own audio. RecordingError if it has neither."""
    session = recorded_session(recording.name, recording.path)
    if session.a == recording.path / AUDIO and not session.a.is_file():
        raise RecordingError(f"{recording.path}: expected {AUDIO} or a source, got neither")
    return session


def changed_source(recording: Recording) -> str | None:
    """What has become of a recording's audio, its own or the files that it links; None if it is as it was.

    A file of the same size and time is taken for the same, any other is read.
    """
    if (recording.path / AUDIO).is_file():
        return None
    for file in (recording.meta.get("source") or {}).get("files", ()):
        path = recording.path / file["path"]
        try:
            state = state_of(path)
            same = all(file.get(key) == value for key, value in state.items()) or content_hash(path) == file["sha256"]
        except OSError:
            return f"{path.name} is gone, or cannot be read"
        if not same:
            return f"{path.name} has another content than when it was replayed"
    return None if recording.meta.get("source") else f"{AUDIO} is gone"


def settings_of(held: Recording) -> TurnSettings:
    """The settings of the turn detector with which a conversation was held."""
    return TurnSettings(**held.meta["settings"]["turns"])


def vads_of(held: Recording) -> tuple[Vad, Vad]:
    """Detectors as they were when the conversation was held; the same by name, where they have changed since."""
    a, b = (_vad_of(held.meta["settings"]["vad"][side]) for side in SIDES)
    return a, b


def _vad_of(described: dict[str, Any]) -> Vad:
    make = resolve("vad", VADS, described["name"])
    made: list[Vad] = [make(source_rate_hz=rate_hz) for rate_hz in (SAMPLE_RATE_HZ, TELEPHONE_RATE_HZ)]
    return next((vad for vad in made if vad.describe() == described), made[0])


def compared(held: Recording, replayed: Recording) -> dict[str, Any]:
    """Whether a replay gave the turn events and the activity of the conversation: {"same", "differences"}.

    same: bit for bit; None where the conversation was cut off before they were kept. differences: a line each, first
    those of the settings, then those of the results.
    """
    differences = list(_settings_differ(held, replayed))
    if not (held.path / TURNS).is_file():
        return {"same": None, "differences": differences}
    results = list(_results_differ(held, replayed))
    return {"same": not results, "differences": differences + results}


def _settings_differ(held: Recording, replayed: Recording) -> Iterator[str]:
    then, now = held.meta["settings"], replayed.meta["settings"]
    for name, value in now["turns"].items():
        if value != then["turns"].get(name):
            yield f"{name} is {value}, was {then['turns'].get(name)}"
    for side in SIDES:
        if now["vad"][side] != then["vad"][side]:
            yield f"the voice activity detector of {side} is {_named(now, side)}, was {_named(then, side)}"


def _named(settings: dict[str, Any], side: Side) -> str:
    vad = settings["vad"][side]
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
