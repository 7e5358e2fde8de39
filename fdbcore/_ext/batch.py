"""Bootstrap resampling, compiled by Numba on first use and stored in its cache.

By cluster: a resample draws as many clusters as there are, with replacement, and takes all items of each drawn cluster.
By columns: a resample draws as many cells as there are clusters; a cell is a cluster and one of its repeats. All draws
come from one stream of NumPy's PCG64, so a seed fixes every result. The same seed draws the same clusters for any
statistic, so the difference of two results is paired. Importing this module does not import Numba.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Groups: TypeAlias = npt.NDArray[np.intp]
Draws: TypeAlias = npt.NDArray[np.int32]

_SPREADS: Final = 6.0  # spreads of the place of a quantile above the item where its resamples begin
DRAWS_PER_CHUNK: Final = 2**18  # 1 MB: stays in the second-level cache between drawing and using


def bootstrap_ratios(
    numerators: Floats, denominators: Floats, groups: Groups, clusters: int, resamples: int, seed: int
) -> Floats:
    """The sum of numerators / the sum of denominators in each resample, (resamples,); NaN if the denominators sum to 0.

    numerators, denominators: (n,), one per item; with denominators of 1 the result is the mean. groups: the cluster of
    each item, 0 to clusters - 1.
    """
    sums = [np.bincount(groups, weights=values, minlength=clusters) for values in (numerators, denominators)]
    ratios = _kernels().ratios
    return _over_draws(lambda draws, out: ratios(draws, *sums, out), clusters, clusters, np.empty(resamples), seed)


def bootstrap_quantiles(values: Floats, groups: Groups, clusters: int, q: float, resamples: int, seed: int) -> Floats:
    """Quantile q of the items (NumPy's linear rule) in each resample, (resamples,); NaN for a resample without items.

    values: (n,), finite. groups: the cluster of each item, 0 to clusters - 1; a cluster may have no items.
    """
    order = np.argsort(values, kind="stable")
    ascending, owners = np.ascontiguousarray(values[order]), groups[order].astype(np.int32)
    sizes = np.bincount(groups, minlength=clusters)
    first = _first_needed(owners, sizes, q)
    passed = np.bincount(owners[:first], minlength=clusters)
    counts = np.ascontiguousarray(np.stack([sizes, passed], axis=1).astype(np.int64))
    quantiles, out = _kernels().quantiles, np.empty(resamples)
    return _over_draws(
        lambda draws, out: quantiles(draws, ascending, owners, counts, first, q, out), clusters, clusters, out, seed
    )


def _first_needed(owners: Draws, sizes: Groups, q: float) -> int:
    """An item, by its place in ascending order, below which quantile q of hardly any resample lies.

    The place of the quantile moves, from resample to resample, by the root of the summed squares of what each cluster
    has below it beyond its share.
    """
    middle = int(q * len(owners))
    beyond = np.bincount(owners[:middle], minlength=len(sizes)) - q * sizes
    return max(0, int(middle - _SPREADS * np.sqrt(np.square(beyond).sum())) - 1)


def bootstrap_columns(values: Floats, groups: Groups, clusters: int, resamples: int, seed: int) -> Floats:
    """The mean of each column in each resample, (resamples, columns); NaN if a resample has no value of a column.

    values: (items, repeats, columns); NaN marks a missing value. groups: the cluster of each item, 0 to clusters - 1.
    Each resample draws as many cells (the items of a cluster in one of their repeats) as there are clusters, the same
    for all columns.
    """
    _, repeats, columns = values.shape
    present = ~np.isnan(values)
    sums, counts = np.zeros((2, clusters, repeats, columns))
    np.add.at(sums, groups, np.where(present, values, 0.0))
    np.add.at(counts, groups, present)
    cells, counted = sums.reshape(-1, columns), counts.reshape(-1, columns)
    means, out = _kernels().columns, np.empty((resamples, columns))
    return _over_draws(lambda draws, out: means(draws, cells, counted, out), len(cells), clusters, out, seed)


def bootstrap_statistic(
    statistic: Callable[[Floats], float], values: Floats, groups: Groups, clusters: int, resamples: int, seed: int
) -> Floats:
    """`statistic` of the items in each resample, (resamples,).

    statistic: any Python function; it is called once per resample. values: (n,) or (n, columns), a row per item.
    groups: the cluster of each item, 0 to clusters - 1. A resample without items gives NaN; `statistic` is not called.
    """
    order = np.argsort(groups, kind="stable")
    rows, sizes = values[order], np.bincount(groups, minlength=clusters)
    starts = np.cumsum(sizes) - sizes

    def work(draws: Draws, out: Floats) -> None:
        for resample, drawn in enumerate(draws):
            lengths = sizes[drawn]
            shifts = starts[drawn] - (np.cumsum(lengths) - lengths)
            taken = np.repeat(shifts, lengths) + np.arange(lengths.sum())
            out[resample] = statistic(rows[taken]) if len(taken) else np.nan

    return _over_draws(work, clusters, clusters, np.empty(resamples), seed)


def bootstrap_times(statistic: Callable[[Floats], Floats], units: int, resamples: int, seed: int) -> Floats:
    """`statistic` in each resample of units, (resamples,).

    statistic: takes how often each resample has each unit, (k, units), and returns (k,).
    """

    def work(draws: Draws, out: Floats) -> None:
        places = draws + units * np.arange(len(draws))[:, None]
        times = np.bincount(places.ravel(), minlength=draws.size).reshape(draws.shape)
        out[:] = statistic(times.astype(np.float64))

    return _over_draws(work, units, units, np.empty(resamples), seed)


def _over_draws(work: Callable[[Draws, Floats], None], units: int, drawn: int, out: Floats, seed: int) -> Floats:
    """Fill `out`, which has a row per resample, chunk by chunk with `work(draws, rows)`, and return it.

    draws: int32 (k, drawn), numbers of units from 0 to units - 1. rows: the k rows of `out` for these draws.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    step = max(1, DRAWS_PER_CHUNK // drawn)
    for first in range(0, len(out), step):
        chunk = out[first : first + step]
        work(generator.integers(units, size=(len(chunk), drawn), dtype=np.int32), chunk)
    return out


def _ratios(draws: Draws, numerators: Floats, denominators: Floats, out: Floats) -> None:
    for resample in range(draws.shape[0]):
        numerator = denominator = 0.0
        for i in range(draws.shape[1]):
            numerator += numerators[draws[resample, i]]
            denominator += denominators[draws[resample, i]]
        out[resample] = numerator / denominator if denominator != 0.0 else np.nan


def _quantiles(draws: Draws, values: Floats, owners: Draws, counts: Groups, first: int, q: float, out: Floats) -> None:
    # The items are sorted once. A resample walks over them and counts each as often as its cluster was drawn. It begins
    # at item `first`, since each cluster has counts[:, 0] items, and counts[:, 1] before that one; or else at item 0.
    times = np.empty(draws.shape[1], dtype=np.int32)
    for resample in range(draws.shape[0]):
        times[:] = 0
        count = passed = 0
        for i in range(draws.shape[1]):
            drawn = draws[resample, i]
            times[drawn] += 1
            count += counts[drawn, 0]
            passed += counts[drawn, 1]
        if count == 0:
            out[resample] = np.nan
            continue
        position = (count - 1) * q
        below = int(position)
        fraction = position - below
        item = first
        if passed > below:
            passed = item = 0
        while passed <= below:
            passed += times[owners[item]]
            item += 1
        low = high = values[item - 1]
        if fraction > 0.0:
            while passed <= below + 1:
                passed += times[owners[item]]
                item += 1
            high = values[item - 1]
        # NumPy's own interpolation, from the nearer end
        step = high - low
        out[resample] = high - step * (1.0 - fraction) if fraction >= 0.5 else low + step * fraction


def _columns(draws: Draws, cells: Floats, counted: Floats, out: Floats) -> None:
    # The sums of different columns are independent, so they are vectorised without changing the order of additions.
    times = np.empty(cells.shape[0], dtype=np.float64)
    sums = np.empty(cells.shape[1], dtype=np.float64)
    counts = np.empty(cells.shape[1], dtype=np.float64)
    for resample in range(draws.shape[0]):
        times[:] = 0.0
        for i in range(draws.shape[1]):
            times[draws[resample, i]] += 1.0
        sums[:] = 0.0
        counts[:] = 0.0
        for cell in range(cells.shape[0]):
            if times[cell] > 0.0:
                for column in range(cells.shape[1]):
                    sums[column] += times[cell] * cells[cell, column]
                    counts[column] += times[cell] * counted[cell, column]
        for column in range(cells.shape[1]):
            out[resample, column] = sums[column] / counts[column] if counts[column] > 0.0 else np.nan


class _Kernels(NamedTuple):
    ratios: Callable[..., None]
    quantiles: Callable[..., None]
    columns: Callable[..., None]


@cache
def _kernels() -> _Kernels:
    try:
        return _compile(in_cache=True)
    except (RuntimeError, OSError):  # the cache cannot be written: compile in every process
        return _compile(in_cache=False)


def _compile(in_cache: bool) -> _Kernels:
    from numba import njit
    from numba.core import config

    # It would read settings, such as the place of its cache, which holds code, from a file of the current folder.
    config._config_fname = os.devnull
    config.reload_config()  # type: ignore[no-untyped-call]
    ratios = "void(int32[:, ::1], float64[::1], float64[::1], float64[::1])"
    quantiles = "void(int32[:, ::1], float64[::1], int32[::1], int64[:, ::1], int64, float64, float64[::1])"
    columns = "void(int32[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
    return _Kernels(
        njit(ratios, nogil=True, cache=in_cache)(_ratios),
        njit(quantiles, nogil=True, cache=in_cache)(_quantiles),
        njit(columns, nogil=True, cache=in_cache)(_columns),
    )
