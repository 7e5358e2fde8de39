"""Bootstrap by cluster, compiled by Numba on first use and kept in its cache.

A resample draws as many clusters as there are, with replacement, and takes all items of a drawn cluster as often as it
was drawn. Draws come from NumPy's PCG64 in one stream, so a seed fixes every result, and the same seed draws the same
clusters for any statistic: the difference of two results is paired. Importing this module does not import Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Groups: TypeAlias = npt.NDArray[np.intp]
Draws: TypeAlias = npt.NDArray[np.int32]

DRAWS_PER_CHUNK: Final = 2**18  # 1 MB: stays in the second-level cache between drawing and using


def bootstrap_ratios(
    numerators: Floats, denominators: Floats, groups: Groups, clusters: int, resamples: int, seed: int
) -> Floats:
    """Sum of numerators / sum of denominators in each resample, (resamples,); NaN where the denominators sum to 0.

    numerators, denominators: (n,), one per item. groups: the item's cluster, 0 to clusters - 1. With denominators of 1
    this is the mean.
    """
    sums = [np.bincount(groups, weights=values, minlength=clusters) for values in (numerators, denominators)]
    ratios, _ = _kernels()
    return _over_draws(lambda draws, out: ratios(draws, *sums, out), clusters, resamples, seed)


def bootstrap_quantiles(values: Floats, groups: Groups, clusters: int, q: float, resamples: int, seed: int) -> Floats:
    """Quantile q of the items (NumPy's linear rule) in each resample, (resamples,); NaN for a resample without items.

    values: (n,), finite. groups: the item's cluster, 0 to clusters - 1; a cluster may be without items.
    """
    order = np.argsort(values, kind="stable")
    ascending, owners = np.ascontiguousarray(values[order]), groups[order].astype(np.int32)
    _, quantiles = _kernels()
    return _over_draws(lambda draws, out: quantiles(draws, ascending, owners, q, out), clusters, resamples, seed)


def bootstrap_statistic(
    statistic: Callable[[Floats], float], values: Floats, groups: Groups, clusters: int, resamples: int, seed: int
) -> Floats:
    """`statistic` of the items of each resample, (resamples,): any Python function, called once for each resample.

    values: (n,) or (n, columns), a row per item. groups: the item's cluster, 0 to clusters - 1. A resample without
    items gives NaN, uncalled.
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

    return _over_draws(work, clusters, resamples, seed)


def _over_draws(work: Callable[[Draws, Floats], None], clusters: int, resamples: int, seed: int) -> Floats:
    """Run `work(draws (k, clusters), out (k,))` over all resamples, a chunk at a time."""
    generator = np.random.Generator(np.random.PCG64(seed))
    out = np.empty(resamples, dtype=np.float64)
    step = max(1, DRAWS_PER_CHUNK // clusters)
    for first in range(0, resamples, step):
        chunk = out[first : first + step]
        work(generator.integers(clusters, size=(len(chunk), clusters), dtype=np.int32), chunk)
    return out


def _ratios(draws: Draws, numerators: Floats, denominators: Floats, out: Floats) -> None:
    for resample in range(draws.shape[0]):
        numerator = denominator = 0.0
        for i in range(draws.shape[1]):
            numerator += numerators[draws[resample, i]]
            denominator += denominators[draws[resample, i]]
        out[resample] = numerator / denominator if denominator != 0.0 else np.nan


def _quantiles(draws: Draws, values: Floats, owners: Draws, q: float, out: Floats) -> None:
    # The items are sorted once; a resample is a walk over them that counts each as often as its cluster was drawn.
    times = np.empty(draws.shape[1], dtype=np.int64)
    for resample in range(draws.shape[0]):
        times[:] = 0
        for i in range(draws.shape[1]):
            times[draws[resample, i]] += 1
        count = 0
        for item in range(values.shape[0]):
            count += times[owners[item]]
        if count == 0:
            out[resample] = np.nan
            continue
        position = (count - 1) * q
        below = int(position)
        fraction = position - below
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


@cache
def _kernels() -> tuple[Callable[..., None], Callable[..., None]]:
    try:
        return _compile(in_cache=True)
    except (RuntimeError, OSError):  # no cache directory can be written: compile anew in every process
        return _compile(in_cache=False)


def _compile(in_cache: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    from numba import njit

    ratios = "void(int32[:, ::1], float64[::1], float64[::1], float64[::1])"
    quantiles = "void(int32[:, ::1], float64[::1], int32[::1], float64, float64[::1])"
    return (
        njit(ratios, nogil=True, cache=in_cache)(_ratios),
        njit(quantiles, nogil=True, cache=in_cache)(_quantiles),
    )
