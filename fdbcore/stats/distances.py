"""How far two samples of times lie apart: Jensen-Shannon distance of their histograms, and Wasserstein distance."""

from __future__ import annotations

import math
from collections.abc import Iterator
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
"""Of the bins of a histogram of floor transfer offsets; what lies beyond is in the first or the last bin."""

RESAMPLES: Final = 2_000
DIVISIONS: Final = 500


class Distances(NamedTuple):
    """jensen_shannon: of the histograms over EDGES_MS, from 0 (the same) to 1 (nothing in common). wasserstein_ms: of
    the samples themselves, the mean way that one would have to be moved to become the other."""

    jensen_shannon: float
    wasserstein_ms: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of several calls: values_ms (n,), and the number of the call of each (n,), from 0 to calls - 1."""

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
        """Of one of the distances."""
        return Interval(getattr(self.low, name), getattr(self.high, name))


def jensen_shannon(counts_p: npt.ArrayLike, counts_q: npt.ArrayLike) -> float:
    """The Jensen-Shannon distance of two histograms over the same bins, in [0, 1]: the square root of the divergence
    with logarithms to base 2 (Endres and Schindelin 2003). NaN if one is empty."""
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
    """Counts over the bins of EDGES_MS."""
    return np.bincount(_bins(values_ms), minlength=len(EDGES_MS) - 1)


def _bins(values_ms: Floats) -> npt.NDArray[np.intp]:
    return np.clip(np.searchsorted(EDGES_MS, values_ms, side="right") - 1, 0, len(EDGES_MS) - 2)


class _Grid:
    """The values that occur in either of two samples, so that a resample is a count of each."""

    def __init__(self, *samples: Sample) -> None:
        joined = np.concatenate([sample.values_ms for sample in samples])
        values, places = np.unique(joined, return_inverse=True)
        self._steps_ms = np.diff(values)
        self._first_of_bin = np.searchsorted(_bins(values), np.arange(len(EDGES_MS) - 1))
        self._places = np.split(places, np.cumsum([len(sample.values_ms) for sample in samples])[:-1])
        self._samples, self._size = samples, len(values)

    def counts(self, number: int, times: Floats) -> Floats:
        """How often each value is there, in sample `number` with each of its calls taken so many times."""
        weights = times[self._samples[number].owners]
        counts: Floats = np.bincount(self._places[number], weights=weights, minlength=self._size).astype(np.float64)
        return counts

    def distances(self, p: Floats, q: Floats) -> Distances:
        """Those of two counts."""
        if not p.sum() or not q.sum():
            return Distances(float("nan"), float("nan"))
        apart = np.abs(np.cumsum(p / p.sum() - q / q.sum())[:-1]) @ self._steps_ms
        return Distances(jensen_shannon(self._in_bins(p), self._in_bins(q)), float(apart))

    def _in_bins(self, counts: Floats) -> Floats:
        before = np.concatenate([[0.0], np.cumsum(counts)])
        return np.diff(before[[*self._first_of_bin, self._size]])


def distances(sample: Sample, reference: Sample) -> Distances:
    """The distances of two samples; NaN where one has no values."""
    return _whole(_Grid(sample, reference), sample, reference)


def _whole(grid: _Grid, *samples: Sample) -> Distances:
    return grid.distances(*(grid.counts(number, np.ones(of.calls)) for number, of in enumerate(samples)))


def compare(sample: Sample, reference: Sample, seed: int = SEED) -> Comparison | None:
    """The distances of `sample` from `reference`; None if either has fewer than two calls, or no values.

    Two samples of the same kind are not 0 apart but as far as chance makes it, and a resample adds that once more. The
    lower limit takes it off (a basic bootstrap of the squares, ending at 0), the upper one does not (a percentile): the
    interval covers at least as often as it says.
    """
    if min(sample.calls, reference.calls) < 2 or not len(sample.values_ms) or not len(reference.values_ms):
        return None
    grid = _Grid(sample, reference)
    whole = _whole(grid, sample, reference)
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = np.array(list(_resampled(grid, (sample.calls, reference.calls), random)))
    worth = min(effective_number(np.bincount(of.owners)) for of in (sample, reference))
    most = np.nanquantile(drawn, 1 - tail(worth, LEVEL), axis=0)
    least = np.sqrt(np.maximum(2 * np.square(whole) - np.square(most), 0.0))
    return Comparison(whole, Distances(*least.tolist()), Distances(*most.tolist()))


def split_half_distances(reference: Sample, seed: int = SEED) -> tuple[Distances, Distances] | None:
    """How far two random halves of the reference are apart: at the median, and at most in 95 of 100 divisions.

    That is the distance of samples that differ by chance alone, of half as many calls each. None for fewer than four.
    """
    if reference.calls < 4 or not len(reference.values_ms):
        return None
    grid, random = _Grid(reference), np.random.Generator(np.random.PCG64(seed))
    middle, most = np.nanquantile(np.array(list(_halves(grid, reference.calls, random))), [0.5, LEVEL], axis=0)
    return Distances(*middle.tolist()), Distances(*most.tolist())


def _resampled(grid: _Grid, calls: tuple[int, int], random: np.random.Generator) -> Iterator[Distances]:
    for _ in range(RESAMPLES):
        times = [np.bincount(random.integers(n, size=n), minlength=n).astype(np.float64) for n in calls]
        yield grid.distances(grid.counts(0, times[0]), grid.counts(1, times[1]))


def _halves(grid: _Grid, calls: int, random: np.random.Generator) -> Iterator[Distances]:
    for _ in range(DIVISIONS):
        first = (random.permutation(calls) < calls // 2).astype(np.float64)
        yield grid.distances(grid.counts(0, first), grid.counts(0, 1 - first))
