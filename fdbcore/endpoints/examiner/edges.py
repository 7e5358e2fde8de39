"""Edges of a side's speech (begins, pauses, ends): early ones that cues rest on, and those that final events
contradict.
"""

from dataclasses import dataclass
from typing import Final, Literal

from fdbcore.types import TICK_MS, TICKS_PER_S, TurnEvent

START_MS: Final = 60
"""A side that has seemed active for so long has begun to speak."""
END_MS: Final = 200
"""A side that has not seemed active for so long has stopped."""

OVER_MS: Final = 1500
"""After so much silence an answer is over: voices of today pause for 0.3 to 1.2 s between two sentences, and
a detector of speech ends the first of them a little early."""
MOST_OVER_MS: Final = 3000
"""The same of a side whose own pauses are longer."""
_LONGER_MS: Final = 300
"""So much longer than its longest pause so far."""
_GOES_ON_TICKS: Final = TICKS_PER_S
"""Delay after the other's words began: a side that speaks so soon goes on with its own, and does not answer them."""

_NEAR_TICKS: Final = 25
"""A final edge so near to an early one confirms it."""
_FINAL_AFTER_TICKS: Final = 75
"""By now every final event about an edge is known, whatever the delay of the detector."""

Edge = Literal["start", "end"]


class EarlyEdges:
    """The early edges of one side.

    speaks: whether it seems to speak. since_tick: of its last edge, at first 0. active: whether it seemed active in the
    last tick; it may be in a pause while it speaks.
    """

    def __init__(self) -> None:
        self.speaks = False
        self.active = False
        self.since_tick = 0
        self._run_from: int | None = None  # the first tick of the run that may become an edge

    def push(self, tick: int, active: bool) -> Edge | None:
        """Take whether it seems active in `tick`; return the edge that becomes known now."""
        self.active = active
        if active == self.speaks:
            self._run_from = None
            return None
        if self._run_from is None:
            self._run_from = tick
        if (tick + 1 - self._run_from) * TICK_MS < (END_MS if self.speaks else START_MS):
            return None
        self.speaks, self.since_tick, self._run_from = active, self._run_from, None
        return "start" if active else "end"


class Pauses:
    """Pauses of a side within what it says. over_ticks: after such a silence it has said all of it.

    late_ms: so long after it goes on, that becomes known.
    """

    def __init__(self, over_ms: float = OVER_MS, late_ms: int = 0) -> None:
        self.over_ticks = round((over_ms + late_ms) / TICK_MS)
        self._longer_ticks, self._most_ticks = ((ms + late_ms) // TICK_MS for ms in (_LONGER_MS, MOST_OVER_MS))

    def learn(self, since_tick: int, goes_on_tick: int, own_start: int | None) -> None:
        """It was silent since a tick, and goes on. own_start: since when the listener has spoken, if it does."""
        if own_start is None or goes_on_tick - own_start <= _GOES_ON_TICKS:
            longer_ticks = goes_on_tick - since_tick + self._longer_ticks
            self.over_ticks = max(self.over_ticks, min(longer_ticks, self._most_ticks))


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An early edge on which the examiner acted, and which no final event confirms."""

    edge: Edge
    tick: int


class FinalCheck:
    """Compares the early edges that were acted on with the final events of the same side."""

    def __init__(self) -> None:
        self._acted: list[Contradiction] = []
        self._final: dict[Edge, list[int]] = {"start": [], "end": []}

    def acted_on(self, edge: Edge, tick: int) -> None:
        """The examiner does something because of this edge."""
        self._acted.append(Contradiction(edge, tick))

    def notice(self, event: TurnEvent) -> None:
        """Take a final event of the side."""
        if event.kind == "speech_start":
            self._final["start"].append(event.start_tick)
        elif event.kind == "speech_end" and event.end_tick is not None:
            self._final["end"].append(event.end_tick)

    def contradicted(self, tick: int) -> list[Contradiction]:
        """The edges that should have been confirmed by `tick`, and were not; each is told once."""
        due = [each for each in self._acted if tick >= each.tick + _FINAL_AFTER_TICKS]
        self._acted = self._acted[len(due) :]
        return [each for each in due if not self._is_confirmed(each)]

    def _is_confirmed(self, acted: Contradiction) -> bool:
        return any(abs(final - acted.tick) <= _NEAR_TICKS for final in reversed(self._final[acted.edge]))
