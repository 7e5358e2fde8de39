"""The turns of both sides of a call, by its turn events: what a side says while it has the floor, up to a lapse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from fdbcore.measures.reading import Reading
from fdbcore.types import SIDES, TICKS_PER_S, Side, other_side

Part: TypeAlias = Literal["before", "reply", "further", "aside"]
"""before: a turn before the other side's first. reply: the first turn after one of the other side. further: a turn
after that, with nothing of the other side between. aside: speech that did not take the floor."""

ASIDE: Final = "aside"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn of a side, or what it said aside, in ticks of the session.

    after: how many turns of the other side had begun before it.
    """

    side: Side
    start_tick: int
    end_tick: int
    part: Part
    after: int

    def answers(self, asked: int) -> bool:
        """Whether it is B's reply to a turn of A, by its number from 1; to 0, what B says before A first speaks."""
        return self.side == "B" and self.after == asked and self.part not in ("further", ASIDE)

    @property
    def start_s(self) -> float:
        """Where it begins."""
        return self.start_tick / TICKS_PER_S

    @property
    def end_s(self) -> float:
        """Where it ends."""
        return self.end_tick / TICKS_PER_S


def spoken_turns(reading: Reading) -> list[SpokenTurn]:
    """The turns of both sides, and what was said aside, by their start.

    See `Dialogue.held` and `Dialogue.asides`.
    """
    held = {side: reading.dialogue.held(side) for side in SIDES}
    found: list[SpokenTurn] = []
    for side in SIDES:
        partner = [start for start, _ in held[other_side(side)]]
        last = 0
        for start, end in held[side]:
            after = sum(each < start for each in partner)
            part: Part = "before" if not after else "reply" if after > last else "further"
            last = after
            found.append(SpokenTurn(side, start, end, part, after))
        for start, end in reading.dialogue.asides(side):
            found.append(SpokenTurn(side, start, end, ASIDE, sum(each < start for each in partner)))
    return sorted(found, key=lambda turn: (turn.start_tick, turn.side))


def answering(turns: list[SpokenTurn]) -> list[SpokenTurn]:
    """B's turns and asides of a call with one request: `reply` is only what follows the last turn of A.

    Whatever B said before that is `before`.
    """
    of_b = [turn for turn in turns if turn.side == "B"]
    asked = sum(turn.side == "A" and turn.part != ASIDE for turn in turns)
    return [replace(turn, part="before") if turn.part != ASIDE and turn.after < asked else turn for turn in of_b]
