"""A vendor's own clock of what it says: where it places each chunk, against when the chunk comes here."""

from collections import deque
from statistics import median
from typing import Any, Final, NamedTuple

MOST_KEPT: Final = 100_000
"""Chunks that count for the whole call: 2.7 hours of chunks of 100 ms."""


class _Chunk(NamedTuple):
    end_ms: float
    at_ms: float
    received_ms: float
    lost_ms: float


class ProviderClock:
    """Takes the chunks on the network's thread, and gives each second on the thread of the ticks.

    A chunk that ends at `end_ms` of the vendor and comes at `at_ms` of the session has the offset at_ms - end_ms: where
    the vendor's 0 lies on the session's clock, plus the way here. lost_ms: gaps between chunks so far.
    """

    def __init__(self) -> None:
        self.lost_ms = 0.0
        self._end_ms: float | None = None
        self._new: deque[_Chunk] = deque()
        self._offsets_ms: deque[float] = deque(maxlen=MOST_KEPT)

    def take(self, start_ms: float, end_ms: float, at_ms: float | None, received_ms: float) -> None:
        """Take a chunk. at_ms: when it came, None before tick 0. received_ms: the audio that had come by then."""
        gap_ms = 0.0 if self._end_ms is None else max(0.0, start_ms - self._end_ms)
        self.lost_ms += gap_ms
        self._end_ms = end_ms
        if at_ms is not None:
            self._new.append(_Chunk(end_ms, at_ms, received_ms, gap_ms))

    def second(self) -> dict[str, Any] | None:
        """The fields of an event about the chunks since the last call; None if there were none."""
        chunks = [self._new.popleft() for _ in range(len(self._new))]
        if not chunks:
            return None
        offsets_ms = [chunk.at_ms - chunk.end_ms for chunk in chunks]
        self._offsets_ms.extend(offsets_ms)
        return {
            "chunks": len(chunks),
            "end_ms": chunks[-1].end_ms,
            "received_ms": round(chunks[-1].received_ms, 1),
            **_spread(offsets_ms),
            "lost_ms": sum(chunk.lost_ms for chunk in chunks),
        }

    def measured(self) -> dict[str, Any]:
        """The same of the whole call, as JSON values; {} if there was no chunk."""
        if not self._offsets_ms:
            return {}
        return {"chunks": len(self._offsets_ms), **_spread(self._offsets_ms), "lost_ms": self.lost_ms}


def _spread(offsets_ms: list[float] | deque[float]) -> dict[str, float]:
    return {
        "offset_ms": round(median(offsets_ms), 1),
        "spread_ms": round(max(offsets_ms) - min(offsets_ms), 1),
    }
