"""Shares over clusters with Wilson's score interval, and the difference of two shares.

Trials of one cluster (turns of one call) resemble each other. The design effect measures this: the variance of a share
by the jackknife over clusters, divided by the variance of independent trials (Kish 1965). It is uncertain if clusters
are few or unequal, or if few of them have the event; it is then often too small when the share is too small. So it is
averaged with the design effect of an assumed intraclass correlation, and Student's t has the degrees of freedom of both
together. `python -m benchmarks coverage` measures how often the intervals cover the truth.
"""

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
"""The intraclass correlation to assume for the trials of one cluster while the data say little about it."""

ASSUMED_FREEDOM: Final = 4
"""The degrees of freedom of that assumption, added to those of the clusters."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A share over k clusters.

    trials: how many there are in all clusters. variance: of the share, if the trials were independent. sizes: (k,),
    each cluster's part of the trials. moves: (k,), how much the share changes without the cluster, scaled so that the
    squares sum to the variance by the jackknife. informative: (k,), equal parts for the clusters with an event, or for
    those with a trial without it, whichever are fewer; 0 for the others.
    """

    share: float
    trials: float
    variance: float
    sizes: Floats
    moves: Floats
    informative: Floats

    @property
    def assumed_effect(self) -> float:
        """The design effect of ASSUMED_CORRELATION for clusters of these sizes."""
        return 1 + ASSUMED_CORRELATION * (self.trials * float(self.sizes @ self.sizes) - 1)

    def limits(self, width: float) -> Interval:
        """Wilson's limits, `width` standard deviations of independent trials from the middle."""
        share, spread = self.share, width * width / self.trials
        middle = (share + spread / 2) / (1 + spread)
        half = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
        return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def wilson_by_cluster(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> Interval | None:
    """The score interval (Wilson 1927) of a share over k clusters, widened by the design effect.

    successes, n: (k,), the successes and trials of each cluster. The interval is never narrower than that of
    independent trials, and equal to it with one trial per cluster. None with one cluster, which cannot show how
    clusters differ. Raises InputError for successes outside 0 to n.
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
    """The share of A minus `times` the share of B, over the same k clusters; all arrays are (k,).

    The interval is the square-and-add interval of Newcombe (1998) from limits like those of `wilson_by_cluster`, with
    the design effect of the difference: what A and B have in common in a cluster makes it smaller. A cluster without
    trials of one side counts for the other side only. There may be no success on either side, but each side needs two
    clusters. Raises InputError for successes outside 0 to n.
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
    """The share of these counts; None with fewer than two clusters that have trials."""
    total, clusters = float(trials.sum()), int((trials > 0).sum())
    if clusters < 2:
        return None
    share = float(counts.sum()) / total
    moves = (counts - share * trials) / (total - trials) * math.sqrt((clusters - 1) / clusters)
    having, lacking = (counts > 0).astype(np.float64), (counts < trials).astype(np.float64)
    fewer = having if having.sum() < lacking.sum() else lacking
    return _Side(share, total, share * (1 - share) / total, trials / total, moves, fewer / max(fewer.sum(), 1))


def _design(sides: Sequence[_Side], times: float = 1.0) -> tuple[float, float]:
    """The design effect of a share, or of a share minus `times` another, and its degrees of freedom."""
    trials = np.array([side.trials for side in sides])
    sizes = np.array([side.sizes for side in sides])
    moves = np.array([side.moves for side in sides])
    informative = np.array([side.informative for side in sides])
    if (trials @ sizes).max() < 1.5:  # no two trials in one cluster
        return 1.0, math.inf
    factors = np.array([1.0, -times])[: len(sides)]
    variances = factors**2 * [side.variance for side in sides]
    independent = float(variances.sum())
    weights = variances if independent else factors**2 / trials
    assumed = float(np.average([side.assumed_effect for side in sides], weights=weights))
    if not independent:  # all shares are 0 or 1, which does not show how clusters differ
        return assumed, ASSUMED_FREEDOM
    observed = float(np.square(factors @ moves).sum()) / independent
    freedom = min(effective_number(variances @ sizes) - 1, effective_number(variances @ informative))
    effect = (freedom * observed + ASSUMED_FREEDOM * assumed) / (freedom + ASSUMED_FREEDOM)
    return effect, freedom + ASSUMED_FREEDOM
