"""Adds to a recording after it was made: the agent's own log, and audio that a browser can play."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import AudioError
from fdbcore.measures.agent_log import Offset, align_marks, estimate_offset
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import AUDIO, MARKS, write_json
from fdbcore.recording.reader import Recording
from fdbcore.runtime.whole_files import whole_file
from fdbcore.sources.agent_logs import Mark
from fdbcore.sources.recorded import changed_source, is_playable, stereo_blocks

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import AgentLog


def lay_marks(reading: Reading, marks: Sequence[Mark], offset_ms: float | None) -> AgentLog:
    """Put the marks of an agent's log onto the recording's timeline, store them with it, and return the document.

    offset_ms: what to add to the log's times; None to estimate it. InputError if it cannot be estimated.
    """
    dialogue = reading.dialogue
    offset = estimate_offset(marks, dialogue) if offset_ms is None else Offset(offset_ms / 1000)
    aligned = align_marks(marks, dialogue, offset)
    write_json(reading.path / MARKS, aligned)
    return aligned


def make_playable(recording: Recording) -> None:
    """Write session.wav if no browser can play the source. AudioError if the source is missing, changed or damaged."""
    if (changed := changed_source(recording)) is not None:
        raise AudioError(changed)
    if is_playable(recording):
        return
    with whole_file(recording.path / AUDIO) as part, closing(WavWriter(Path(part.name), channels=2)) as wav:
        for block in stereo_blocks(recording):
            wav.write(block)
