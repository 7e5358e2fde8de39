"""Shares with intervals by Wilson's score, over clusters, and the difference of two."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.stats import LEVEL, ONE_CLUSTER, Estimate, Floats, Interval, p_of_zero, t_quantile


def wilson(successes: int, n: int, level: float = LEVEL) -> Interval | None:
    """The score interval of a share (Wilson 1927), for independent trials; None for n = 0."""
    if not 0 <= successes <= n:
        raise InputError(f"share: expected successes from 0 to n, got {successes} of {n}")
    return _wilson(successes / n, n, level) if n else None


def wilson_by_cluster(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> Interval | None:
    """The score interval of a share over clusters, (k,) successes of (k,) trials each: `wilson` at the effective n.

    That is n over the design effect: the variance of the pooled share between clusters over that of independent trials
    (Kish 1965); never more than n. An effect above 1 is known only as well as k clusters tell it: then n is reduced
    further, by the square of t over z (Korn and Graubard 1998). With one trial in each cluster it is `wilson`; with one
    cluster, which cannot show how clusters differ, there is no interval.
    """
    counts, trials = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if counts.shape != trials.shape or not ((counts >= 0) & (counts <= trials)).all():
        raise InputError(f"share: expected successes from 0 to n in each cluster, got {counts} of {trials}")
    total, clusters = float(trials.sum()), int((trials > 0).sum())
    if clusters < 2:
        return None
    share = float(counts.sum()) / total
    between = float(((counts - share * trials) ** 2).sum()) / total**2 * clusters / (clusters - 1)
    independent = share * (1 - share) / total
    effect = between / independent if independent and trials.max() > 1 else 1.0
    if effect > 1:
        upper = (1 + level) / 2
        effect *= (t_quantile(upper, clusters - 1) / NormalDist().inv_cdf(upper)) ** 2
    return _wilson(share, total / max(effect, 1.0), level)


def _wilson(share: float, n: float, level: float) -> Interval:
    z = NormalDist().inv_cdf((1 + level) / 2)
    spread = z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def wilson_difference(
    successes_a: npt.ArrayLike,
    n_a: npt.ArrayLike,
    successes_b: npt.ArrayLike,
    n_b: npt.ArrayLike,
    level: float = LEVEL,
    times: float = 1.0,
) -> Estimate:
    """The share of A less `times` that of B over the same clusters, (k,) each, from the limits of `wilson_by_cluster`.

    The square-and-add interval of Newcombe (1998), with the correlation of the two shares over clusters; a cluster that
    has no trials of one side counts for the other only. It needs no success on either side, but two clusters on each.
    """
    a, b, trials_a, trials_b = (np.asarray(x, dtype=np.float64) for x in (successes_a, successes_b, n_a, n_b))
    clusters = int(((trials_a > 0) | (trials_b > 0)).sum())
    if not trials_a.sum() or not trials_b.sum():
        return Estimate(None, None, clusters, "no items")
    share_a, share_b = float(a.sum() / trials_a.sum()), float(b.sum() / trials_b.sum())
    value = share_a - times * share_b
    if None in (wilson_by_cluster(a, trials_a), wilson_by_cluster(b, trials_b)):
        return Estimate(value, None, clusters, ONE_CLUSTER)
    correlation = _correlation(a - share_a * trials_a, b - share_b * trials_b)

    def interval(level: float) -> Interval:
        limits_a, limits_b = wilson_by_cluster(a, trials_a, level), wilson_by_cluster(b, trials_b, level)
        assert limits_a is not None
        assert limits_b is not None
        below = _added(share_a - limits_a.low, times * (limits_b.high - share_b), correlation)
        above = _added(limits_a.high - share_a, times * (share_b - limits_b.low), correlation)
        return Interval(value - below, value + above)

    return Estimate(value, interval(level), clusters, p=p_of_zero(interval))


def _correlation(x: Floats, y: Floats) -> float:
    norm = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / norm if norm else 0.0


def _added(x: float, y: float, correlation: float) -> float:
    return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))
