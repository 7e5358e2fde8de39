"""Distances of samples against scipy's, and what two halves of one kind are apart."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance

from fdbcore.errors import InputError
from fdbcore.stats.distances import (
    EDGES_MS,
    Sample,
    compare,
    distances,
    histogram,
    jensen_shannon,
    split_half_distances,
)

Floats = npt.NDArray[np.float64]

OFFSETS_MS = st.lists(st.integers(-600, 900).map(lambda tick: 10.0 * tick), min_size=1, max_size=60)
COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30)


def sample(seed: int, calls: int, shift_ms: float = 0.0, each: int = 20) -> Sample:
    """Offsets of calls whose own means differ."""
    random, owners = np.random.default_rng(seed), np.repeat(np.arange(calls), each)
    values = 300 + shift_ms + random.normal(0, 200, calls)[owners] + random.normal(0, 500, len(owners))
    return Sample(np.round(values, -1), owners, calls)


@given(COUNTS)
def test_the_distance_of_histograms_is_scipys(pairs: list[tuple[int, int]]) -> None:
    p, q = (np.array(of) for of in zip(*pairs, strict=True))
    if p.sum() and q.sum():
        assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2), abs=1e-7)
    else:
        assert np.isnan(jensen_shannon(p, q))


@given(OFFSETS_MS, OFFSETS_MS)
def test_distances_of_samples_are_scipys(a: list[float], b: list[float]) -> None:
    samples = [Sample(np.array(of), np.arange(len(of)) % 2, 2) for of in (a, b)]
    found = distances(*samples)
    assert found.wasserstein_ms == pytest.approx(wasserstein_distance(a, b), abs=1e-6)
    expected = jensenshannon(*(np.histogram(np.clip(of, -1999, 3999), EDGES_MS)[0] for of in (a, b)), base=2)
    assert found.jensen_shannon == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("shift_ms", "calls"), [(0.0, 12), (500.0, 20), (800.0, 30)])
def test_an_interval_is_around_the_distance_and_above_0(shift_ms: float, calls: int) -> None:
    found = compare(sample(1, calls, shift_ms), sample(2, calls))
    assert found is not None
    assert found == compare(sample(1, calls, shift_ms), sample(2, calls))
    for name in found.distances._fields:
        low, high = found.interval(name)
        assert 0 <= low <= getattr(found.distances, name) <= high
        assert (low == 0) == (shift_ms == 0)


@given(OFFSETS_MS)
def test_every_value_is_in_one_bin(values: list[float]) -> None:
    counts = histogram(np.array(values))
    assert counts.sum() == len(values)
    assert counts[0] == sum(value < -1800 for value in values)
    assert counts[-1] == sum(value >= 3800 for value in values)


def test_what_is_the_same_is_not_apart_and_what_has_nothing_in_common_is_1_apart() -> None:
    same, other = sample(1, 10), sample(1, 10, 50_000)
    near, far = compare(same, same), compare(same, other)
    assert near is not None
    assert far is not None
    assert near.distances == (0.0, 0.0)
    assert near.low == (0.0, 0.0)
    assert far.distances.jensen_shannon == pytest.approx(1.0, abs=0.02)
    assert far.distances.wasserstein_ms == pytest.approx(50_000)


def test_halves_of_one_kind_are_as_far_apart_as_two_such_samples() -> None:
    halves = split_half_distances(sample(3, 80))
    assert halves is not None
    apart = [distances(sample(2 * k + 10, 40), sample(2 * k + 11, 40)) for k in range(9)]
    typical = np.median(apart, axis=0)
    assert halves[0] == pytest.approx(typical, rel=0.35)
    assert all(middle < most for middle, most in zip(*halves, strict=True))


def test_intervals_hold_the_truth() -> None:
    large = compare(sample(1, 20_000, 300.0, each=5), sample(2, 20_000, each=5))
    assert large is not None
    held = np.zeros(2)
    for seed in range(10):
        found = compare(sample(2 * seed + 50, 30, 300.0), sample(2 * seed + 51, 30))
        assert found is not None
        held += [
            found.interval(name)[0] <= getattr(large.distances, name) <= found.interval(name)[1]
            for name in found.distances._fields
        ]
    assert held.min() >= 8


@pytest.mark.parametrize("calls", [0, 1])
def test_too_few_calls_are_not_compared(calls: int) -> None:
    few = Sample(np.full(calls, 100.0), np.arange(calls), calls)
    assert compare(few, sample(1, 10)) is None
    assert compare(sample(1, 10), few) is None
    assert split_half_distances(sample(1, 3)) is None


def test_histograms_of_other_bins_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected the same bins, got \(2,\) and \(3,\)"):
        jensen_shannon([1, 2], [1, 2, 3])
