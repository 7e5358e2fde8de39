"""Tests of significance, and who has the largest values: against SciPy, and against all that chance could do."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import MEDIAN, mean, ratio_of_sums
from fdbcore.stats.largest import Largest
from fdbcore.stats.significance import (
    EXACT_ITEMS,
    detectable_difference,
    gatekeeper_p,
    holm,
    items_needed,
    pairs_needed,
    permutation_p,
    sign_flip_p,
    spread_of,
)

Floats = npt.NDArray[np.float64]

STEPS = st.integers(-4, 4).map(lambda k: k / 8)  # few values: ties and zeros are common


def p_of(differences: npt.ArrayLike, **settings: int) -> float:
    (p,) = sign_flip_p(np.asarray(differences, dtype=np.float64)[:, None], **settings)
    assert p is not None
    return p


@given(st.lists(STEPS, min_size=2, max_size=9))
def test_few_differences_are_exact_as_scipys_are(differences: list[float]) -> None:
    expected = scipy_stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert p_of(differences) == pytest.approx(min(1.0, expected.pvalue))


def test_many_differences_are_sampled_as_near_as_sampling_allows() -> None:
    rng = np.random.default_rng(4)
    differences = rng.normal(0.15, 1, (EXACT_ITEMS + 4, 3))
    for got, column in zip(sign_flip_p(differences, flips=40_000), differences.T, strict=True):
        expected = scipy_stats.permutation_test(
            (column,), np.mean, permutation_type="samples", n_resamples=40_000, rng=rng
        )
        assert got == pytest.approx(expected.pvalue, abs=5 * np.sqrt(0.25 * 2 / 40_000))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99, 0.999])
def test_the_pairs_needed_are_the_fewest_whose_p_can_be_low_enough(level: float) -> None:
    n = pairs_needed(level)
    assert p_of([1.0] * n) < 1 - level <= p_of([1.0] * (n - 1))


def test_zeros_do_not_keep_a_test_from_being_exact() -> None:
    few = [0.5, 0.25, -0.125, 0.75]
    assert p_of([*few, *[0.0] * 100]) == p_of(few) == 4 / 16


def test_p_is_uniform_where_there_is_no_difference() -> None:
    null = np.random.default_rng(8).normal(size=(30, 400))
    assert scipy_stats.kstest(sign_flip_p(null, flips=1000), "uniform").pvalue > 0.01


def test_a_sampled_p_is_never_0_and_the_seed_fixes_it() -> None:
    clear = np.full((50, 1), 1.0)
    assert sign_flip_p(clear, flips=99) == [0.01]
    noise = np.random.default_rng(3).normal(size=(40, 2))
    assert sign_flip_p(noise, seed=5) == sign_flip_p(noise, seed=5)
    assert sign_flip_p(noise, seed=5) != sign_flip_p(noise, seed=6)


def test_missing_differences_are_left_out() -> None:
    values = np.array([[0.5, np.nan], [0.25, np.nan], [np.nan, np.nan], [0.125, np.nan]])
    assert sign_flip_p(values) == [2 / 8, None]
    with pytest.raises(InputError, match=r"got \(3,\)"):
        sign_flip_p([1.0, 2.0, 3.0])


def closed_testing(p_values: list[float]) -> list[float]:
    """Holm's correction from what it stands on: each hypothesis with every group that holds it, by Bonferroni."""
    places = range(len(p_values))
    groups = [group for size in places for group in combinations(places, size + 1)]
    return [
        max(min(1.0, len(group) * min(p_values[k] for k in group)) for group in groups if place in group)
        for place in places
    ]


@given(st.lists(st.integers(0, 20).map(lambda k: k / 20), max_size=7))
def test_holm_is_the_closed_test_of_bonferroni(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(closed_testing(p_values))


def gated_by_hand(columns: list[list[float]], gates: list[int], level: float) -> list[float | None]:
    """The gates, then the others, from all flips of the rows' signs, one by one."""
    limit = 1 - level
    flips = [*product((1, -1), repeat=len(columns[0]))]

    def height(column: list[float], flip: tuple[int, ...]) -> float:
        length = sum(value**2 for value in column) ** 0.5
        return abs(sum(sign * value for sign, value in zip(flip, column, strict=True))) / length if length else 0.0

    def p_among(reached: float, family: list[int]) -> float:
        return sum(max(height(columns[k], flip) for k in family) >= reached - 1e-7 for flip in flips) / len(flips)

    first = [k for k, gate in enumerate(gates) if gate == k]
    others = [k for k in range(len(gates)) if k not in first]
    p: list[float | None] = [p_among(height(column, flips[0]), first) for column in columns]
    told = [k for k in first if (p[k] or 0) < limit]
    left = [k for k in first if k not in told]
    wrongly = [flip for flip in flips if left and p_among(max(height(columns[k], flip) for k in left), first) < limit]
    for k in others:
        rest = 1 - len(wrongly) / len(flips) / limit
        raw = p_among(height(columns[k], flips[0]), others)
        p[k] = None if gates[k] not in told else min(1.0, raw / rest) if rest > 1e-9 else 1.0
    return p


@given(
    st.lists(st.lists(STEPS, min_size=5, max_size=5), min_size=5, max_size=5),
    st.sampled_from([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 1, 2, 0, 2], [0, 1, 2, 3, 4], [0, 0, 2, 2, 2]]),
    st.sampled_from([0.5, 0.7, 0.9]),
)
def test_gates_and_what_they_leave_are_as_by_hand(columns: list[list[float]], gates: list[int], level: float) -> None:
    found = gatekeeper_p(np.transpose(columns), gates, level=level)
    for got, expected in zip(found, gated_by_hand(columns, gates, level), strict=True):
        assert got == (None if expected is None else pytest.approx(expected))


@given(st.lists(STEPS, min_size=2, max_size=9))
def test_one_gate_alone_is_scipys_test(differences: list[float]) -> None:
    expected = scipy_stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert gatekeeper_p(np.array(differences)[:, None], [0]) == [pytest.approx(min(1.0, expected.pvalue))]


def test_many_clusters_are_sampled_as_near_as_sampling_allows() -> None:
    rng = np.random.default_rng(6)
    values, clusters = rng.normal(0.2, 1, (60, 4)), np.repeat(np.arange(20), 3)
    sums = values.reshape(20, 3, 4).sum(axis=1)
    heights = np.abs((rng.integers(2, size=(20_000, 20)) * 2 - 1) @ (sums / np.linalg.norm(sums, axis=0))).max(axis=1)
    observed = np.abs(sums.sum(axis=0)) / np.linalg.norm(sums, axis=0)
    found = gatekeeper_p(values, [0, 1, 2, 3], clusters, flips=20_000)
    assert found == pytest.approx([np.mean(heights >= each) for each in observed], abs=0.02)
    assert found == gatekeeper_p(values, [0, 1, 2, 3], clusters, flips=20_000)


def test_what_has_no_items_is_not_tested_and_rounding_is_no_difference() -> None:
    nearly, nothing, clear = np.array([0.1, 0.2, -0.3] * 8), np.full(24, np.nan), np.ones(24)
    clusters = np.repeat(np.arange(8), 3)
    found = gatekeeper_p(np.stack([clear, nearly, nothing, clear], axis=1), [0, 0, 2, 2], clusters)
    assert found == [2 / 2**8, 1.0, None, None]
    with pytest.raises(InputError, match=r"got \(3,\)"):
        gatekeeper_p([1.0, 2.0, 3.0], [0])


@pytest.mark.parametrize("n", [10, 20, 60, 500])
def test_a_detectable_difference_is_found_with_its_power(n: int) -> None:
    difference = detectable_difference(0.4, n)
    assert difference is not None
    limit = scipy_stats.t.ppf(0.975, n - 1)
    shifted = scipy_stats.nct(n - 1, difference * np.sqrt(n) / 0.4)
    assert shifted.sf(limit) + shifted.cdf(-limit) == pytest.approx(0.8, abs=0.012)


@pytest.mark.parametrize("n", [4, 6, 30])
def test_the_quantiles_in_it_are_those_of_student(n: int) -> None:
    expected = (scipy_stats.t.ppf(0.975, n - 1) + scipy_stats.t.ppf(0.8, n - 1)) / np.sqrt(n)
    assert detectable_difference(1.0, n) == pytest.approx(expected, rel=0.02 if n == 4 else 0.003)
    assert detectable_difference(1.0, 3) is None


@pytest.mark.parametrize("differences", [[0.0] * 9, [0.1] * 9, [0.1 + 0.2, 0.3, 0.1 * 3] * 3])
def test_differences_that_are_all_the_same_show_nothing_detectable(differences: list[float]) -> None:
    assert spread_of(differences) == 0
    assert detectable_difference(spread_of(differences), 9) is None


@given(st.lists(STEPS, min_size=2, max_size=9))
def test_the_spread_is_the_standard_deviation(differences: list[float]) -> None:
    assert spread_of(differences) == pytest.approx(np.std(differences, ddof=1))
    assert spread_of(differences[:1]) is None


@given(st.floats(0.05, 1.0), st.floats(0.01, 0.5))
def test_the_items_needed_are_the_fewest_that_do(sd: float, difference: float) -> None:
    n = items_needed(sd, difference)
    assert (detectable_difference(sd, n) or np.inf) <= difference
    assert n == 4 or (detectable_difference(sd, n - 1) or 0) > difference


def by_hand(a: Floats, b: Floats, paired: int) -> float:
    """The exact p value that events per exposure are the same, with one row (events, exposure) per cluster.

    paired: the first clusters, which both sides have; each may change sides, and all others may be dealt anew.
    """
    both = [a[:paired], b[:paired]]
    alone = np.concatenate([a[paired:], b[paired:]])
    apart = []
    for flips in product((False, True), repeat=paired):
        swapped = np.array(flips, bool)[:, None]
        one, two = np.where(swapped, both[1], both[0]), np.where(swapped, both[0], both[1])
        for chosen in combinations(range(len(alone)), len(a) - paired):
            mine = np.isin(np.arange(len(alone)), chosen)
            sums = [np.concatenate(of).sum(axis=0) for of in ((one, alone[mine]), (two, alone[~mine]))]
            apart.append(abs(sums[0][0] / sums[0][1] - sums[1][0] / sums[1][1]))
    observed = abs(a[:, 0].sum() / a[:, 1].sum() - b[:, 0].sum() / b[:, 1].sum())
    return float(np.mean(np.array(apart) >= observed - 1e-12))


@pytest.mark.parametrize(("n_a", "n_b", "paired"), [(6, 6, 0), (7, 4, 0), (8, 8, 8), (6, 5, 3)])
def test_clusters_dealt_anew_are_as_by_hand(n_a: int, n_b: int, paired: int) -> None:
    rng = np.random.default_rng(n_a + paired)
    a = np.column_stack([rng.poisson(1.4, n_a), rng.uniform(1, 3, n_a)]).astype(np.float64)
    b = np.column_stack([np.zeros(n_b), rng.uniform(1, 3, n_b)])
    names_a, names_b = [f"a{k}" for k in range(n_a)], [f"b{k}" for k in range(n_b)]
    names_a[:paired] = names_b[:paired] = [f"both{k}" for k in range(paired)]
    assert permutation_p(a, names_a, b, names_b, ratio_of_sums) == pytest.approx(by_hand(a, b, paired), abs=0.012)


def test_medians_of_clusters_dealt_anew_are_scipys() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 7), rng.normal(1.2, 1, 6)
    expected = scipy_stats.permutation_test(
        (a, b), lambda x, y, axis: np.median(x, axis) - np.median(y, axis), n_resamples=np.inf, vectorized=True
    )
    found = permutation_p(a, np.arange(7), b, np.arange(7, 13), MEDIAN)
    assert found == pytest.approx(expected.pvalue, abs=0.012)
    several = permutation_p(np.repeat(a, 5), np.repeat(np.arange(7), 5), b, np.arange(7, 13), MEDIAN)
    assert several > 0.3 * found  # items of one cluster move together: five equal items are no five pieces of evidence
    assert permutation_p(np.zeros(4), np.arange(4), np.zeros(4), np.arange(4), MEDIAN) == 1.0
    means = scipy_stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=2000, rng=1)
    assert permutation_p(a, np.arange(7), b, np.arange(7, 13), mean) == pytest.approx(means.pvalue, abs=0.04)


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
