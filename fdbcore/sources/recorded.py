"""A recorded conversation as a source: what replaying it needs, and whether its audio is still the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.files import content_hash, state_of
from fdbcore.audio.wav import HEADER_BYTES
from fdbcore.errors import AudioError, RecordingError
from fdbcore.recording.files import AUDIO
from fdbcore.recording.reader import Recording
from fdbcore.sources.benchmark_folders import is_call
from fdbcore.sources.sessions import SessionInput, recorded_session
from fdbcore.types import TurnSettings

Stereo: TypeAlias = npt.NDArray[np.int16]
"""int16 (n, 2) at 48 kHz: A left, B right."""


def open_recorded(path: Path) -> Recording:
    """The recording in a folder, with its audio checked. It may have been cut off while it was made.

    RecordingError if it has no audio, or if the content of a file that it links has changed.
    """
    recording = Recording(path)
    audio = path / AUDIO
    linked = () if audio.is_file() else recording.source_files
    for linked_file, file in zip(linked, recording.source_paths, strict=False):
        try:
            same = content_hash(file) == linked_file["sha256"]
        except OSError as error:
            raise RecordingError(f"{path}: expected {file}, which it links, got: {error.strerror}") from error
        if not same:
            raise RecordingError(f"{path}: expected {file} as it was when it was replayed, got other content")
    if not linked and (not audio.is_file() or audio.stat().st_size <= HEADER_BYTES):
        outcome = recording.meta.get("outcome")
        why = (outcome and outcome["reason"]) or recording.meta.get("reason") or f"it is {recording.meta.get('status')}"
        raise RecordingError(f"{path}: expected a conversation, got a recording without audio: {why}")
    recording.refuse_other_audio()
    return recording


def held_by(session: SessionInput) -> Recording | None:
    """The recording that a session replays, as `open_recorded` opens it; None for other files."""
    return None if session.recording is None else open_recorded(session.recording)


def session_of(recording: Recording) -> SessionInput:
    """The session to replay for a recording: its own audio, or the files that it links.

    RecordingError if it has neither.
    """
    session = recorded_session(recording.name, recording.path)
    if session.a == recording.path / AUDIO and not session.a.is_file():
        raise RecordingError(f"{recording.path}: expected {AUDIO} or a source, got neither")
    return session


def audio_state(recording: Recording) -> dict[str, Any]:
    """The state of both sides' audio, as JSON values: size and modification time of its files, and their place.

    While it is the same, the audio counts as the same. AudioError if a file is missing.
    """
    source = {} if (recording.path / AUDIO).is_file() else recording.meta.get("source") or {}
    paths = recording.source_paths if source else [recording.path / AUDIO]
    try:
        files = [dict(state_of(path)) for path in paths]
    except OSError as error:
        raise AudioError(f"{error.filename}: cannot be read: {error.strerror}") from error
    return {"files": files, "swap": source.get("swap", False), "offset_ms": source.get("offset_ms", 0)}


def changed_source(recording: Recording) -> str | None:
    """The change in a recording's audio (its own, or the files that it links); None if there is none.

    A source with the same size and modification time counts as unchanged; of any other file the content is compared.
    """
    if (recording.path / AUDIO).is_file():
        try:
            recording.refuse_other_audio()
        except RecordingError as error:
            return str(error).removeprefix(f"{recording.path}/")
        return None
    for file, path in zip(recording.source_files, recording.source_paths, strict=True):
        try:
            state = state_of(path)
            same = all(file.get(key) == value for key, value in state.items()) or content_hash(path) == file["sha256"]
        except OSError:
            return f"{path.name} is gone, or cannot be read"
        if not same:
            return f"{path.name} has changed since it was replayed"
    return None if recording.meta.get("source") else f"{AUDIO} is gone"


def settings_of(recording: Recording) -> TurnSettings:
    """The settings of the turn detector that a recording was made with."""
    return TurnSettings(**recording.meta["settings"]["turns"])


def replays(recording: Recording, names: tuple[str, str]) -> bool:
    """True if a recording replays the two files of such names in one folder, such as those of a benchmark."""
    return is_call(tuple(Path(file["path"]) for file in recording.source_files), names)


def plays_source(recording: Recording) -> bool:
    """True if the session's audio is in the source files, because the recording has no audio of its own."""
    return not (recording.path / AUDIO).is_file()


def is_playable(recording: Recording) -> bool:
    """True if a browser can play the session's audio: the recording's own, or the source file."""
    return not plays_source(recording) or bool((recording.meta.get("source") or {}).get("playable_in_browser"))


def is_playable_in_step(recording: Recording) -> bool:
    """True if the session's audio is in two source files, and a browser can play both."""
    files = recording.source_files
    return plays_source(recording) and len(files) == 2 and all(file.get("playable_in_browser") for file in files)


def stereo_blocks(recording: Recording) -> Iterator[Stereo]:
    """The audio of both sides, a second at a time. The shorter side is filled up with silence."""
    with session_of(recording).open() as source:
        for a, b in source.blocks():
            block = np.zeros((max(len(side) for side in (a, b) if side is not None), 2), np.int16)
            for column, side in enumerate((a, b)):
                if side is not None:
                    block[: len(side), column] = side
            yield block
