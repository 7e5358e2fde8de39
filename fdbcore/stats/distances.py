"""Distances of two samples of times: Jensen-Shannon distance of their histograms, and Wasserstein distance."""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import LEVEL, SEED, Floats, Interval
from fdbcore.stats.student import effective_number, tail

BIN_MS: Final = 200
FIRST_MS, LAST_MS = -2000, 4000
EDGES_MS: Final[Floats] = np.arange(FIRST_MS, LAST_MS + BIN_MS, BIN_MS, dtype=np.float64)
"""Bin edges of histograms of floor transfer offsets, in ms. The first and the last bin also hold all values beyond."""

RESAMPLES: Final = 2_000
DIVISIONS: Final = 500


class Distances(NamedTuple):
    """Two distances of a pair of samples.

    jensen_shannon: of their histograms over EDGES_MS, from 0 (the same) to 1 (nothing in common). wasserstein_ms: the
    mean distance by which the values of one sample must move to become the other sample, in ms.
    """

    jensen_shannon: float
    wasserstein_ms: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of several calls: values_ms (n,) in ms, and owners (n,), the call of each value, from 0 to calls - 1."""

    values_ms: Floats
    owners: npt.NDArray[np.intp]
    calls: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Distances of a sample from a reference, with their 95 % intervals by call."""

    distances: Distances
    low: Distances
    high: Distances

    def interval(self, name: str) -> Interval:
        """The interval of the distance `name`, a field of `Distances`."""
        return Interval(getattr(self.low, name), getattr(self.high, name))


def jensen_shannon(counts_p: npt.ArrayLike, counts_q: npt.ArrayLike) -> float:
    """The Jensen-Shannon distance of two histograms (bins,) over the same bins, in [0, 1].

    It is the square root of the divergence with logarithms to base 2 (Endres and Schindelin 2003). NaN if a histogram
    is empty. Raises InputError if the shapes differ.
    """
    p, q = (np.asarray(counts, dtype=np.float64) for counts in (counts_p, counts_q))
    if p.shape != q.shape:
        raise InputError(f"histograms: expected the same bins, got {p.shape} and {q.shape}")
    if not p.sum() or not q.sum():
        return float("nan")
    from scipy.special import rel_entr

    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    divergence_nats = float(rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2
    return math.sqrt(max(divergence_nats, 0.0) / math.log(2))


def histogram(values_ms: Floats) -> npt.NDArray[np.intp]:
    """Counts of values_ms (n,) in each bin of EDGES_MS: (bins,)."""
    return np.bincount(_bins(values_ms), minlength=len(EDGES_MS) - 1)


def _bins(values_ms: Floats) -> npt.NDArray[np.intp]:
    return np.clip(np.searchsorted(EDGES_MS, values_ms, side="right") - 1, 0, len(EDGES_MS) - 2)


class _Grid:
    """The sorted distinct values of all samples. A resample is then a count of each value, which is fast to draw."""

    def __init__(self, *samples: Sample) -> None:
        joined = np.concatenate([sample.values_ms for sample in samples])
        values, places = np.unique(joined, return_inverse=True)
        self._steps_ms = np.diff(values)
        self._first_of_bin = np.searchsorted(_bins(values), np.arange(len(EDGES_MS) - 1))
        self._places = np.split(places, np.cumsum([len(sample.values_ms) for sample in samples])[:-1])
        self._samples, self._size = samples, len(values)

    def counts(self, number: int, times: Floats) -> Floats:
        """Counts of each value in sample `number` if its calls are drawn `times` (calls,) times."""
        weights = times[self._samples[number].owners]
        counts: Floats = np.bincount(self._places[number], weights=weights, minlength=self._size).astype(np.float64)
        return counts

    def distances(self, p: Floats, q: Floats) -> Distances:
        """The distances of two samples, given as counts of each value."""
        if not p.sum() or not q.sum():
            return Distances(float("nan"), float("nan"))
        apart = np.abs(np.cumsum(p / p.sum() - q / q.sum())[:-1]) @ self._steps_ms
        return Distances(jensen_shannon(self._in_bins(p), self._in_bins(q)), float(apart))

    def _in_bins(self, counts: Floats) -> Floats:
        before = np.concatenate([[0.0], np.cumsum(counts)])
        return np.diff(before[[*self._first_of_bin, self._size]])


def distances(sample: Sample, reference: Sample) -> Distances:
    """The distances of two samples; NaN if one has no values."""
    return _whole(_Grid(sample, reference), sample, reference)


def _whole(grid: _Grid, *samples: Sample) -> Distances:
    return grid.distances(*(grid.counts(number, np.ones(sample.calls)) for number, sample in enumerate(samples)))


def compare(sample: Sample, reference: Sample, seed: int = SEED) -> Comparison | None:
    """The distances of `sample` from `reference` with intervals; None if one has fewer than two calls or no values.

    Two samples of the same distribution have a distance above 0 by chance, and resampling adds as much again. The lower
    limit subtracts that (a basic bootstrap of the squares, not below 0); the upper limit does not (a percentile). So
    the interval covers at least as often as its level says.
    """
    if min(sample.calls, reference.calls) < 2 or not len(sample.values_ms) or not len(reference.values_ms):
        return None
    grid = _Grid(sample, reference)
    whole = _whole(grid, sample, reference)
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = []
    for _ in range(RESAMPLES):
        times = [
            np.bincount(random.integers(n, size=n), minlength=n).astype(np.float64)
            for n in (sample.calls, reference.calls)
        ]
        drawn.append(grid.distances(grid.counts(0, times[0]), grid.counts(1, times[1])))
    effective = min(effective_number(np.bincount(each.owners)) for each in (sample, reference))
    high = np.nanquantile(np.array(drawn), 1 - tail(effective, LEVEL), axis=0)
    low = np.sqrt(np.maximum(2 * np.square(whole) - np.square(high), 0.0))
    return Comparison(whole, Distances(*low.tolist()), Distances(*high.tolist()))


def split_half_distances(reference: Sample, seed: int = SEED) -> tuple[Distances, Distances] | None:
    """The distances of two random halves of the reference: the median, and the 95 % quantile over DIVISIONS divisions.

    These are distances that chance alone makes, with half as many calls in each sample. None for fewer than four calls
    or no values.
    """
    if reference.calls < 4 or not len(reference.values_ms):
        return None
    grid, random = _Grid(reference), np.random.Generator(np.random.PCG64(seed))
    drawn = []
    for _ in range(DIVISIONS):
        in_first_half = (random.permutation(reference.calls) < reference.calls // 2).astype(np.float64)
        drawn.append(grid.distances(grid.counts(0, in_first_half), grid.counts(0, 1 - in_first_half)))
    median, high = np.nanquantile(np.array(drawn), [0.5, LEVEL], axis=0)
    return Distances(*median.tolist()), Distances(*high.tolist())
