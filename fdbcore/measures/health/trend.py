"""A trend of a side's answers that come later and later: it gets slower, or the two sides are not on one clock.

If B's side drifts, its answers come later through the call and, by as much, those of A sooner; nobody who gets slower
makes the other quicker. A trend leaves no other trace, so it is a warning, and no figure is left out.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.finding import Bools, health_finding, runs
from fdbcore.recording.health import HealthFinding
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side

BRIDGED_TICKS: Final = TICKS_PER_S  # a pause between two sentences
LEAST_SPEECH_TICKS: Final = 30
FEWEST_ANSWERS: Final = 6
MOST_ANSWERS: Final = 300  # of a long session, that many of them, as far apart as possible

# Kendall's S in standard deviations, and the change from the first answer to the last. Of 72 sound dialogues none has
# such a trend of a side alone, or of both against each other; all calls of systems that get slower by 4 s do.
SURE, LEAST_CHANGE_TICKS = 2.6, 50
SURE_TOGETHER, LEAST_TOGETHER_TICKS = 1.6, 30


class Trend(NamedTuple):
    """deviations: of Kendall's S, with its sign. change_ticks: from the first answer to the last, by Theil and Sen."""

    deviations: float
    change_ticks: float


def later_and_later(activity: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """The answers of B come later through the session, or sooner. activity: bool (n_ticks,), without echo."""
    of_a, of_b = (_trend(gaps) for gaps in _gaps(activity))
    together = (
        of_a.deviations * of_b.deviations < 0
        and min(abs(of_a.deviations), abs(of_b.deviations)) >= SURE_TOGETHER
        and min(abs(of_a.change_ticks), abs(of_b.change_ticks)) >= LEAST_TOGETHER_TICKS
    )
    if together:
        text = f"sides drift apart? B's answers come {_change(of_b)} through the call, A's {_change(of_a)}"
        means = "Clocks that differ sound so, or both parties change. If it is the clocks, latencies are wrong by that."
    elif abs(of_b.deviations) >= SURE and abs(of_b.change_ticks) >= LEAST_CHANGE_TICKS:
        text = f"B's answers come {_change(of_b)} through the call: so B does, or its side drifts"
        means = "If the sides are on one clock, this is how the system behaves; audio alone cannot tell."
    else:
        return
    figures = {"b_change_ms": TICK_MS * of_b.change_ticks, "a_change_ms": TICK_MS * of_a.change_ticks}
    yield health_finding("out_of_step", None, "warn", text, means, figures)


def _gaps(activity: Mapping[Side, Bools]) -> list[npt.NDArray[np.int64]]:
    """The ticks at which each side answers the other, and how long after its end, (n, 2); for A and for B."""
    spoken = sorted(
        (start, end, side)
        for side in SIDES
        for start, end in runs(activity[side], BRIDGED_TICKS)
        if end - start >= LEAST_SPEECH_TICKS
    )
    return [
        np.array(
            [
                (start, start - ended)
                for (_, ended, before), (start, _, own) in pairwise(spoken)
                if own == side and before != side
            ],
            np.int64,
        ).reshape(-1, 2)
        for side in SIDES
    ]


def _trend(gaps: npt.NDArray[np.int64]) -> Trend:
    gaps = gaps[:: len(gaps) // MOST_ANSWERS + 1]
    n = len(gaps)
    if n < FEWEST_ANSWERS:
        return Trend(0.0, 0.0)
    first, second = np.triu_indices(n, 1)
    apart, change = (gaps[second] - gaps[first]).T
    of_all = float(np.sign(change).sum())
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    slope = float(np.median(change / np.maximum(apart, 1)))
    deviations = math.copysign(max(abs(of_all) - 1, 0) / deviation, of_all)
    return Trend(deviations, slope * float(gaps[-1, 0] - gaps[0, 0]))


def _change(trend: Trend) -> str:
    return f"{abs(trend.change_ticks) / TICKS_PER_S:.1f} s {'later' if trend.change_ticks > 0 else 'sooner'}"
