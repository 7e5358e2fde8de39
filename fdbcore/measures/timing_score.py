"""How well B is timed, from 0 to 1: the piecewise rule of EVA-Bench (arXiv 2605.13841), over all opportunities of B.

An answer scores 0 at -0.5 s, rises to 1 at 0.5 s, keeps it until 2 s, and falls to 0 at 3.5 s. One that cuts A off
scores at most 0.5. No answer scores 0. Where A talks over B for longer than short_ms, B scores by how soon it falls
silent: 1 at once, 0 after 2 s. The published code leaves out turns without an answer, but for the last; here all count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities
from fdbcore.types import TICKS_PER_S

ANSWER_S: Final = (-0.5, 0.5, 2.0, 3.5)
"""Where the score of an answer is 0, 1, 1 and 0."""
CUT_OFF_MOST: Final = 0.5
YIELD_S: Final = 2.0


def timing_scores(dialogue: Dialogue) -> Sequence[float]:
    """The score of each opportunity of B, and of each time that A talked over it, from 0 to 1."""
    found = opportunities(dialogue)
    answered = np.interp([fto(each) / TICKS_PER_S for each in found.answered], ANSWER_S, (0, 1, 1, 0))
    cut_off = np.interp([fto(each) / TICKS_PER_S for each in found.premature], ANSWER_S, (0, 1, 1, 0))
    return [
        *answered.tolist(),
        *np.minimum(cut_off, CUT_OFF_MOST).tolist(),
        *(0.0 for _ in found.missed),
        *_yields(dialogue),
    ]


def _yields(dialogue: Dialogue) -> list[float]:
    """Scores of B where A began in its speech: not at its very start or end, where nobody could react."""
    short_ticks = dialogue.settings.ticks("short_ms")
    until_stop = dialogue.ticks_until_stop("B")
    starts = [
        each.start_tick
        for each in dialogue.uncensored("intrusion", side="A")
        if each.onset == "overlap"
        and not (each.simultaneous or each.terminal)
        and dialogue.ipu_length_ticks("A", each.start_tick) > short_ticks
    ]
    return [max(0.0, 1 - int(until_stop[start]) / (YIELD_S * TICKS_PER_S)) for start in starts]
