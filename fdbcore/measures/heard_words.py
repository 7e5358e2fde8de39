"""The words that a transcriber heard, as lines: one for each stretch of speech."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated

import numpy as np
from msgspec import Meta

from fdbcore.measures.dialogue import Spans
from fdbcore.measures.reading import Reading
from fdbcore.recording.transcripts import Doubts, Transcript
from fdbcore.types import SIDES, TICK_MS, Side, Span
from fdbcore.types.units import Tick
from fdbcore.types.words import TimedWord, as_text


class HeardLine(Doubts):
    """Words of a side as a transcriber heard them, in one stretch of its speech."""

    side: Side
    by: Annotated[str, Meta(description="the address of the transcriber")]
    text: str
    start_tick: Tick
    end_tick: Tick


def heard_lines(reading: Reading) -> list[HeardLine]:
    """The lines of both sides by their start, from the transcript of each side that was last asked for.

    The words of a stretch of speech (an inter-pausal unit) are a line, each word at the stretch that is nearest to its
    middle. Words where the side was silent are lines of their own, and so are those of a loop.
    """
    found = [
        line
        for side in SIDES
        for transcript in reading.transcripts(side)[-1:]
        for line in lines_of(transcript, reading.dialogue.ipus[side])
    ]
    return sorted(found, key=lambda line: line["start_tick"])


def lines_of(transcript: Transcript, ipus: Spans) -> Iterator[HeardLine]:
    """The lines of one transcript. ipus: the stretches of speech of its side, (n, 2) in ticks."""
    for (place, in_loop), group in groupby(transcript.words, lambda word: (_place(word, ipus), word.in_loop)):
        words = list(group)
        first, last = words[0].start_ms // TICK_MS, -(-words[-1].end_ms // TICK_MS)
        line: HeardLine = {
            "side": transcript.side,
            "by": transcript.transcriber,
            "text": as_text(words),
            "start_tick": first if place is None else place[0],
            "end_tick": last if place is None else place[1],
        }
        if words[0].in_silence:
            line["in_silence"] = True
        if in_loop:
            line["in_loop"] = True
        yield line


def _place(word: TimedWord, ipus: Spans) -> Span | None:
    """The stretch of speech that a word belongs to; None for a word in silence."""
    if word.in_silence or not len(ipus):
        return None
    middle = (word.start_ms + word.end_ms) / 2 / TICK_MS
    start, end = ipus[np.argmin(np.maximum(ipus[:, 0] - middle, middle - ipus[:, 1]))]
    return int(start), int(end)
