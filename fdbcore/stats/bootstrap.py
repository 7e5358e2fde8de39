"""Bootstrap confidence intervals by cluster, and no figure where n is too small.

Turns of one call resemble each other. Intervals that resample them as if they were independent are far too narrow.
This module resamples *clusters*, the top unit of the design: calls, scenarios or speakers. With few clusters, a plain
percentile interval is still too narrow: "95 %" covers 86 % with five clusters and 90 % with ten. Clusters of unequal
size count as fewer clusters of equal size. So intervals are widened by Student's t for that effective number. `python
-m benchmarks coverage` measures how often they cover the truth. Below FEW_CLUSTERS they may cover too little, and
tables say so. Above MOST_UNITS, blocks of clusters are resampled.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore._ext import batch
from fdbcore.errors import InputError
from fdbcore.stats.student import effective_number, tail

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
SEED: Final = 0
FEW_CLUSTERS: Final = 10
"""With fewer clusters, "95 %" may cover less than 92 %; so may a share whose events occur in fewer clusters."""

ITEMS_BEYOND: Final = 5
ITEMS_BEYOND_FOR_INTERVAL: Final = 10

CLUSTERS_TO_TRUST_SAMENESS: Final = 100
"""If at least this many clusters all agree, the interval is a point. If fewer agree, there is no interval: they do not
show how clusters differ."""

MOST_UNITS: Final = 20_000
BLOCKS: Final = 10_000
"""More clusters than MOST_UNITS are resampled in so many blocks: a resample takes as long as it has units. The width of
an interval then scatters by 0.7 % (the root of 1 / 2 BLOCKS), as it does from 10,000 resamples."""

ALL_ALIKE: Final = "no interval: all clusters have the same value"
ONE_CLUSTER: Final = "no interval: one cluster cannot show how clusters differ"

_P_HALVINGS: Final = 24
_ROUNDING: Final = 1e-12
"""The part of their size by which resamples of the same value may differ."""

Floats: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], float]
"""A function of the values of the items: (n,), or (n, columns) with one row per item. Compiled kernels resample `mean`,
`ratio_of_sums` and `Quantile`; any other function is called once per resample."""


class Interval(NamedTuple):
    """The lower and upper limit of a confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its interval. Either is None if it cannot be computed; `reason` then says why.

    clusters: how many units were resampled. p: of a difference, 1 minus the highest level whose interval excludes 0; so
    p < 0.05 exactly if the 95 % interval excludes 0.
    """

    value: float | None
    interval: Interval | None
    clusters: int
    reason: str = ""
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Quantile:
    """The statistic "quantile q" (0 < q < 1) by NumPy's linear rule.

    A quantile outside 0.1 to 0.9 needs at least five items beyond it, and its interval ten: p95 needs n = 100, its
    interval n = 200. With fewer items it is hardly more than the largest value, and its interval covers much less than
    its level. Raises InputError if q is not between 0 and 1.
    """

    q: float

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise InputError(f"quantile: expected a number between 0 and 1, got {self.q}")

    def __call__(self, values: Floats) -> float:
        """The quantile of values (n,), also if there are too few of them."""
        return float(np.quantile(values, self.q))

    def __str__(self) -> str:
        return f"p{100 * self.q:g}"

    def items_needed(self, beyond: int) -> int:
        """The smallest n with `beyond` items beyond the quantile, if it lies outside 0.1 to 0.9; otherwise 1."""
        tail = round(min(self.q, 1 - self.q), 9)
        return 1 if tail >= 0.1 else math.ceil(round(beyond / tail, 6))


MEDIAN: Final = Quantile(0.5)


def mean(values: Floats) -> float:
    """The mean of the items (n,). For booleans it is a share: `mean(latencies_ms <= 800)` is the share within 0.8 s."""
    return float(np.mean(values))


def ratio_of_sums(values: Floats) -> float:
    """Sum of column 0 / sum of column 1 of (n, 2), such as events / minutes with one row per call; NaN for x / 0."""
    numerator, denominator = np.sum(values, axis=0)
    return float(numerator / denominator) if denominator else math.nan


def quantile(values: npt.ArrayLike, q: float) -> float | None:
    """Quantile q of the items; None if there are too few of them (see `Quantile`). Raises InputError for a bad q."""
    items, statistic = _checked(values), Quantile(q)
    return statistic(items) if len(items) >= statistic.items_needed(ITEMS_BEYOND) else None


def bootstrap_ci(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    statistic: Statistic = mean,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """`statistic` of the items, with its percentile bootstrap interval by cluster. The seed determines the interval.

    It is the expanded percentile interval of Hesterberg (2015): its percentiles lie further out than the level says,
    because Student's t for k clusters is wider than the normal distribution, and because the variance over resamples is
    too small by (k - 1) / k. k is the effective number of clusters, (sum n)^2 / sum n^2. n is the number of items of a
    cluster, or for `ratio_of_sums` what the cluster adds to the denominator.

    values: (n,), or (n, columns) with one row per item; finite. clusters: (n,), the id of each item's cluster. There is
    no interval for one cluster, for a tail quantile of too few items, if the statistic is undefined in some resample,
    or if all resamples of fewer than CLUSTERS_TO_TRUST_SAMENESS clusters agree (for 18 of 18 see `shares`). The order
    of the items changes nothing. Raises InputError for values that are not finite or do not fit the clusters or the
    statistic.
    """
    return _estimate([values], [clusters], statistic, level, resamples, seed)


def difference_ci(
    values_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    statistic: Statistic = mean,
    *,
    paired: bool,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """`statistic` of A minus that of B, with its interval; otherwise like `bootstrap_ci`.

    paired: A and B share their clusters (such as scenarios), and each resample draws the same clusters for both. A and
    B may have different numbers of items per cluster; a cluster without items of one side counts for the other side
    only. Not paired: A and B have no clusters in common, are resampled independently, and their effective number of
    clusters weighs both by their variances (Satterthwaite 1946). There is also no interval if the few clusters of one
    side agree.
    """
    samples, clusters = [values_a, values_b], [clusters_a, clusters_b]
    return _estimate(samples, clusters, statistic, level, resamples, seed, independent=not paired)


def p_of_zero(interval: Callable[[float], Interval]) -> float:
    """The p value of `Estimate`. interval: gives the limits at a level in (0, 1); a higher level is never narrower."""
    low, high = 0.0, 1.0
    for _ in range(_P_HALVINGS):
        level = (low + high) / 2
        limits = interval(level)
        low, high = (level, high) if limits.low > 0 or limits.high < 0 else (low, level)
    return 1 - low


def bootstrap_columns(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Estimate]:
    """The mean of each column with its percentile bootstrap interval, all columns from the same resamples.

    values: (items, columns), or (items, repeats, columns) if each item was measured several times. clusters: (items,),
    the id of each item's cluster; None: each item is one. A resample draws clusters, and one repeat of each drawn
    cluster, so that the interval includes the spread over repeats. NaN means not measured: the mean is over the
    measured cells, and `Estimate.clusters` counts the clusters that have any. A column of paired differences gives the
    interval of the difference. There is no interval for one cluster, nor where `bootstrap_ci` has none. Clusters in
    another order of their ids give other resamples, and so do items without ids: pass them by the order of their names.
    Raises InputError for another shape and for infinite values.
    """
    cells = repeated_cells("values", values)
    (groups,), (count,) = _groups([cells], [np.arange(len(cells)) if clusters is None else clusters])
    resampled = batch.bootstrap_columns(cells, groups, count, resamples, seed)
    return [_column_estimate(cells[..., k], groups, resampled[:, k]) for k in range(cells.shape[2])]


def repeated_cells(what: str, values: npt.ArrayLike) -> Floats:
    """Values (items, columns), or with repeats, as (items, repeats, columns). InputError for others, and for infinity.

    what: they are, for the message.
    """
    cells = np.asarray(values, dtype=np.float64)
    cells = cells[:, None] if cells.ndim == 2 else cells
    if cells.ndim != 3 or not cells.shape[1] or np.isinf(cells).any():
        raise InputError(f"{what}: expected finite numbers (items, columns), or with repeats, got {cells.shape}")
    return cells


def bootstrap_times(
    statistic: Callable[[Floats], Floats], units: int, *, sizes: npt.ArrayLike | None = None
) -> Estimate:
    """A statistic of units with its percentile bootstrap interval; for one that is slow to compute once a resample.

    statistic: takes how often each resample has each unit, (k, units), and returns its value in each, (k,); NaN where
    it is undefined. sizes: (units,), how many items each unit has, which decide the effective number of units; None: as
    many each. There is no interval where `bootstrap_ci` has none. Pass units by the order of their names, as to
    `bootstrap_columns`.
    """
    if not units:
        return Estimate(None, None, 0, "no items")
    value = float(statistic(np.ones((1, units)))[0])
    if math.isnan(value):
        return Estimate(None, None, units, "undefined for these items")
    if units == 1:
        return Estimate(value, None, units, ONE_CLUSTER)
    effective = units if sizes is None else effective_number(np.asarray(sizes))
    resampled = batch.bootstrap_times(statistic, units, RESAMPLES, SEED)
    interval, reason = expanded_percentile(resampled, units, effective, LEVEL)
    return Estimate(value, interval, units, reason)


def _column_estimate(column: Floats, groups: batch.Groups, resampled: Floats) -> Estimate:
    """The estimate of one column (items, repeats) of these clusters from the means of its resamples (resamples,)."""
    sizes = np.bincount(groups[(~np.isnan(column)).any(axis=1)])
    clusters = int(np.count_nonzero(sizes))
    if not clusters:
        return Estimate(None, None, 0, "no items")
    value = float(np.nanmean(column))
    if clusters == 1:
        return Estimate(value, None, 1, ONE_CLUSTER)
    interval, reason = expanded_percentile(resampled, clusters, effective_number(sizes), LEVEL)
    return Estimate(value, interval, clusters, reason)


def expanded_percentile(
    resampled: Floats, clusters: int, effective: float, level: float
) -> tuple[Interval | None, str]:
    """The interval from the resamples of `clusters` clusters, which count as `effective`; or why there is none."""
    if undefined := int(np.isnan(resampled).sum()):
        return None, f"no interval: undefined in {undefined} of {len(resampled)} resamples"
    if _all_the_same(resampled, clusters):
        return None, ALL_ALIKE
    return expanded_limits(np.sort(resampled), effective, level), ""


def _all_the_same(resampled: Floats, clusters: int) -> bool:
    """True if all resamples agree but for rounding, of so few clusters that this does not show how clusters differ."""
    return bool(clusters < CLUSTERS_TO_TRUST_SAMENESS and np.ptp(resampled) <= _ROUNDING * np.abs(resampled).max())


def expanded_limits(ascending: Floats, clusters: float, level: float) -> Interval:
    """The expanded percentile interval of sorted resamples (resamples,), of so many effective clusters."""
    beyond = tail(clusters, level)
    return Interval(_quantile_of_sorted(ascending, beyond), _quantile_of_sorted(ascending, 1 - beyond))


def _quantile_of_sorted(ascending: Floats, q: float) -> float:
    """Quantile q by NumPy's linear rule, without sorting again."""
    position = (len(ascending) - 1) * q
    below = min(int(position), len(ascending) - 2)
    return float(ascending[below] + (ascending[below + 1] - ascending[below]) * (position - below))


def _estimate(
    samples: Sequence[npt.ArrayLike],
    clusters: Sequence[npt.ArrayLike],
    statistic: Statistic,
    level: float,
    resamples: int,
    seed: int,
    independent: bool = False,
) -> Estimate:
    """The statistic of the first sample, minus that of the second if there is one.

    independent: the two samples have no clusters in common and are resampled independently.
    """
    given = [_checked(values) for values in samples]
    numbers, counts = _groups_apart(given, clusters) if independent else _groups(given, clusters)
    orders = [np.lexsort((*np.atleast_2d(values.T), own)) for values, own in zip(given, numbers, strict=True)]
    items = [values[order] for values, order in zip(given, orders, strict=True)]  # so that sums round alike
    groups = [own[order] for own, order in zip(numbers, orders, strict=True)]
    count = min(counts)
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
        return Estimate(value, None, count, ONE_CLUSTER)
    if reason := _too_few(statistic, fewest, ITEMS_BEYOND_FOR_INTERVAL):
        return Estimate(value, None, count, f"no interval: {reason}")
    drawn, *drawn_second = [
        _resampled(statistic, values, *_units(own, clusters), resamples, seed + independent * number)
        for number, (values, own, clusters) in enumerate(zip(items, groups, counts, strict=True))
    ]
    for resampled, own in zip((drawn, *drawn_second), groups, strict=True):
        if _all_the_same(resampled, len(np.unique(own))):  # the interval would show the other side alone
            return Estimate(value, None, count, ALL_ALIKE)
    differences = np.sort(drawn - sum(drawn_second))
    effective = _effective_clusters(statistic, items, groups, counts, (drawn, *drawn_second), independent)
    interval, reason = expanded_percentile(differences, count, effective, level)
    p = (
        max(p_of_zero(lambda at: expanded_limits(differences, effective, at)), 1 / resamples)
        if second and interval
        else None
    )
    return Estimate(value, interval, count, reason, p)


def _effective_clusters(
    statistic: Statistic,
    samples: Sequence[Floats],
    groups: Sequence[batch.Groups],
    counts: Sequence[int],
    drawn: Sequence[Floats],
    independent: bool,
) -> float:
    """The effective number of clusters, by their items, or for a ratio by its denominator.

    Two samples weigh by the variances of their resamples (Satterthwaite 1946).
    """
    variances = [float(np.var(resampled)) for resampled in drawn]
    parts = [np.zeros(0)] * len(samples)
    for number, (items, clusters, count) in enumerate(zip(samples, groups, counts, strict=True)):
        sizes = np.bincount(clusters, weights=items[:, 1] if statistic is ratio_of_sums else None, minlength=count)
        parts[number] = sizes / sizes.sum() * (variances[number] if any(variances) else 1.0)
    return effective_number(np.concatenate(parts) if independent else np.sum(parts, axis=0))


def _units(groups: batch.Groups, clusters: int) -> tuple[batch.Groups, int]:
    """The units that resamples draw, for each item, and how many there are: clusters, or blocks of very many.

    Blocks are made at random, of as many clusters each, so their means vary as those of clusters do (the method of
    random groups: Wolter, Introduction to Variance Estimation, 2007, chapter 2). Samples with the same clusters have
    the same blocks.
    """
    if clusters <= MOST_UNITS:
        return groups, clusters
    blocks = np.random.Generator(np.random.PCG64(SEED)).permutation(clusters) * BLOCKS // clusters
    return blocks[groups], BLOCKS


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


def _groups_apart(items: Sequence[Floats], clusters: Sequence[npt.ArrayLike]) -> tuple[list[batch.Groups], list[int]]:
    """Like `_groups`, but each sample numbers its clusters independently."""
    apart = [_groups([values], [ids]) for values, ids in zip(items, clusters, strict=True)]
    return [groups for (groups,), _ in apart], [count for _, (count,) in apart]


def _groups(items: Sequence[Floats], clusters: Sequence[npt.ArrayLike]) -> tuple[list[batch.Groups], list[int]]:
    """The cluster of each item as a number from 0, shared by all samples; and per sample the number of clusters."""
    ids = [np.asarray(sample) for sample in clusters]
    for values, sample in zip(items, ids, strict=True):
        if sample.shape != values.shape[:1]:
            raise InputError(f"clusters: expected an id for each of {len(values)} items, got shape {sample.shape}")
    names, numbers = np.unique(np.concatenate(ids), return_inverse=True)
    return np.split(numbers, np.cumsum([len(sample) for sample in ids])[:-1]), [len(names)] * len(items)
