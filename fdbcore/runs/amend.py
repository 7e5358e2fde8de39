"""What is added to a recording after it was made: an agent's own log, and audio that a browser plays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fdbcore.audio.wav import WavWriter
from fdbcore.errors import AudioError
from fdbcore.measures.agent_log import Offset, align_marks, estimate_offset
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import AUDIO, MARKS, write_json
from fdbcore.recording.reader import Recording
from fdbcore.runtime.whole_files import whole_file
from fdbcore.sources.agent_logs import Mark
from fdbcore.sources.recorded import changed_source, is_playable, stereo_blocks


def lay_marks(reading: Reading, marks: Sequence[Mark], offset_ms: float | None) -> dict[str, Any]:
    """Keep the marks with the recording, on its timeline, for its report. offset_ms: to add, else estimated.

    InputError where it cannot be told.
    """
    dialogue = reading.dialogue
    offset = estimate_offset(marks, dialogue) if offset_ms is None else Offset(offset_ms / 1000)
    laid = align_marks(marks, dialogue, offset)
    write_json(reading.path / MARKS, laid)
    return laid


def make_playable(recording: Recording) -> None:
    """Write session.wav where no browser plays the source. AudioError if the source is gone, another or damaged."""
    if (changed := changed_source(recording)) is not None:
        raise AudioError(changed)
    if is_playable(recording):
        return
    with whole_file(recording.path / AUDIO) as part, closing(WavWriter(Path(part.name), channels=2)) as wav:
        for block in stereo_blocks(recording):
            wav.write(block)
