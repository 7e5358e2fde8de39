"""The page of a call that can be sent alone: it contains its script, its style and the audio of the whole call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.errors import AudioError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_text
from fdbcore.report.call.audio import webm
from fdbcore.report.call.page import CallPage, page
from fdbcore.types import clock_text, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.report.call.document_types import Document

MOST_BYTES: Final = 20_000_000
"""What most mail servers take, with what else a message needs."""

BIT_RATES: Final = (32_000, 24_000, 16_000)
"""Of both sides together, in Opus. Speech stays clear at the last one, and becomes dull below it."""

_BASE64: Final = 4 / 3


def write_alone(
    reading: Reading, content: Document, verdict: CallVerdict | None = None, words: bool = True
) -> tuple[Path, int]:
    """Write the page of a recording with all that it needs, NAME/NAME.html; return its path and the bit rate.

    verdict: what gates say of the call. words: whether the page has what was said. The bit rate is the highest with
    which the page stays below MOST_BYTES. Raises AudioError if there is none, or if the audio cannot be read, and
    RecordingError if the page cannot be written. The caller must check that the source has not changed.
    """
    seconds = ticks_to_s(reading.n_ticks)
    room = MOST_BYTES - len(page(reading, content, CallPage(words=words, sound=b"", verdict=verdict)).encode())
    for bit_rate in BIT_RATES:
        if seconds * bit_rate / 8 * _BASE64 <= room and len(sound := webm(reading, bit_rate)) * _BASE64 <= room:
            path = reading.path / f"{reading.name}.html"
            write_text(path, page(reading, content, CallPage(words=words, sound=sound, verdict=verdict)))
            return path, bit_rate
    most_s = max(room, 0) * 8 / _BASE64 / BIT_RATES[-1]
    raise AudioError(
        f"{reading.name}: expected at most {clock_text(most_s)} of audio in a page of {MOST_BYTES / 1e6:g} MB, got "
        f"{clock_text(seconds)}: send report.html with the folder `pages` and the audio"
    )
