"""The timing score of B, from 0 to 1: the piecewise rule of EVA-Bench (arXiv 2605.13841), over all opportunities of B.

An answer scores 0 at -0.5 s, rises to 1 at 0.5 s, keeps it until 2 s, and falls to 0 at 3.5 s. One that cuts A off
scores at most 0.5. No answer scores 0. Where A talks over B for longer than short_ms, B scores by how soon it stops
(falls silent until A has ended, and for 1 s): 1 at once, 0 after 2 s. Where A broke off because B began, its turn ends
where its words would have ended. The published code leaves out turns without an answer, but for the last; here all
count.
"""

from typing import Final, NamedTuple

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import end_of_a, fto, opportunities_in, transfers_to_b, turn_start
from fdbcore.types import TICKS_PER_S

ANSWER_S: Final = (-0.5, 0.5, 2.0, 3.5)
"""Times at which the score of an answer is 0, 1, 1 and 0."""
CUT_OFF_MOST: Final = 0.5
YIELD_S: Final = 2.0


class ScoredMoment(NamedTuple):
    """The score of B's timing at one moment: the end of A's turn, or where one side began to talk over the other."""

    tick: int
    score: float


def timing_scores(dialogue: Dialogue) -> list[ScoredMoment]:
    """The score of each opportunity of B, and of each time that A talked over it, from 0 to 1.

    What B cut short of A stands for the opportunity at its end, also where B then said nothing.
    """
    found, cut_short = opportunities_in(dialogue), dialogue.cut_short
    ends = [end_of_a(each) for each in transfers_to_b(dialogue)]
    cut = [(turn_start(each), fto(each)) for each in found.premature]
    cut += [(of.start_tick, of.start_tick - of.planned_end_tick) for of in cut_short if not any(map(of.is_at, ends))]
    missed = [each.start_tick for each in found.missed if not any(of.is_at(each.start_tick) for of in cut_short)]
    return [
        *(ScoredMoment(end_of_a(each), _of_answer(fto(each))) for each in found.answered),
        *(ScoredMoment(tick, min(_of_answer(after), CUT_OFF_MOST)) for tick, after in cut),
        *(ScoredMoment(tick, 0.0) for tick in missed),
        *_yields(dialogue),
    ]


def _of_answer(after_ticks: int) -> float:
    """The score of an answer so long after the end of A's turn."""
    return float(np.interp(after_ticks / TICKS_PER_S, ANSWER_S, (0, 1, 1, 0)))


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
    ticks = np.array(starts, np.int64)
    until_stop = dialogue.ticks_until_stop("B", ticks, dialogue.words_end("A", ticks)).tolist()
    return [
        ScoredMoment(start, max(0.0, 1 - until / (YIELD_S * TICKS_PER_S)))
        for start, until in zip(starts, until_stop, strict=True)
    ]
