"""Intervals that a reader can trust: bootstrap by cluster, Wilson for shares, and no figure where n is too small.

Turns of one call resemble each other: resampled as if they were independent they give intervals that are far too
narrow. What is resampled here is the *cluster*, the top unit of the design: the call, the scenario, the speaker. With
few clusters even that is too narrow (means of calls with intraclass correlation 0.3, simulated: "95 %" covers 54 % with
two clusters, 83 % with five, 90 % with ten), so a table states how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext import batch
from fdbcore.errors import InputError

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
SEED: Final = 0
ITEMS_BEYOND: Final = 5
ITEMS_BEYOND_FOR_INTERVAL: Final = 10

Floats: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], float]
"""A function of the items' values: (n,), or (n, columns) with a row per item. `mean`, `ratio_of_sums` and `Quantile`
are resampled by compiled kernels; any other function is called once for each resample."""


class Interval(NamedTuple):
    """Lower and upper limit."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its interval; either is None where it cannot be given, and `reason` says why.

    clusters: how many units were resampled.
    """

    value: float | None
    interval: Interval | None
    clusters: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Quantile:
    """The statistic "quantile q" (0 < q < 1) by NumPy's linear rule.

    A quantile outside 0.1 to 0.9 is given from five items beyond it, its interval from ten: p95 from n = 100 and 200.
    With fewer it is one of the largest values by another name, and the interval covers much less than it says.
    """

    q: float

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise InputError(f"quantile: expected a number between 0 and 1, got {self.q}")

    def __call__(self, values: Floats) -> float:
        """The quantile of (n,), however few they are."""
        return float(np.quantile(values, self.q))

    def __str__(self) -> str:
        return f"p{100 * self.q:g}"

    def items_needed(self, beyond: int) -> int:
        """The least n that puts `beyond` items beyond a quantile outside 0.1 to 0.9; 1 for one inside."""
        tail = round(min(self.q, 1 - self.q), 9)
        return 1 if tail >= 0.1 else math.ceil(round(beyond / tail, 6))


MEDIAN: Final = Quantile(0.5)


def mean(values: Floats) -> float:
    """The mean of the items (n,); of booleans the share, so `latencies_ms <= 800` gives the share within 0.8 s."""
    return float(np.mean(values))


def ratio_of_sums(values: Floats) -> float:
    """Sum of column 0 / sum of column 1 of (n, 2), such as events / minutes with a row per call; NaN if that is 0."""
    numerator, denominator = np.sum(values, axis=0)
    return float(numerator / denominator) if denominator else math.nan


def quantile(values: npt.ArrayLike, q: float) -> float | None:
    """Quantile q of the items; None where they are too few for it (see Quantile)."""
    items, statistic = _checked(values), Quantile(q)
    return statistic(items) if len(items) >= statistic.items_needed(ITEMS_BEYOND) else None


def wilson(successes: int, n: int, level: float = LEVEL) -> Interval | None:
    """The score interval of a share (Wilson 1927), for independent trials; None for n = 0."""
    if not 0 <= successes <= n:
        raise InputError(f"share: expected successes from 0 to n, got {successes} of {n}")
    return _wilson(successes / n, n, level) if n else None


def wilson_by_cluster(successes: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> Interval | None:
    """The score interval of a share over clusters, (k,) successes of (k,) trials each: `wilson` at the effective n.

    That is n over the design effect: the variance of the pooled share between clusters over that of independent trials
    (Kish 1965); never more than n. With one cluster it is `wilson`.
    """
    counts, trials = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if counts.shape != trials.shape or not ((counts >= 0) & (counts <= trials)).all():
        raise InputError(f"share: expected successes from 0 to n in each cluster, got {counts} of {trials}")
    total, clusters = float(trials.sum()), int((trials > 0).sum())
    if not total:
        return None
    share = float(counts.sum()) / total
    between = float(((counts - share * trials) ** 2).sum()) / total**2 * clusters / max(clusters - 1, 1)
    independent = share * (1 - share) / total
    effect = max(1.0, between / independent) if independent and clusters > 1 else 1.0
    return _wilson(share, total / effect, level)


def _wilson(share: float, n: float, level: float) -> Interval:
    z = NormalDist().inv_cdf((1 + level) / 2)
    spread = z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def share_difference(
    successes_a: npt.ArrayLike, n_a: npt.ArrayLike, successes_b: npt.ArrayLike, n_b: npt.ArrayLike, level: float = LEVEL
) -> Estimate:
    """The share of A less that of B, each over (k,) clusters as for `wilson_by_cluster`, with Newcombe's interval.

    It is made of the two score intervals (Newcombe 1998, method 10), so it holds for few trials and one cluster; shares
    of the same clusters that rise and fall together have a narrower one. No value where either has no trials.
    """
    clusters = int(((np.asarray(n_a) + np.asarray(n_b)) > 0).sum())
    a, b = wilson_by_cluster(successes_a, n_a, level), wilson_by_cluster(successes_b, n_b, level)
    if a is None or b is None:
        return Estimate(None, None, clusters, "no items")
    share_a, share_b = (float(np.sum(s) / np.sum(n)) for s, n in ((successes_a, n_a), (successes_b, n_b)))
    below, above = math.hypot(share_a - a.low, b.high - share_b), math.hypot(a.high - share_a, share_b - b.low)
    value = share_a - share_b
    return Estimate(value, Interval(value - below, value + above), clusters)


def bootstrap_ci(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    statistic: Statistic = mean,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """`statistic` of the items, with its percentile bootstrap interval by cluster; the same seed, the same interval.

    values: (n,), or (n, columns) with a row per item, finite. clusters: the id of each item's cluster. There is no
    interval for one cluster, for a tail of too few items, where the statistic is undefined in some resample, or where
    all resamples agree (18 of 18: see `wilson`). Raises InputError for values that are not finite or do not fit
    the clusters or the statistic.
    """
    return _estimate([values], [clusters], statistic, level, resamples, seed)


def paired_difference_ci(
    values_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    statistic: Statistic = mean,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """`statistic` of A less that of B over the same clusters (scenarios), with its interval; else as `bootstrap_ci`.

    Each resample draws the same clusters for both. A and B may differ in items per cluster, and a cluster without items
    of one side counts for the other only.
    """
    return _estimate([values_a, values_b], [clusters_a, clusters_b], statistic, level, resamples, seed)


def bootstrap_columns(
    values: npt.ArrayLike, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> list[Estimate]:
    """The mean of each column with its percentile bootstrap interval, all from the same draws of items.

    values: (items, columns), or (items, repeats, columns) where each item was measured several times: then a resample
    draws items, and for each one of its repeats, so the spread over repeats is in the interval. NaN: not measured; the
    mean is over what there is, and `clusters` counts the items that have any. A column of paired differences gives the
    interval of the difference. There is no interval for one item, nor where `bootstrap_ci` has none. Raises InputError
    for another shape and for infinite values.
    """
    cells = np.asarray(values, dtype=np.float64)
    cells = cells[:, None] if cells.ndim == 2 else cells
    if cells.ndim != 3 or not cells.shape[1] or np.isinf(cells).any():
        raise InputError(f"values: expected finite numbers (items, columns), or with repeats, got {cells.shape}")
    resampled = batch.bootstrap_columns(cells, resamples, seed)
    return [_column_estimate(cells[..., k], resampled[:, k], level) for k in range(cells.shape[2])]


def _column_estimate(column: Floats, resampled: Floats, level: float) -> Estimate:
    """column: (items, repeats). resampled: its means."""
    items = int((~np.isnan(column)).any(axis=1).sum())
    if not items:
        return Estimate(None, None, 0, "no items")
    value = float(np.nanmean(column))
    if items == 1:
        return Estimate(value, None, 1, "no interval: one item cannot show how items differ")
    interval, reason = _percentile(resampled, level)
    return Estimate(value, interval, items, reason)


def _percentile(resampled: Floats, level: float) -> tuple[Interval | None, str]:
    """The interval between the quantiles of the resamples, or why there is none."""
    if undefined := int(np.isnan(resampled).sum()):
        return None, f"no interval: undefined in {undefined} of {len(resampled)} resamples"
    if resampled.min() == resampled.max():
        return None, "no interval: every resample gives the same value"
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low, high), ""


def _estimate(
    samples: Sequence[npt.ArrayLike],
    clusters: Sequence[npt.ArrayLike],
    statistic: Statistic,
    level: float,
    resamples: int,
    seed: int,
) -> Estimate:
    """The statistic of the first sample, less that of the second if there is one."""
    items = [_checked(values) for values in samples]
    groups, count = _groups(items, clusters)
    fewest = min(map(len, items))
    if reason := _too_few(statistic, fewest, ITEMS_BEYOND):
        return Estimate(None, None, count, reason)
    for values in items:
        _check_columns(statistic, values)
    first, *second = [float(statistic(values)) for values in items]
    value = first - sum(second)
    if math.isnan(value):
        return Estimate(None, None, count, "undefined for these items")
    if count == 1:
        return Estimate(value, None, count, "no interval: one cluster cannot show how clusters differ")
    if reason := _too_few(statistic, fewest, ITEMS_BEYOND_FOR_INTERVAL):
        return Estimate(value, None, count, f"no interval: {reason}")
    drawn, *drawn_second = [
        _resampled(statistic, *sample, count, resamples, seed) for sample in zip(items, groups, strict=True)
    ]
    interval, reason = _percentile(drawn - sum(drawn_second), level)
    return Estimate(value, interval, count, reason)


def _resampled(
    statistic: Statistic, items: Floats, groups: batch.Groups, clusters: int, resamples: int, seed: int
) -> Floats:
    if isinstance(statistic, Quantile):
        return batch.bootstrap_quantiles(items, groups, clusters, statistic.q, resamples, seed)
    if statistic is mean:
        return batch.bootstrap_ratios(items, np.ones_like(items), groups, clusters, resamples, seed)
    if statistic is ratio_of_sums:
        return batch.bootstrap_ratios(items[:, 0], items[:, 1], groups, clusters, resamples, seed)
    return batch.bootstrap_statistic(statistic, items, groups, clusters, resamples, seed)


def _too_few(statistic: Statistic, n: int, beyond: int) -> str:
    needed = statistic.items_needed(beyond) if isinstance(statistic, Quantile) else 1
    if n >= needed:
        return ""
    return f"{statistic} needs {needed} items, got {n}" if n else "no items"


def _check_columns(statistic: Statistic, items: Floats) -> None:
    one_column = isinstance(statistic, Quantile) or statistic is mean
    if (one_column and items.ndim != 1) or (statistic is ratio_of_sums and items.shape[1:] != (2,)):
        shape = "(n,)" if one_column else "(n, 2)"
        raise InputError(f"values: expected {shape} for this statistic, got {items.shape}")


def _checked(values: npt.ArrayLike) -> Floats:
    items = np.asarray(values, dtype=np.float64)
    if items.ndim not in (1, 2):
        raise InputError(f"values: expected (n,) or (n, columns), got {items.shape}")
    if not np.isfinite(items).all():
        row = int(np.argwhere(~np.isfinite(items))[0, 0])
        raise InputError(f"values: expected finite numbers, got {items[row]} at item {row}")
    return items


def _groups(items: Sequence[Floats], clusters: Sequence[npt.ArrayLike]) -> tuple[list[batch.Groups], int]:
    """Each item's cluster as a number from 0, the same in all samples, and how many clusters there are."""
    ids = [np.asarray(sample) for sample in clusters]
    for values, sample in zip(items, ids, strict=True):
        if sample.shape != values.shape[:1]:
            raise InputError(f"clusters: expected an id for each of {len(values)} items, got shape {sample.shape}")
    names, numbers = np.unique(np.concatenate(ids), return_inverse=True)
    return np.split(numbers, np.cumsum([len(sample) for sample in ids])[:-1]), len(names)
