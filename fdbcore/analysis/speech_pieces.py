"""The pieces in which a side is given to a transcriber, and their audio.

Neither memory nor a request grows with the length of the call. A piece ends in the longest silence of the side that its
stored activity has there, and silence around the speech of a piece is left out; so is what the user left out of the
recording.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.measures.reading import Reading
from fdbcore.sources.recorded import session_of
from fdbcore.types import FRAME_SAMPLES, SIDES, TICKS_PER_S, Pcm, Side, Span

MOST_TICKS: Final = 30 * TICKS_PER_S
"""The longest piece: what Whisper hears at once."""
MARGIN_TICKS: Final = TICKS_PER_S // 2
"""Silence that stays before and after the speech of a piece."""


def pieces_of(reading: Reading, side: Side, track: npt.NDArray[np.bool_]) -> list[Span]:
    """The pieces of what is kept of a recording's side. track: its activity, bool (n,)."""
    peaks = reading.peaks[:, SIDES.index(side)]
    return [
        (start + begin, start + end)
        for start, stop in reading.kept
        for begin, end in pieces(track[start:stop], peaks[start:stop])
    ]


def audio_sha256s(reading: Reading) -> dict[Side, str]:
    """The SHA-256 of each side's audio on the session's clock, as mono int16 at 48 kHz, in hex."""
    hashes = {side: hashlib.sha256() for side in SIDES}
    with session_of(reading).open() as source:
        for blocks in source.blocks():
            for side, block in zip(SIDES, blocks, strict=True):
                if block is not None:
                    hashes[side].update(block.astype("<i2").tobytes())
    return {side: found.hexdigest() for side, found in hashes.items()}


def pieces(active: npt.NDArray[np.bool_], peaks: npt.NDArray[np.uint16]) -> list[Span]:
    """The spans in which to transcribe a side, by time, in ticks; together they hold all of its activity.

    active: its activity, bool (n,). peaks: the largest absolute sample of each tick, uint16 (n,): where it is never
    silent, the quietest tick ends a piece.
    """
    found: list[Span] = []
    start, speech = 0, np.flatnonzero(active)
    while len(speech := speech[speech >= start]):
        begin = max(start, int(speech[0]) - MARGIN_TICKS)
        end = int(speech[-1]) + 1 + MARGIN_TICKS
        if end > begin + MOST_TICKS:
            start = _cut(active, peaks, begin + MOST_TICKS // 2, begin + MOST_TICKS)
            end = min(start, int(speech[speech < start][-1]) + 1 + MARGIN_TICKS)
        else:
            start = end
        found.append((begin, min(end, len(active))))
    return found


def audio_of(reading: Reading, side: Side, spans: Sequence[Span]) -> Iterator[tuple[Span, Pcm]]:
    """Each of these spans with its audio, int16 (n,) at 48 kHz; what lies beyond the end of the side is missing."""
    left = list(reversed(spans))
    parts: list[Pcm] = []
    at = 0
    with session_of(reading).open() as source:
        for blocks in source.blocks():
            block = blocks[SIDES.index(side)]
            if block is None or not left:
                break
            while left and left[-1][0] * FRAME_SAMPLES < at + len(block):
                start, end = (tick * FRAME_SAMPLES - at for tick in left[-1])
                parts.append(block[max(start, 0) : end])
                if end > len(block):
                    break
                yield left.pop(), np.concatenate(parts)
                parts = []
            at += len(block)
    if parts:
        yield left.pop(), np.concatenate(parts)


def _cut(active: npt.NDArray[np.bool_], peaks: npt.NDArray[np.uint16], low: int, high: int) -> int:
    """The end of a piece from tick `low` to before `high`: amid the longest silence, the last one if several are
    equally long; without silence, at the quietest tick."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], active[low:high], [True])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return low + int(np.argmin(peaks[low:high]))
    longest = np.flatnonzero(ends - starts == (ends - starts).max())[-1]
    return low + int(starts[longest] + ends[longest]) // 2
