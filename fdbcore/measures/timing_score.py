"""How well B is timed, from 0 to 1: the piecewise rule of EVA-Bench (arXiv 2605.13841), over all opportunities of B.

An answer scores 0 at -0.5 s, rises to 1 at 0.5 s, keeps it until 2 s, and falls to 0 at 3.5 s. One that cuts A off
scores at most 0.5. No answer scores 0. Where A talks over B for longer than short_ms, B scores by how soon it falls
silent: 1 at once, 0 after 2 s. Where A broke off because B began, its turn ends where its words would have ended. The
published code leaves out turns without an answer, but for the last; here all count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities, turn_start
from fdbcore.types import TICKS_PER_S, TurnEvent

ANSWER_S: Final = (-0.5, 0.5, 2.0, 3.5)
"""Where the score of an answer is 0, 1, 1 and 0."""
CUT_OFF_MOST: Final = 0.5
YIELD_S: Final = 2.0

_NEAR_TICKS: Final = 25
"""A detector ends a turn at most so long after its last word."""


class CutShort(NamedTuple):
    """Words of A that B cut short: the ticks where B began in them, where A broke off, and where they would end."""

    start_tick: int
    end_tick: int
    planned_end_tick: int

    def is_at(self, end_of_a_tick: int) -> bool:
        """Whether A's turn ended here because of it."""
        return self.start_tick < end_of_a_tick <= self.end_tick + _NEAR_TICKS


class ScoredMoment(NamedTuple):
    """How well B is timed at one moment: the end of A's turn, or where one side began to talk over the other."""

    tick: int
    score: float


def timing_scores(dialogue: Dialogue, cut_short: Sequence[CutShort] = ()) -> list[ScoredMoment]:
    """The score of each opportunity of B, and of each time that A talked over it, from 0 to 1.

    cut_short: of the words of A, if their planned ends are known; each stands for the opportunity at its end.
    """
    found = opportunities(dialogue)
    cut = [(each.start_tick, each.start_tick - each.planned_end_tick) for each in cut_short]
    cut += [(turn_start(each), fto(each)) for each in _others(found.premature, cut_short)]
    answered = [(turn_start(each) - fto(each), fto(each)) for each in _others(found.answered, cut_short)]
    return [
        *(ScoredMoment(tick, _of_answer(after)) for tick, after in answered),
        *(ScoredMoment(tick, min(_of_answer(after), CUT_OFF_MOST)) for tick, after in cut),
        *(
            ScoredMoment(each.start_tick, 0.0)
            for each in found.missed
            if not any(of.is_at(each.start_tick) for of in cut_short)
        ),
        *_yields(dialogue),
    ]


def _of_answer(after_ticks: int) -> float:
    """The score of an answer so long after the end of A's turn."""
    return float(np.interp(after_ticks / TICKS_PER_S, ANSWER_S, (0, 1, 1, 0)))


def _others(transfers: Sequence[TurnEvent], cut_short: Sequence[CutShort]) -> list[TurnEvent]:
    ends = [(each, turn_start(each) - fto(each)) for each in transfers]
    return [each for each, end_of_a_tick in ends if not any(of.is_at(end_of_a_tick) for of in cut_short)]


def _yields(dialogue: Dialogue) -> list[ScoredMoment]:
    """Scores of B where A began in its speech: not at its very start or end, where nobody could react."""
    short_ticks = dialogue.settings.ticks("short_ms")
    starts = [
        each.start_tick
        for each in dialogue.uncensored("intrusion", side="A")
        if each.onset == "overlap"
        and not (each.simultaneous or each.terminal)
        and dialogue.ipu_length_ticks("A", each.start_tick) > short_ticks
    ]
    until_stop = dialogue.ticks_until_stop("B", np.array(starts, np.int64)).tolist()
    return [
        ScoredMoment(start, max(0.0, 1 - until / (YIELD_S * TICKS_PER_S)))
        for start, until in zip(starts, until_stop, strict=True)
    ]
