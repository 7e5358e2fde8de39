"""Kappa and alpha against published values, and against their definitions spelt out."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.stats.raters import MISSING, alpha, alpha_parts, kappa

Ratings = npt.NDArray[np.int64]


def ratings(*raters: str) -> Ratings:
    """A row of characters a rater, "." for what is missing."""
    return np.array([[MISSING if c == "." else "012345abcde".index(c) for c in line] for line in raters]).T


def alpha_of(units: Ratings) -> float:
    return alpha(alpha_parts(units, 11))


@pytest.mark.parametrize(
    ("raters", "published"),
    [
        (("0100000010", "1110010000"), 0.095),  # Krippendorff 2011, section A
        (("aabbdcccedda", "babbbccceddd"), 0.692),  # section B
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),  # section C
    ],
)
def test_alpha_is_the_published_one(raters: tuple[str, ...], published: float) -> None:
    assert alpha_of(ratings(*raters)) == pytest.approx(published, abs=5e-4)


def test_kappa_is_the_textbook_one() -> None:
    assert kappa(np.array([[20.0, 5, 10, 15]])) == pytest.approx(0.4)  # two readers, 50 proposals


def test_what_chance_alone_explains_is_undefined() -> None:
    assert math.isnan(kappa(np.array([[7.0, 0, 0, 0]])))
    assert math.isnan(kappa(np.zeros((3, 4))))
    assert math.isnan(alpha_of(ratings("111", "111")))
    assert math.isnan(alpha_of(ratings("1.", ".1")))


UNITS = st.lists(st.lists(st.integers(MISSING, 3), min_size=3, max_size=3), min_size=1, max_size=30)


def naive_alpha(units: list[list[int]]) -> float:
    """One less observed over expected disagreement, over all pairs of ratings."""
    rated = [[rating for rating in unit if rating != MISSING] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    pool = [rating for unit in rated for rating in unit]
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in rated) / max(
        len(pool), 1
    )
    expected = sum(a != b for a, b in permutations(pool, 2)) / max(len(pool) * (len(pool) - 1), 1)
    return 1 - observed / expected if expected else math.nan


@given(UNITS)
def test_alpha_is_its_definition(units: list[list[int]]) -> None:
    assert alpha_of(np.array(units)) == pytest.approx(naive_alpha(units), nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_kappa_is_its_definition(pairs: list[tuple[int, int]]) -> None:
    rows = np.zeros((len(pairs), 9))
    for row, (a, b) in enumerate(pairs):
        rows[row, 3 * a + b] = 1
    observed = sum(a == b for a, b in pairs) / len(pairs)
    expected = sum(a == b for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    wanted = (observed - expected) / (1 - expected) if expected < 1 else math.nan
    assert kappa(rows) == pytest.approx(wanted, nan_ok=True)
