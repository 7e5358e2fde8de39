"""Shares with intervals by Wilson's score, over clusters, and the difference of two.

What turns of one call have in common is seen in how calls differ: their design effect is the variance of a share by the
jackknife over calls, over that of independent trials (Kish 1965). It is known badly where calls are few or unequal, or
few of them have the event: then it comes out too small just where the share does. So it is averaged with the effect of
an assumed intraclass correlation, and Student's t has as many degrees of freedom as both are worth together.
`python -m benchmarks coverage` shows what the intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import LEVEL, ONE_CLUSTER, Estimate, Floats, Interval, p_of_zero
from fdbcore.stats.student import effective_number, t_quantile

ASSUMED_CORRELATION: Final = 0.1
"""Of the trials of one cluster (intraclass), as long as the clusters themselves say little on it."""

ASSUMED_WORTH: Final = 4
"""How many degrees of freedom the assumption counts for, beside those of the clusters."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A share over clusters (k,). trials: of all. variance: that of so many independent trials.

    sizes: each cluster's part of the trials. moves: by how much the share would move without the cluster, scaled so
    that their squares sum to its variance. telling: the parts of clusters that have the event, or of those that lack
    it in a trial, whichever are fewer.
    """

    share: float
    trials: float
    variance: float
    sizes: Floats
    moves: Floats
    telling: Floats

    @property
    def assumed_effect(self) -> float:
        """The design effect of ASSUMED_CORRELATION for clusters of these sizes."""
        return 1 + ASSUMED_CORRELATION * (self.trials * float(self.sizes @ self.sizes) - 1)

    def limits(self, width: float) -> Interval:
        """Wilson's limits, so many standard deviations of independent trials out."""
        return _wilson(self.share, self.trials, width)


def wilson_by_cluster(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> Interval | None:
    """The score interval (Wilson 1927) of a share over clusters, (k,) successes of (k,) trials each, with the design
    effect.

    Never narrower than that of independent trials; with one trial in each cluster it is that. With one cluster, which
    cannot show how clusters differ, there is no interval.
    """
    side = _side(*_checked(successes, n))
    if side is None:
        return None
    effect, freedom = _design([side])
    return side.limits(math.sqrt(max(effect, 1.0)) * t_quantile((1 + level) / 2, freedom))


def wilson_difference(
    successes_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    successes_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    level: float = LEVEL,
    times: float = 1.0,
) -> Estimate:
    """The share of A less `times` that of B over the same clusters, (k,) each.

    The square-and-add interval of Newcombe (1998) from limits as those of `wilson_by_cluster`, with the one design
    effect of the difference: what A and B have in common in a cluster makes it smaller. A cluster that has no trials of
    one side counts for the other only. It needs no success on either side, but two clusters on each.
    """
    a, b = _checked(successes_a, n_a), _checked(successes_b, n_b)
    clusters = int(((a[1] > 0) | (b[1] > 0)).sum())
    if not a[1].sum() or not b[1].sum():
        return Estimate(None, None, clusters, "no items")
    value = float(a[0].sum() / a[1].sum() - times * b[0].sum() / b[1].sum())
    side_a, side_b = _side(*a), _side(*b)
    if side_a is None or side_b is None:
        return Estimate(value, None, clusters, ONE_CLUSTER)
    effect, freedom = _design([side_a, side_b], times)

    def interval(level: float) -> Interval:
        width = math.sqrt(effect) * t_quantile((1 + level) / 2, freedom)
        limits_a, limits_b = side_a.limits(width), side_b.limits(width)
        below = math.hypot(side_a.share - limits_a.low, times * (limits_b.high - side_b.share))
        above = math.hypot(limits_a.high - side_a.share, times * (side_b.share - limits_b.low))
        return Interval(value - below, value + above)

    return Estimate(value, interval(level), clusters, p=p_of_zero(interval))


def _checked(successes: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    counts, trials = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if counts.shape != trials.shape or not ((counts >= 0) & (counts <= trials)).all():
        raise InputError(f"share: expected successes from 0 to n in each cluster, got {counts} of {trials}")
    return counts, trials


def _side(counts: Floats, trials: Floats) -> _Side | None:
    """None with fewer than two clusters that have trials."""
    total, clusters = float(trials.sum()), int((trials > 0).sum())
    if clusters < 2:
        return None
    share = float(counts.sum()) / total
    moves = (counts - share * trials) / (total - trials) * math.sqrt((clusters - 1) / clusters)
    having, lacking = (of.astype(np.float64) for of in (counts > 0, counts < trials))
    telling = having if having.sum() < lacking.sum() else lacking
    return _Side(share, total, share * (1 - share) / total, trials / total, moves, telling / max(telling.sum(), 1))


def _design(sides: Sequence[_Side], times: float = 1.0) -> tuple[float, float]:
    """The design effect of a share, or of one less `times` another, and its degrees of freedom."""
    trials = np.array([side.trials for side in sides])
    sizes = np.array([side.sizes for side in sides])
    moves = np.array([side.moves for side in sides])
    telling = np.array([side.telling for side in sides])
    if (trials @ sizes).max() < 1.5:  # no two trials in one cluster
        return 1.0, math.inf
    factors = np.array([1.0, -times])[: len(sides)]
    variances = factors**2 * [side.variance for side in sides]
    independent = float(variances.sum())
    weights = variances if independent else factors**2 / trials
    assumed = float(np.average([side.assumed_effect for side in sides], weights=weights))
    if not independent:  # never, or always, on either side: that tells nothing on how clusters differ
        return assumed, ASSUMED_WORTH
    seen = float(np.square(factors @ moves).sum()) / independent
    known = min(effective_number(variances @ sizes) - 1, effective_number(variances @ telling))
    return (known * seen + ASSUMED_WORTH * assumed) / (known + ASSUMED_WORTH), known + ASSUMED_WORTH


def _wilson(share: float, n: float, width: float) -> Interval:
    spread = width * width / n
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)
