"""Tests of differences between systems: permutation p values, their correction, and the power of n items."""

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED, Floats, Quantile, Statistic
from fdbcore.stats.student import t_quantile

POWER: Final = 0.8
FEWEST_ITEMS: Final = 4
"""With fewer paired differences nothing is said to be detectable."""
EXACT_ITEMS: Final = 16
"""Up to this many differences that are not 0, the test tries all combinations of signs: 65,536."""

Bools: TypeAlias = npt.NDArray[np.bool_]

_FLIPS_PER_CHUNK: Final = 2**18
_LEAST_ROWS: Final = 64
"""Fewer rows still have chunks for so many: what a chunk gives has a place for each column."""
# As a part of the sum of all absolute differences: sums in another order differ by rounding, and count as equal.
_TOLERANCE: Final = 1e-9


def sign_flip_p(
    differences: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, flips: int = RESAMPLES, seed: int = SEED
) -> list[float | None]:
    """Per column, the two-sided p value of a mean of 0, by flipping the signs of paired differences.

    differences: (items, columns), NaN where an item has none; all columns get the same flips. clusters: (items,), the
    id of each item's cluster, whose signs flip together; None: each item is one. With up to EXACT_ITEMS clusters whose
    sum is not 0 the test is exact. Otherwise p is the share of `flips` random sign flips, plus the observed signs,
    whose mean is as far from 0; so it is never 0 (Phipson and Smyth 2010). Clusters in another order of their ids get
    other flips, and so do items without ids: pass them by the order of their names. None for a column without items.
    Raises InputError for another shape and for infinite values.
    """
    given = _checked(differences)
    columns = cluster_sums(np.nan_to_num(given), clusters)
    counts = np.count_nonzero(columns, axis=0)
    sampled = _sampled_p(columns, flips, seed) if (counts > EXACT_ITEMS).any() else counts
    return [
        None if np.isnan(given[:, k]).all() else _exact_p(columns[:, k]) if count <= EXACT_ITEMS else float(sampled[k])
        for k, count in enumerate(counts)
    ]


def gatekeeper_p(
    differences: npt.ArrayLike,
    gates: Sequence[int],
    clusters: npt.ArrayLike | None = None,
    *,
    level: float = LEVEL,
    flips: int = RESAMPLES,
    seed: int = SEED,
) -> list[float | None]:
    """Per column, the p value of a mean of 0, corrected for all columns; some of them are tested only after another.

    differences, clusters: as in `sign_flip_p`. gates: for each column the number of the one that has to differ before
    it is tested; its own number if it is itself such a gate. Two means differ if p is below 1 - level; the probability
    that this is said of any column whose mean is 0 is at most that. None: not tested, or without items.

    All columns flip together, so it takes no more clusters to tell one of many differences than to tell one alone. p of
    a gate is the share of flips in which any gate is as far from 0 (single-step max T: Westfall and Young 1993,
    Resampling-Based Multiple Testing), each by the root of the sum of its squared cluster sums, which no flip changes.
    The other columns are tested likewise, all together, at what the gates leave of 1 - level, and their p is raised by
    as much: of it is spent the share of flips in which a gate that does not differ would have been said to
    (Dmitrienko, Tamhane and Wiens 2008, General Multistage Gatekeeping Procedures). It takes for granted that the
    differences of a cluster whose means are 0 are as likely to have all signs reversed.
    """
    given, gate_of = _checked(differences), np.asarray(gates, dtype=np.intp)
    values = np.nan_to_num(given)
    sums = cluster_sums(values, clusters)
    sums[np.abs(sums) <= _TOLERANCE * cluster_sums(np.abs(values), clusters)] = 0.0
    lengths = np.sqrt((sums**2).sum(axis=0))
    columns = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)[sums.any(axis=1)]
    observed, is_gate, limit = np.abs(columns.sum(axis=0)), gate_of == np.arange(len(gate_of)), 1 - level
    of_gates = _highest(columns[:, is_gate], flips, seed)
    p = _share_as_high(of_gates, observed)
    undecided = _highest(columns[:, is_gate & (p >= limit)], flips, seed)
    spent = np.mean(_share_as_high(of_gates, undecided) < limit) / limit
    left = max(1 - float(spent), _TOLERANCE)
    later = _share_as_high(_highest(columns[:, ~is_gate], flips, seed), observed) / left
    p = np.where(is_gate, p, np.where(p[gate_of] < limit, np.minimum(later, 1.0), np.nan))
    p[np.isnan(given).all(axis=0)] = np.nan
    return [None if np.isnan(each) else float(each) for each in p]


def _highest(columns: Floats, flips: int, seed: int) -> Floats:
    """Of each flip of the rows' signs the sum farthest from 0 of all columns; of so many rows always the same flips.

    These are all that there are of up to EXACT_ITEMS rows; of more the observed signs, then random ones.
    """
    rows = len(columns)
    generator = np.random.Generator(np.random.PCG64(seed))
    count = 2**rows if rows <= EXACT_ITEMS else flips + 1
    step = max(1, _FLIPS_PER_CHUNK // max(rows, _LEAST_ROWS))
    found = np.zeros(count)
    for first in range(0, count, step):
        flip = np.arange(first, min(first + step, count))
        if rows <= EXACT_ITEMS:
            flipped = (flip[:, None] >> np.arange(rows)) & 1
        else:
            flipped = generator.integers(2, size=(len(flip), rows), dtype=np.int8) * (flip > 0)[:, None]
        found[flip] = np.abs((1.0 - 2.0 * flipped) @ columns).max(axis=1, initial=0.0)
    return found


def _share_as_high(highest: Floats, heights: Floats) -> Floats:
    """The share of the flips in which the highest sum is at least each of these heights."""
    return 1 - np.searchsorted(np.sort(highest), heights - _TOLERANCE) / len(highest)


def _checked(differences: npt.ArrayLike) -> Floats:
    given = np.asarray(differences, dtype=np.float64)
    if given.ndim != 2 or np.isinf(given).any():
        raise InputError(f"differences: expected finite numbers (items, columns), got {given.shape}")
    return given


def cluster_sums(values: Floats, clusters: npt.ArrayLike | None) -> Floats:
    """The sums of (items, columns) by cluster, in the order of the ids; the values themselves without clusters."""
    if clusters is None:
        return values
    names, numbers = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def pairs_needed(level: float = LEVEL) -> int:
    """The fewest pairs whose sign flips can give p < 1 - level: of n pairs p is 2 / 2**n or more, so 6 for 0.05."""
    return math.floor(math.log2(2 / (1 - level)) + 1e-9) + 1


def _exact_p(column: Floats) -> float:
    values = column[column != 0]
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(_as_far(sums, values)))


def _sampled_p(columns: Floats, flips: int, seed: int) -> Floats:
    generator = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _FLIPS_PER_CHUNK // len(columns))
    hits = np.ones(columns.shape[1])
    for first in range(0, flips, step):
        size = (min(step, flips - first), len(columns))
        signs = generator.integers(2, size=size, dtype=np.int8) * 2.0 - 1.0
        hits += _as_far(signs @ columns, columns).sum(axis=0)
    return hits / (flips + 1)


def _as_far(sums: Floats, values: Floats) -> npt.NDArray[np.bool_]:
    """True where each of `sums` is at least as far from 0 as the sum of `values`."""
    slack = _TOLERANCE * np.abs(values).sum(axis=0)
    return np.asarray(np.abs(sums) >= np.abs(values.sum(axis=0)) - slack)


def permutation_p(
    values_a: npt.ArrayLike,
    clusters_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    clusters_b: npt.ArrayLike,
    statistic: Statistic,
) -> float:
    """The two-sided p value that `statistic` is the same for A and B, by dealing their clusters to both sides anew.

    Chance exchanges the sides of each cluster that A and B share, and deals the other clusters so that each side keeps
    its number (Good 2005, Permutation, Parametric and Bootstrap Tests of Hypotheses). It needs no spread on either
    side, such as where one side has no event at all. p is the share of random deals, plus the observed one, whose
    difference is as large; a deal that leaves the statistic of a side undefined counts as one.

    statistic: `mean`, `ratio_of_sums` or a `Quantile`. values_a, values_b: (n,), or (n, 2) for `ratio_of_sums`.
    clusters_a, clusters_b: (n,), the id of each item's cluster. Each side needs items.
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (values_a, values_b))
    ids, numbers = np.unique(
        np.concatenate([np.asarray(clusters_a, np.str_), np.asarray(clusters_b, np.str_)]), return_inverse=True
    )
    in_a, in_b = (np.bincount(of, minlength=len(ids)) > 0 for of in np.split(numbers, [len(a)]))
    pooled, is_a = np.concatenate([a, b]), np.arange(len(a) + len(b)) < len(a)
    observed = abs(statistic(a) - statistic(b))
    least = observed - _TOLERANCE * max(observed, 1.0)
    generator, hits = np.random.Generator(np.random.PCG64(SEED)), 1
    step = max(1, _FLIPS_PER_CHUNK // len(pooled))
    for first in range(0, RESAMPLES, step):
        moved = _deals(in_a, in_b, min(step, RESAMPLES - first), generator)
        to_a = moved[:, numbers] ^ is_a
        apart = np.abs(_of_each(pooled, to_a, statistic) - _of_each(pooled, ~to_a, statistic))
        hits += int((np.isnan(apart) | (apart >= least)).sum())
    return hits / (RESAMPLES + 1)


def _deals(in_a: Bools, in_b: Bools, count: int, generator: np.random.Generator) -> Bools:
    """Clusters that change sides in each of `count` random deals, (count, k). in_a, in_b: (k,), who has a cluster."""
    shared = in_a & in_b
    moved = np.zeros((count, len(in_a)), np.bool_)
    moved[:, shared] = generator.integers(2, size=(count, int(shared.sum())), dtype=np.int8).astype(np.bool_)
    alone = np.flatnonzero(~shared)
    dealt_to_a = generator.permuted(np.tile(in_a[alone], (count, 1)), axis=1)
    moved[:, alone] = dealt_to_a ^ in_a[alone]
    return moved


def _of_each(values: Floats, chosen: Bools, statistic: Statistic) -> Floats:
    """The statistic of the chosen items in each deal; NaN without items. values: (n,) or (n, 2). chosen: (deals, n)."""
    if isinstance(statistic, Quantile):
        return _quantile_of_each(values, chosen, statistic.q)
    rows = values if values.ndim == 2 else np.column_stack([values, np.ones_like(values)])
    sums = chosen.astype(np.float64) @ rows
    ratios: Floats = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    return ratios


def _quantile_of_each(values: Floats, chosen: Bools, q: float) -> Floats:
    """Quantile q by NumPy's linear rule, as in `_of_each`."""
    ordered, counts = np.sort(np.where(chosen, values, np.inf), axis=1), chosen.sum(axis=1)
    position = np.maximum(counts - 1, 0) * q
    below = position.astype(np.intp)
    deals = np.arange(len(ordered))
    low = ordered[deals, below]
    high = ordered[deals, np.minimum(below + 1, np.maximum(counts - 1, 0))]
    return np.where(counts > 0, low + (high - low) * (position - below), np.nan)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of one family, corrected for their number (Holm 1979), in the given order, each at most 1.

    If no difference is real, the probability that any corrected p value is below a level is at most that level.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, k in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = largest
    return corrected


def spread_of(differences: npt.ArrayLike) -> float | None:
    """The standard deviation (n - 1) of paired differences (n,); 0 if they differ by rounding alone, None for n < 2."""
    values = np.asarray(differences, dtype=np.float64)
    if len(values) < 2:
        return None
    is_alike = np.ptp(values) <= _TOLERANCE * np.abs(values).max()
    return 0.0 if is_alike else float(np.std(values, ddof=1))


def detectable_difference(sd: float | None, n: int) -> float | None:
    """The smallest true mean of n paired differences that a two-sided t test at LEVEL finds with POWER.

    sd: the standard deviation of the differences, as `spread_of` has it; the result is in the same unit. It is
    (t[(1 + LEVEL) / 2] + t[POWER]) * sd / sqrt(n), with n - 1 degrees of freedom. None for n < FEWEST_ITEMS, where this
    approximation is poor, and for an sd of 0: differences that are all the same do not show how far others spread.
    """
    if not sd or n < FEWEST_ITEMS:
        return None
    return (t_quantile((1 + LEVEL) / 2, n - 1) + t_quantile(POWER, n - 1)) * sd / math.sqrt(n)


def items_needed(sd: float, difference: float) -> int:
    """The smallest n for which `detectable_difference` is at most `difference` (above 0, in the unit of `sd`)."""
    quantiles = t_quantile((1 + LEVEL) / 2, math.inf) + t_quantile(POWER, math.inf)
    n = max(FEWEST_ITEMS, math.floor((quantiles * sd / difference) ** 2))
    while (detectable_difference(sd, n) or 0) > difference:
        n += 1
    return n
