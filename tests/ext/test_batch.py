"""The bootstrap kernels against resamples written out item by item."""

import subprocess
import sys
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore._ext import batch

RESAMPLES = 25

Floats = batch.Floats
Case = tuple[Floats, batch.Groups, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Values, their clusters, and the number of clusters, some of them without items."""
    clusters = draw(st.integers(1, 6))
    items = draw(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, clusters - 1)), min_size=1, max_size=15))
    return np.array([v / 4 for v, _ in items]), np.array([group for _, group in items]), clusters


def every_resample(values: Floats, groups: batch.Groups, clusters: int, seed: int) -> list[Floats]:
    draws = np.random.Generator(np.random.PCG64(seed)).integers(clusters, size=(RESAMPLES, clusters), dtype=np.int32)
    return [np.concatenate([values[groups == cluster] for cluster in drawn]) for drawn in draws]


@given(cases(), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_quantiles_are_numpys_own_of_each_resample(case: Case, q: float, seed: int) -> None:
    expected = [np.quantile(drawn, q) if len(drawn) else np.nan for drawn in every_resample(*case, seed)]
    values, groups, clusters = case
    got = batch.bootstrap_quantiles(values, groups, clusters, q, RESAMPLES, seed)
    np.testing.assert_array_equal(got, expected)


@given(cases(), st.integers(0, 2**32))
def test_ratios_are_the_ratios_of_the_sums_of_each_resample(case: Case, seed: int) -> None:
    values, groups, clusters = case
    weights = np.arange(len(values), dtype=np.float64) % 3  # some of them 0
    rows = every_resample(np.column_stack([values, weights]), groups, clusters, seed)
    sums = [np.sum(drawn, axis=0) for drawn in rows]
    expected = [numerator / denominator if denominator else np.nan for numerator, denominator in sums]
    got = batch.bootstrap_ratios(values, weights, groups, clusters, RESAMPLES, seed)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@given(cases(), st.integers(0, 2**32))
def test_any_function_gets_the_items_of_each_resample(case: Case, seed: int) -> None:
    def statistic(values: Floats) -> float:
        return float(np.sort(values) @ np.arange(1, len(values) + 1))

    expected = [statistic(drawn) if len(drawn) else np.nan for drawn in every_resample(*case, seed)]
    np.testing.assert_allclose(batch.bootstrap_statistic(statistic, *case, RESAMPLES, seed), expected, rtol=1e-12)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 4), st.randoms())
def test_columns_are_the_means_of_the_drawn_cells(groups: list[int], repeats: int, columns: int, at: Random) -> None:
    items, clusters, seed = len(groups), 1 + max(groups), at.randrange(2**32)
    values = np.array([at.choice([np.nan, *range(8)]) for _ in range(items * repeats * columns)])
    values = values.reshape(items, repeats, columns)
    draws = np.random.Generator(np.random.PCG64(seed)).integers(
        clusters * repeats, size=(RESAMPLES, clusters), dtype=np.int32
    )
    expected = np.full((RESAMPLES, columns), np.nan)
    for resample, drawn in enumerate(draws):
        for column in range(columns):
            cells = [
                values[item, cell % repeats, column]
                for cell in drawn
                for item in range(items)
                if groups[item] == cell // repeats
            ]
            there = [cell for cell in cells if not np.isnan(cell)]
            if there:
                expected[resample, column] = sum(there) / len(there)
    found = batch.bootstrap_columns(values, np.array(groups), clusters, RESAMPLES, seed)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("draws_per_chunk", [1, 7, 64])
def test_chunks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch, draws_per_chunk: int) -> None:
    values, groups = np.arange(10.0), np.arange(10) // 2
    whole = batch.bootstrap_quantiles(values, groups, 5, 0.5, 100, 3)
    monkeypatch.setattr(batch, "DRAWS_PER_CHUNK", draws_per_chunk)
    assert np.array_equal(batch.bootstrap_quantiles(values, groups, 5, 0.5, 100, 3), whole)


def test_one_seed_draws_the_same_clusters_for_every_statistic() -> None:
    values, groups = np.random.default_rng(0).random(30), np.arange(30) % 7
    means = batch.bootstrap_ratios(values, np.ones(30), groups, 7, 200, 9)
    np.testing.assert_allclose(batch.bootstrap_ratios(values + 2, np.ones(30), groups, 7, 200, 9), means + 2)
    np.testing.assert_allclose(batch.bootstrap_statistic(np.mean, values, groups, 7, 200, 9), means)


def test_kernels_work_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import CacheImpl

    values, groups = np.arange(6.0), np.arange(6)
    expected = batch.bootstrap_ratios(values, np.ones(6), groups, 6, 50, 1)
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])  # as if no directory could be written
    uncached: Callable[[], object] = batch._kernels.__wrapped__
    kernels = uncached()
    monkeypatch.setattr(batch, "_kernels", lambda: kernels)
    assert np.array_equal(batch.bootstrap_ratios(values, np.ones(6), groups, 6, 50, 1), expected)


def test_numba_is_imported_only_by_a_kernel() -> None:
    code = "import sys, fdbcore.stats.bootstrap, fdbcore._ext.batch; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
