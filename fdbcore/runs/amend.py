"""Adds to a recording after it was made: the agent's own log, and audio that a browser can play."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import AudioError, InputError
from fdbcore.measures.agent_log import laid, refused
from fdbcore.measures.log_clock import LogClock, find_clock
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import AUDIO, MARKS, write_json
from fdbcore.recording.reader import Recording
from fdbcore.runtime.whole_files import whole_file
from fdbcore.sources.agent_logs import LogFile, Mark, read_marks
from fdbcore.sources.names import real_path
from fdbcore.sources.recorded import changed_source, is_playable, stereo_blocks

if TYPE_CHECKING:
    from fdbcore.recording.agent_log_types import AgentLog


def keep_log(reading: Reading, log: LogFile) -> AgentLog:
    """Lay an agent's log on the recording's timeline, store it with the recording, and return the document.

    A log that cannot be read, or whose clock cannot be found, is stored without marks and answers, and with the reason.
    """
    try:
        marks = read_marks(log.path)
        clock = find_clock(marks, reading.dialogue) if log.offset_ms is None else LogClock(log.offset_ms / 1000)
        found = laid(marks, reading.dialogue, clock)
    except InputError as error:
        found = refused(str(error))
    found |= {"source": str(real_path(log.path)), "sha256": _sha256(log.path), "given_offset_ms": log.offset_ms}
    write_json(reading.path / MARKS, found)
    return found


def is_kept(recording: Recording, log: LogFile) -> bool:
    """Whether this log, with this offset, was laid on the recording before."""
    kept = recording.marks
    if kept is None or kept["sha256"] is None:
        return False
    return (kept["sha256"], kept["given_offset_ms"]) == (_sha256(log.path), log.offset_ms)


def lay_again(reading: Reading, kept: AgentLog) -> None:
    """Store with a recording the log that was laid on another recording of the same conversation."""
    if kept["clock"] is not None:
        clock = LogClock(**kept["clock"])
        found = laid([clock.in_log(Mark(**mark)) for mark in kept["marks"]], reading.dialogue, clock)
        kept = {**kept, "events": found["events"], "answers": found["answers"]}
    write_json(reading.path / MARKS, kept)


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def make_playable(recording: Recording) -> None:
    """Write session.wav if no browser can play the source. AudioError if the source is missing, changed or damaged."""
    if (changed := changed_source(recording)) is not None:
        raise AudioError(changed)
    if is_playable(recording):
        return
    with whole_file(recording.path / AUDIO) as part, closing(WavWriter(Path(part.name), channels=2)) as wav:
        for block in stereo_blocks(recording):
            wav.write(block)
