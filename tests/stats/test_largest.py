"""Who has the largest values: every probability against all that chance could do, and against SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fdbcore.stats.largest import Largest

SIZES: Sequence[float] = [9, 8, 8, 7, 5, 5, 5, 2, 1]
"""With ties; smaller ones do not count."""


def outcomes(of_a: int | None) -> list[list[bool]]:
    """All that chance could do: a coin for each value, or of_a values of A."""
    n = len(SIZES)
    if of_a is None:
        return [list(thrown) for thrown in product([True, False], repeat=n)]
    return [[k in chosen for k in range(n)] for chosen in combinations(range(n), of_a)]


def naive_tail(is_a: Sequence[bool], of_a: int | None, most: int) -> float:
    """The least chance of so many of A above a limit, from the distributions that SciPy has."""
    n = len(SIZES)
    tails = [1.0]
    for above in range(1, most + 1):
        if above < n and SIZES[above] == SIZES[above - 1]:
            continue  # no limit lies between equal values
        found = sum(is_a[:above])
        tails.append(
            scipy_stats.binom.sf(found - 1, above, 0.5)
            if of_a is None
            else scipy_stats.hypergeom.sf(found - 1, n, of_a, above)
        )
    return min(tails)


@pytest.mark.parametrize("of_a", [None, 4, 6])
@pytest.mark.parametrize("most", [4, 9])
def test_every_probability_is_the_share_of_all_outcomes(of_a: int | None, most: int) -> None:
    dealt = None if of_a is None else (of_a, len(SIZES) - of_a)
    every = outcomes(of_a)
    naive = np.array([naive_tail(is_a, of_a, most) for is_a in every])
    shuffled = np.random.default_rng(1).permutation(len(SIZES))
    for is_a, expected in list(zip(every, naive, strict=True))[:: max(1, len(every) // 40)]:
        found = Largest.of(np.take(SIZES, shuffled), np.take(is_a, shuffled), most, dealt)
        _, tail = found.most_uneven()
        assert tail == pytest.approx(expected) or expected == 1.0
        if tail < 1:
            assert found.chance(tail) == pytest.approx(float(np.mean(naive <= tail * (1 + 1e-9))))


def test_what_differs_in_no_way_has_no_limit() -> None:
    found = Largest.of([0.0, 0.0, 0.0], [True, True, True], 10)
    assert (found.above, found.most_uneven()) == ([], (0, 1.0))


def test_equal_values_are_on_one_side_of_a_limit() -> None:
    assert Largest.of(SIZES, [True] * 9, 6).above == [1, 3, 4]


def test_six_of_six_at_the_top_are_found_although_the_limit_was_searched_for() -> None:
    found = Largest.of(range(200, 0, -1), [True] * 6 + [False, True] * 97, 20)
    n, tail = found.most_uneven()
    assert (n, tail) == (6, 2**-6)
    assert 2**-6 < found.chance(tail) < 0.05
