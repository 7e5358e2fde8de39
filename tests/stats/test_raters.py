"""Kappa and alpha against published values, and against their definitions spelt out."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import agreement
from scipy import stats as scipy_stats

from fdbcore.stats.bootstrap import Floats, bootstrap_ci, bootstrap_times
from fdbcore.stats.raters import (
    MISSING,
    alpha,
    alpha_parts,
    interval_alpha,
    kappa,
    nominal,
    ordinal_alpha,
    pearson,
    spearman,
)

Ratings = npt.NDArray[np.int64]


def ratings(*raters: str) -> Ratings:
    """A row of characters a rater, "." for what is missing."""
    return np.array([[MISSING if c == "." else "012345abcde".index(c) for c in line] for line in raters]).T


def alpha_of(units: Ratings) -> float:
    return alpha(alpha_parts(nominal(units, 11)))


FOUR_OBSERVERS = ratings("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
"""Krippendorff 2011, section C: 4 observers, 12 units."""


def scaled(units: Ratings) -> Floats:
    return np.where(units == MISSING, np.nan, units)


def once(units: Floats) -> Floats:
    return np.ones((1, len(units)))


@pytest.mark.parametrize(
    ("raters", "published"),
    [
        (("0100000010", "1110010000"), 0.095),  # Krippendorff 2011, section A
        (("aabbdcccedda", "babbbccceddd"), 0.692),  # section B
    ],
)
def test_alpha_is_the_published_one(raters: tuple[str, ...], published: float) -> None:
    assert alpha_of(ratings(*raters)) == pytest.approx(published, abs=5e-4)


def test_alpha_of_each_scale_is_the_published_one() -> None:
    units = scaled(FOUR_OBSERVERS)
    assert alpha_of(FOUR_OBSERVERS) == pytest.approx(0.743, abs=5e-4)
    assert ordinal_alpha(units, once(units)) == pytest.approx([0.815], abs=5e-4)  # section D
    assert interval_alpha(units, once(units)) == pytest.approx([0.849], abs=5e-4)


def test_kappa_is_the_textbook_one() -> None:
    assert kappa(np.array([[20.0, 5, 10, 15]])) == pytest.approx(0.4)  # two readers, 50 proposals


def test_what_chance_alone_explains_is_undefined() -> None:
    assert math.isnan(kappa(np.array([[7.0, 0, 0, 0]])))
    assert math.isnan(kappa(np.zeros((3, 4))))
    assert math.isnan(alpha_of(ratings("111", "111")))
    assert math.isnan(alpha_of(ratings("1.", ".1")))


UNITS = st.lists(st.lists(st.integers(MISSING, 3), min_size=3, max_size=3), min_size=1, max_size=30)


def rated(units: list[list[int]]) -> list[list[int]]:
    return [[rating for rating in unit if rating != MISSING] for unit in units]


@given(UNITS)
def test_alpha_is_its_definition(units: list[list[int]]) -> None:
    assert alpha_of(np.array(units)) == pytest.approx(agreement.alpha(rated(units)), nan_ok=True)


@given(UNITS)
def test_alpha_of_a_scale_is_its_definition(units: list[list[int]]) -> None:
    found = scaled(np.array(units))
    for statistic, metric in ((interval_alpha, agreement.interval), (ordinal_alpha, agreement.ordinal)):
        expected = agreement.alpha(rated(units), metric)
        assert statistic(found, once(found))[0] == pytest.approx(expected, nan_ok=True)


PAIRS = st.lists(st.tuples(st.integers(2, 10), st.integers(1, 5)), min_size=2, max_size=40)


@given(PAIRS)
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    both = np.array(pairs, dtype=np.float64) / 2
    if min(map(len, map(set, both.T.tolist()))) < 2:
        assert math.isnan(pearson(both, once(both))[0])
        assert math.isnan(spearman(both, once(both))[0])
        return
    assert pearson(both, once(both))[0] == pytest.approx(scipy_stats.pearsonr(*both.T).statistic)
    assert spearman(both, once(both))[0] == pytest.approx(scipy_stats.spearmanr(*both.T).statistic)


@pytest.mark.parametrize("statistic", [interval_alpha, ordinal_alpha, pearson, spearman])
def test_a_resample_is_its_units_as_often_as_it_has_them(statistic: Callable[[Floats, Floats], Floats]) -> None:
    random = np.random.default_rng(0)
    units = random.integers(1, 6, (20, 2)).astype(np.float64)
    times = random.integers(0, 3, (7, 20))
    spelt_out = [np.repeat(units, each, axis=0) for each in times]
    expected = [float(statistic(each, once(each))[0]) for each in spelt_out]
    assert statistic(units, times.astype(np.float64)) == pytest.approx(expected)


def test_the_interval_is_that_of_resampled_rows() -> None:
    """`bootstrap_ci` draws rows by the same stream; and scipy's percentiles are near, but for the widening."""
    random = np.random.default_rng(1)
    first = random.integers(1, 6, 120).astype(np.float64)
    both = np.stack([first, np.clip(first + random.integers(-1, 2, 120), 1, 5)], axis=1)
    found = bootstrap_times(lambda times: pearson(both, times), len(both))
    rows = bootstrap_ci(both, np.arange(120), lambda drawn: float(np.corrcoef(*drawn.T)[0][1]))
    assert found.value == pytest.approx(rows.value)
    assert found.interval == pytest.approx(rows.interval)
    drawn = scipy_stats.bootstrap(
        tuple(both.T), lambda a, b: scipy_stats.pearsonr(a, b).statistic,
        paired=True, vectorized=False, n_resamples=2000, method="percentile", rng=1,
    )  # fmt: skip
    assert found.interval == pytest.approx(tuple(drawn.confidence_interval), abs=0.01)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_kappa_is_its_definition(pairs: list[tuple[int, int]]) -> None:
    rows = np.zeros((len(pairs), 9))
    for row, (a, b) in enumerate(pairs):
        rows[row, 3 * a + b] = 1
    assert kappa(rows) == pytest.approx(agreement.kappa(pairs), nan_ok=True)
