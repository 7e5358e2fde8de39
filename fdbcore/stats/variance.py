"""Shares of each factor of a balanced design in the variance: an analysis of variance, all effects random.

The factors are crossed (each level of one meets each of the others). Cells may hold repetitions, and each of those
repetitions of its own. The components are the method-of-moments (ANOVA) estimates: mean squares are set to what is
expected of them (Searle, Casella and McCulloch 1992, Variance Components, ch. 4). One below 0 counts as 0 in shares.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import LEVEL, SEED, Estimate, Floats, expanded_percentile

REPEATED: Final = "repeated"
"""The component of repetitions within a cell."""
REST: Final = "rest"
"""The component of repetitions of a repetition."""
RESAMPLES: Final = 2000
_CELLS_PER_CHUNK: Final = 2**21
_NOTHING: Final = 1e-20  # of the mean square of the values: variances below it come of rounding


def components(values: npt.ArrayLike, factors: Sequence[str]) -> dict[str, float]:
    """The variance of each effect: of factors, of their interactions ("a x b"), and of repetitions.

    values: (levels of the first factor, ..., of the last, repetitions in a cell, repetitions of each), finite. A factor
    of one level has no component, nor have repetitions of which there is one. The result may be below 0. InputError for
    another shape.
    """
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != len(factors) + 2 or not np.isfinite(cells).all():
        form = f"{len(factors)} factors and 2 repetitions"
        raise InputError(f"values: expected finite numbers of {form}, got {cells.shape}")
    return {name: float(found[0]) for name, found in _components(cells[None], factors).items()}


def variance_shares(
    values: npt.ArrayLike,
    factors: Sequence[str],
    parts: Mapping[str, str],
    *,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """The share of each part in the sum of all components, with its bootstrap interval over the first factor's levels.

    values, factors: as for `components`. parts: the part that each component belongs to. The intervals are expanded
    percentile intervals (see `fdbcore.stats.bootstrap`). A share is None if nothing varies.
    """
    cells = np.asarray(values, dtype=np.float64)
    least = _NOTHING * float(np.mean(cells**2))
    found = _shares(_components(cells[None], factors), parts, least)
    n_levels = len(cells)
    drawn = np.random.Generator(np.random.PCG64(SEED)).integers(n_levels, size=(resamples, n_levels))
    step = max(1, _CELLS_PER_CHUNK // cells.size)
    chunks = [
        _shares(_components(cells[drawn[at : at + step]], factors), parts, least) for at in range(0, resamples, step)
    ]
    resampled = {part: np.concatenate([chunk[part] for chunk in chunks]) for part in found}
    return {part: _estimate(float(share[0]), resampled[part], n_levels) for part, share in found.items()}


def _estimate(share: float, resampled: Floats, n_levels: int) -> Estimate:
    if math.isnan(share):
        return Estimate(None, None, n_levels, "undefined: nothing varies")
    interval, reason = expanded_percentile(resampled, n_levels, n_levels, LEVEL)
    return Estimate(share, interval, n_levels, reason)


def _shares(found: Mapping[str, Floats], parts: Mapping[str, str], least: float) -> dict[str, Floats]:
    """By part, (resamples,); NaN where nothing varies. least: what is below it is no variance, but rounding."""
    sums: dict[str, Floats] = {}
    for name, variance in found.items():
        sums[parts[name]] = sums.get(parts[name], np.zeros_like(variance)) + np.where(variance > least, variance, 0.0)
    total = np.sum(list(sums.values()), axis=0)
    return {
        part: np.divide(own, total, out=np.full(total.shape, np.nan), where=total > 0) for part, own in sums.items()
    }


def _components(cells: Floats, factors: Sequence[str]) -> dict[str, Floats]:
    """Each (resamples,). cells: (resamples, factors..., repetitions in a cell, repetitions of each)."""
    *sizes, n_repeated, n_rest = cells.shape[1:]
    found: dict[str, Floats] = {}
    if n_rest > 1:
        found[REST] = cells.var(axis=-1, ddof=1).mean(axis=tuple(range(1, cells.ndim - 1)))
    of_repeated = cells.mean(axis=-1)
    within: Floats = found.get(REST, np.zeros(len(cells))) / n_rest  # of the mean of a repetition
    if n_repeated > 1:
        between = of_repeated.var(axis=-1, ddof=1).mean(axis=tuple(range(1, of_repeated.ndim - 1)))
        found[REPEATED], within = between - within, between
    means, within = of_repeated.mean(axis=-1), within / n_repeated  # of the mean of a cell
    solved: dict[frozenset[int], Floats] = {}
    for effect in _effects(sizes):
        others = math.prod(size for axis, size in enumerate(sizes) if axis not in effect)
        square = others * _square_of_deviations(means, effect) / math.prod(sizes[axis] - 1 for axis in effect)
        above = [
            variance * math.prod(size for axis, size in enumerate(sizes) if axis not in higher)
            for higher, variance in solved.items()
            if higher > effect
        ]
        solved[effect] = (square - within - np.sum(above, axis=0)) / others
    names = {effect: " x ".join(factors[axis] for axis in sorted(effect)) for effect in solved}
    return {**{names[effect]: variance for effect, variance in reversed(solved.items())}, **found}


def _effects(sizes: Sequence[int]) -> Iterator[frozenset[int]]:
    """The effects of factors with several levels, those of most factors first."""
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    for order in range(len(axes), 0, -1):
        yield from map(frozenset, combinations(axes, order))


def _square_of_deviations(means: Floats, effect: frozenset[int]) -> Floats:
    """The sum over its levels of what the effect adds to those of fewer factors, squared; (resamples,).

    means: (resamples, factors...), of the cells.
    """
    deviations = means.mean(axis=tuple(axis + 1 for axis in range(means.ndim - 1) if axis not in effect), keepdims=True)
    for axis in effect:
        deviations = deviations - deviations.mean(axis=axis + 1, keepdims=True)
    return np.asarray((deviations**2).sum(axis=tuple(range(1, means.ndim))))
