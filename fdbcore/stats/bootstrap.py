"""Intervals that a reader can trust: bootstrap by cluster, and no figure where n is too small.

Turns of one call resemble each other: resampled as if they were independent they give intervals that are far too
narrow. What is resampled here is the *cluster*, the top unit of the design: the call, the scenario, the speaker. With
few clusters a plain percentile interval is too narrow, too ("95 %" covers 86 % with five, 90 % with ten), and unequal
ones are worth fewer than they are; these are widened by Student's t for the number that they are worth. `python -m
benchmarks coverage` shows what they cover; below FEW_CLUSTERS that may be too little, and a table says so.
"""

from __future__ import annotations

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
"""With fewer, "95 %" may cover less than 92 %; also of a share, if its events come in fewer."""

ITEMS_BEYOND: Final = 5
ITEMS_BEYOND_FOR_INTERVAL: Final = 10

CLUSTERS_TO_TRUST_SAMENESS: Final = 100
"""From so many that all agree, that they agree is a finding; of fewer it says nothing on how clusters differ."""

ALL_THE_SAME: Final = "no interval: every resample gives the same value"
ONE_CLUSTER: Final = "no interval: one cluster cannot show how clusters differ"

_P_HALVINGS: Final = 24

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

    clusters: how many units were resampled. p: of a difference, one less the highest level whose interval leaves 0 out,
    so it is below 0.05 exactly where the 95 % interval does.
    """

    value: float | None
    interval: Interval | None
    clusters: int
    reason: str = ""
    p: float | None = None


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

    The percentiles are further out than the level says, as Student's t for k clusters is over the spread of a resample,
    which is too small by (k - 1) / k (the expanded percentile interval of Hesterberg 2015); k is how many clusters of
    one size these are worth, (sum n)^2 / sum n^2, n being a cluster's items, or what it adds to the lower of two sums.

    values: (n,), or (n, columns) with a row per item, finite. clusters: the id of each item's cluster. There is no
    interval for one cluster, for a tail of too few items, where the statistic is undefined in some resample, or where
    all resamples of fewer than CLUSTERS_TO_TRUST_SAMENESS agree (18 of 18: see `shares`). Raises InputError for values
    that are not finite or do not fit the clusters or the statistic.
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
    """`statistic` of A less that of B, with its interval; else as `bootstrap_ci`.

    paired: over the same clusters (scenarios): each resample draws the same ones for both. A and B may differ in items
    per cluster, and a cluster without items of one side counts for the other only. Otherwise they have no clusters in
    common: those of A and of B are drawn apart, and worth as many clusters as their variances make them (Satterthwaite
    1946). There is no interval where the few clusters of one side agree, either.
    """
    samples, clusters = [values_a, values_b], [clusters_a, clusters_b]
    return _estimate(samples, clusters, statistic, level, resamples, seed, independent=not paired)


def p_of_zero(interval: Callable[[float], Interval]) -> float:
    """See `Estimate`. interval: the limits at a level, never narrower for a higher one."""
    low, high = 0.0, 1.0
    for _ in range(_P_HALVINGS):
        level = (low + high) / 2
        limits = interval(level)
        low, high = (level, high) if limits.low > 0 or limits.high < 0 else (low, level)
    return 1 - low


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
    interval, reason = _expanded_percentile(resampled, items, items, level)
    return Estimate(value, interval, items, reason)


def _expanded_percentile(
    resampled: Floats, clusters: int, effective: float, level: float
) -> tuple[Interval | None, str]:
    """The interval between quantiles of resamples of so many clusters (see `bootstrap_ci`), or why there is none."""
    if undefined := int(np.isnan(resampled).sum()):
        return None, f"no interval: undefined in {undefined} of {len(resampled)} resamples"
    if _all_the_same(resampled, clusters):
        return None, ALL_THE_SAME
    return _between(np.sort(resampled), effective, level), ""


def _all_the_same(resampled: Floats, clusters: int) -> bool:
    """Whether so few clusters agree that their resamples say nothing on the spread."""
    return bool(clusters < CLUSTERS_TO_TRUST_SAMENESS and resampled.min() == resampled.max())


def _between(ascending: Floats, clusters: float, level: float) -> Interval:
    beyond = tail(clusters, level)
    return Interval(_quantile_of_sorted(ascending, beyond), _quantile_of_sorted(ascending, 1 - beyond))


def _quantile_of_sorted(ascending: Floats, q: float) -> float:
    """By NumPy's linear rule, without sorting again."""
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
    """The statistic of the first sample, less that of the second if there is one; `independent`: drawn apart."""
    items = [_checked(values) for values in samples]
    groups, counts = _groups_apart(items, clusters) if independent else _groups(items, clusters)
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
        _resampled(statistic, *sample, resamples, seed + independent * number)
        for number, sample in enumerate(zip(items, groups, counts, strict=True))
    ]
    for resampled, numbers in zip((drawn, *drawn_second), groups, strict=True):
        if _all_the_same(resampled, len(np.unique(numbers))):  # the other side alone would make the interval
            return Estimate(value, None, count, ALL_THE_SAME)
    differences = np.sort(drawn - sum(drawn_second))
    effective = _effective(statistic, items, groups, counts, (drawn, *drawn_second), independent)
    interval, reason = _expanded_percentile(differences, count, effective, level)
    p = max(p_of_zero(lambda at: _between(differences, effective, at)), 1 / resamples) if second and interval else None
    return Estimate(value, interval, count, reason, p)


def _effective(
    statistic: Statistic,
    samples: Sequence[Floats],
    groups: Sequence[batch.Groups],
    counts: Sequence[int],
    drawn: Sequence[Floats],
    independent: bool,
) -> float:
    """How many clusters of one size these are worth, by their items, or by what a ratio is over; those of two samples
    weigh by the variances of these (Satterthwaite 1946)."""
    variances = [float(np.var(resampled)) for resampled in drawn]
    parts = [np.zeros(0)] * len(samples)
    for number, (items, of, count) in enumerate(zip(samples, groups, counts, strict=True)):
        sizes = np.bincount(of, weights=items[:, 1] if statistic is ratio_of_sums else None, minlength=count)
        parts[number] = sizes / sizes.sum() * (variances[number] if any(variances) else 1.0)
    return effective_number(np.concatenate(parts) if independent else np.sum(parts, axis=0))


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
    """As `_groups`, with numbers and counts for each sample of its own."""
    apart = [_groups([values], [ids]) for values, ids in zip(items, clusters, strict=True)]
    return [groups for (groups,), _ in apart], [count for _, (count,) in apart]


def _groups(items: Sequence[Floats], clusters: Sequence[npt.ArrayLike]) -> tuple[list[batch.Groups], list[int]]:
    """Each item's cluster as a number from 0, the same in all samples; and for each sample how many there are."""
    ids = [np.asarray(sample) for sample in clusters]
    for values, sample in zip(items, ids, strict=True):
        if sample.shape != values.shape[:1]:
            raise InputError(f"clusters: expected an id for each of {len(values)} items, got shape {sample.shape}")
    names, numbers = np.unique(np.concatenate(ids), return_inverse=True)
    return np.split(numbers, np.cumsum([len(sample) for sample in ids])[:-1]), [len(names)] * len(items)
