"""Mutes sides in the first ticks of a session: their partner opens it, and hears silence until then."""

import math
from collections.abc import Iterator
from typing import Final

from fdbcore.protocols import Endpoint
from fdbcore.types import SIDES, SILENT_FRAME, TICK_MS, Happening, Pcm, Side
from fdbcore.types.session_events import LOUD_DBFS, MUTED

_FULL_SCALE: Final = 32_768
_LOUD: Final = _FULL_SCALE * 10 ** (LOUD_DBFS / 20)


class Muting:
    """Muting: who is muted, until when, and what is lost. until_tick: when everybody is heard; 0 if nobody is muted."""

    def __init__(self, a: Endpoint, b: Endpoint) -> None:
        self._until: dict[Side, int] = {"A": b.mutes_ticks, "B": a.mutes_ticks}
        self._lost: dict[Side, list[int]] = {side: [] for side in SIDES}  # the peak of each muted tick
        self.until_tick = max(self._until.values())

    def heard(self, tick: int, frame_a: Pcm, frame_b: Pcm) -> tuple[Pcm, Pcm]:
        """The heard part of both frames, int16 (480,) each: silence of a side that is muted in `tick`."""
        return self._of("A", tick, frame_a), self._of("B", tick, frame_b)

    def _of(self, side: Side, tick: int, frame: Pcm) -> Pcm:
        if tick >= self._until[side]:
            return frame
        self._lost[side].append(max(int(frame.max()), -int(frame.min())))
        return SILENT_FRAME

    def told(self) -> Iterator[tuple[Side, Happening]]:
        """An event of each side that was muted, in the last tick in which it was. Once, when everybody is heard again,
        or the session has ended before.
        """
        for side, peaks in self._lost.items():
            if peaks:
                peak = max(peaks)
                lost = {
                    "from_tick": 0,
                    "to_tick": len(peaks),
                    "loud_ms": sum(each > _LOUD for each in peaks) * TICK_MS,
                    "loudest_dbfs": round(20 * math.log10(peak / _FULL_SCALE), 1) if peak else None,
                }
                yield side, Happening(len(peaks) - 1, MUTED, lost)
        self._lost = {side: [] for side in SIDES}
