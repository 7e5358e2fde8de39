"""A conversation that was held and recorded: what it takes to replay it, and whether that gives the same again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.decode import content_hash, state_of
from fdbcore.audio.wav import HEADER_BYTES
from fdbcore.errors import RecordingError
from fdbcore.recording.files import AUDIO
from fdbcore.recording.reader import Recording
from fdbcore.sources.sessions import SessionInput, recorded_session
from fdbcore.types import Pcm, TurnSettings

Stereo: TypeAlias = npt.NDArray[np.int16]
"""int16 (n, 2) at 48 kHz: A left, B right."""


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


def plays_source(recording: Recording) -> bool:
    """Whether the source itself plays as the session, so that the recording has no audio of its own."""
    return not (recording.path / AUDIO).is_file()


def is_playable(recording: Recording) -> bool:
    """Whether there is something that a browser plays as the session: its own audio, or the source itself."""
    return not plays_source(recording) or bool((recording.meta.get("source") or {}).get("playable_in_browser"))


def stereo_blocks(recording: Recording) -> Iterator[Stereo]:
    """The audio of both sides, a second at a time; what one side lacks at its end is silent."""
    with session_of(recording).open() as source:
        for a, b in source.blocks():
            block = np.zeros((max(len(side) for side in (a, b) if side is not None), 2), np.int16)
            _fill(block, 0, a)
            _fill(block, 1, b)
            yield block


def _fill(block: Stereo, column: int, side: Pcm | None) -> None:
    if side is not None:
        block[: len(side), column] = side
