"""Intervals against scipy, published values and simulated coverage; and where no figure may be given."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import (
    MEDIAN,
    Estimate,
    Interval,
    Quantile,
    Statistic,
    bootstrap_ci,
    bootstrap_columns,
    difference_ci,
    mean,
    quantile,
    ratio_of_sums,
)
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.stats.student import effective_number

Floats = npt.NDArray[np.float64]
Z2 = 1.959964**2


def calls_of_turns(rng: np.random.Generator, calls: int, turns: int, intraclass: float) -> Floats:
    """Turns of calls, mean 0, variance 1, with this intraclass correlation: (calls * turns,)."""
    of_call = rng.normal(0, np.sqrt(intraclass), (calls, 1))
    return np.ravel(of_call + rng.normal(0, np.sqrt(1 - intraclass), (calls, turns)))


def limits(estimate: Estimate) -> Interval:
    assert estimate.interval is not None, estimate.reason
    return estimate.interval


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Scipy's, for independent trials."""
    limits = scipy_stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return Interval(limits.low, limits.high)


@given(st.integers(2, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_scipys_where_each_trial_is_a_cluster(share: tuple[int, int], level: float) -> None:
    successes, n = share
    found = wilson_by_cluster(np.arange(n) < successes, np.ones(n), level)
    assert found == pytest.approx(wilson(successes, n, level), abs=1e-12)


def test_wilson_at_the_ends() -> None:
    assert wilson_by_cluster([0] * 9, [1] * 9) == pytest.approx((0.0, Z2 / (9 + Z2)), rel=1e-6)
    assert wilson_by_cluster([1] * 18, [1] * 18) == pytest.approx((18 / (18 + Z2), 1.0), rel=1e-6)
    with pytest.raises(InputError, match="from 0 to n"):
        wilson_by_cluster([5, 1], [4, 1])


@pytest.mark.parametrize(("statistic", "numpys"), [(mean, np.mean), (MEDIAN, np.median), (np.std, np.std)])
def test_interval_of_independent_items_is_scipys_percentile_bootstrap(statistic: Statistic, numpys: Statistic) -> None:
    values = np.random.default_rng(2).gamma(2.0, 1.0, 80)
    estimate = bootstrap_ci(values, np.arange(80), statistic)
    expected = scipy_stats.bootstrap((values,), numpys, n_resamples=10_000, method="percentile", rng=1)
    low, high = expected.confidence_interval
    assert estimate.value == pytest.approx(numpys(values))
    assert limits(estimate) == pytest.approx((low, high), abs=0.06 * (high - low))


def test_resampling_calls_covers_where_resampling_turns_does_not() -> None:
    rng = np.random.default_rng(11)
    calls, turns = np.repeat(np.arange(40), 12), np.arange(480)
    covered = np.zeros(2)
    for _ in range(200):
        values = calls_of_turns(rng, 40, 12, intraclass=0.3)
        for which, clusters in enumerate((calls, turns)):
            low, high = limits(bootstrap_ci(values, clusters, resamples=500))
            covered[which] += low <= 0 <= high
    by_call, by_turn = covered / 200
    assert 0.86 <= by_call <= 0.99
    assert 0.5 <= by_turn <= 0.82


def test_rate_is_the_ratio_of_sums_over_calls_not_the_mean_of_rates() -> None:
    events_and_minutes = [[4, 1.0], [0, 3.0], [2, 4.0]]
    estimate = bootstrap_ci(events_and_minutes, ["a", "b", "c"], ratio_of_sums)
    assert estimate.value == 6 / 8
    assert limits(estimate) == (0.0, 4.0)  # the most extreme resample takes one call three times: 1 in 27, above 2.5 %


@pytest.mark.parametrize("statistic", [mean, MEDIAN, np.mean])
def test_same_seed_same_interval_whatever_the_clusters_are_called(statistic: Statistic) -> None:
    values = np.random.default_rng(3).random(60)
    calls = np.repeat(np.arange(12), 5)
    by_number = bootstrap_ci(values, calls, statistic, resamples=500)
    assert by_number == bootstrap_ci(values, [f"call {call:02}" for call in calls], statistic, resamples=500)
    assert by_number.interval != bootstrap_ci(values, calls, statistic, resamples=500, seed=1).interval
    assert by_number.clusters == 12


@pytest.mark.parametrize("statistic", [mean, MEDIAN, np.mean])
def test_the_order_of_items_changes_nothing(statistic: Statistic) -> None:
    rng = np.random.default_rng(4)
    values, calls = rng.random((2, 60)), rng.integers(12, size=60)
    orders = [np.arange(60), rng.permutation(60), rng.permutation(60)]
    alone = {bootstrap_ci(values[0][order], calls[order], statistic, resamples=500) for order in orders}
    paired = {
        difference_ci(values[0][a], calls[a], values[1][b], calls[b], statistic, paired=True, resamples=500)
        for a, b in zip(orders, reversed(orders), strict=True)
    }
    assert (len(alone), len(paired)) == (1, 1)


def test_paired_difference_of_the_same_items_is_the_interval_of_their_differences() -> None:
    rng = np.random.default_rng(4)
    hardness = rng.normal(0, 3, 50)
    a, b, items = hardness + rng.normal(0.5, 1, 50), hardness + rng.normal(0, 1, 50), np.arange(50)
    paired = difference_ci(a, items, b, items, paired=True)
    of_differences = bootstrap_ci(a - b, items)
    assert paired.value == pytest.approx(of_differences.value)
    assert limits(paired) == pytest.approx(limits(of_differences))
    unpaired = difference_ci(a, items, b, items + 50, paired=True)
    assert np.ptp(limits(unpaired)) > 2 * np.ptp(limits(paired))


def test_paired_difference_allows_unequal_items_per_cluster() -> None:
    estimate = difference_ci([1, 2, 3, 9], [0, 0, 1, 2], [1, 5, 3], [0, 1, 3], MEDIAN, paired=True)
    assert (estimate.value, estimate.clusters) == (2.5 - 3, 4)
    assert estimate.interval is None  # a resample of clusters 2 alone has no items of B
    assert "undefined in" in estimate.reason


@pytest.mark.parametrize(
    ("q", "for_value", "for_interval"),
    [(0.5, 1, 1), (0.9, 1, 1), (0.95, 100, 200), (0.05, 100, 200), (0.99, 500, 1000)],
)
def test_tails_need_items(q: float, for_value: int, for_interval: int) -> None:
    for n in {7, for_value - 1, for_value, for_interval - 1, for_interval} - {0, 1}:
        values = np.random.default_rng(n).random(n)
        estimate = bootstrap_ci(values, np.arange(n), Quantile(q), resamples=50)
        assert (estimate.value is None) == (quantile(values, q) is None) == (n < for_value)
        assert (estimate.interval is None) == (n < for_interval)
        assert bool(estimate.reason) == (n < for_interval)


def test_one_cluster_has_no_interval_and_says_so() -> None:
    estimate = bootstrap_ci([1.0, 2.0, 4.0], ["only"] * 3, MEDIAN)
    assert (estimate.value, estimate.interval, estimate.clusters) == (2.0, None, 1)
    assert "one cluster" in estimate.reason


def test_all_of_eighteen_has_no_bootstrap_interval() -> None:
    estimate = bootstrap_ci(np.ones(18), np.arange(18))
    assert (estimate.value, estimate.interval) == (1.0, None)
    assert "all clusters have the same value" in estimate.reason
    assert bootstrap_ci(np.ones(100), np.arange(100)).interval == (1.0, 1.0)


@pytest.mark.parametrize("paired", [True, False])
def test_few_clusters_that_agree_on_one_side_leave_a_difference_without_interval(paired: bool) -> None:
    varied = np.random.default_rng(1).normal(30, 1, 100)
    for n, known in ((3, False), (99, False), (100, True)):
        estimate = difference_ci(np.zeros(n), np.arange(n), varied[:n], np.arange(n), paired=paired)
        assert estimate.value == pytest.approx(-varied[:n].mean())
        assert (estimate.interval is not None) == (estimate.p is not None) == known
        assert ("all clusters have the same value" in estimate.reason) != known


@pytest.mark.parametrize("value", [0.1, 0.3, -1 / 3])
def test_items_that_agree_but_for_rounding_agree(value: float) -> None:
    assert bootstrap_ci(np.full(18, value), np.arange(18)).interval is None
    assert bootstrap_columns(np.full((18, 1), value))[0].interval is None


@pytest.mark.parametrize("statistic", [mean, MEDIAN, ratio_of_sums, np.std])
def test_no_items_have_no_value(statistic: Statistic) -> None:
    assert bootstrap_ci([], [], statistic) == Estimate(None, None, 0, "no items")
    assert quantile([], 0.5) is None


def test_a_rate_without_minutes_is_undefined() -> None:
    assert bootstrap_ci([[3, 0], [1, 0]], [0, 1], ratio_of_sums).value is None


@pytest.mark.parametrize(
    ("values", "clusters", "statistic", "message"),
    [
        ([1.0, np.nan], [0, 1], mean, "got nan at item 1"),
        ([1.0, 2.0, np.inf], [0, 1, 2], MEDIAN, "got inf at item 2"),
        ([1.0, 2.0], [0], mean, "an id for each of 2 items"),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 1], mean, r"expected \(n,\) for this statistic, got \(2, 2\)"),
        ([1.0, 2.0], [0, 1], ratio_of_sums, r"expected \(n, 2\) for this statistic, got \(2,\)"),
        ([[[1.0]]], [0], np.std, r"expected \(n,\) or \(n, columns\), got \(1, 1, 1\)"),
    ],
)
def test_bad_input_is_named(values: list[float], clusters: list[int], statistic: Statistic, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_ci(values, clusters, statistic)


@pytest.mark.parametrize("q", [0.0, 1.0, -0.5, 95])
def test_a_quantile_lies_between_0_and_1(q: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        Quantile(q)


def test_clustered_wilson_is_plain_where_clusters_do_not_matter() -> None:
    assert wilson_by_cluster([1] * 7 + [0] * 13, [1] * 20) == pytest.approx(wilson(7, 20), abs=1e-12)
    assert wilson_by_cluster([0] * 20, [1] * 20) == pytest.approx(wilson(0, 20), abs=1e-12)
    assert wilson_by_cluster([], []) is None
    assert wilson_by_cluster([7, 0], [20, 0]) is None
    with pytest.raises(InputError, match="from 0 to n"):
        wilson_by_cluster([3], [2])


def test_a_few_calls_that_agree_are_not_taken_for_independent_turns() -> None:
    for agreeing, alone in (([2, 2, 2], wilson(6, 15)), ([5, 5, 5], wilson(15, 15)), ([0, 0, 0], wilson(0, 15))):
        found = wilson_by_cluster(agreeing, [5, 5, 5])
        assert found is not None
        assert found.high - found.low > 1.1 * (alone.high - alone.low)
    many = wilson_by_cluster([2] * 2000, [5] * 2000)
    assert many == pytest.approx(wilson(4000, 10_000), abs=1e-3)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("calls", [10, 20, 40])
def test_shares_of_unequal_calls_are_covered(share: float, calls: int) -> None:
    """Lognormal numbers of turns, beta distributed shares of calls with intraclass correlation 0.3."""
    random = np.random.default_rng(calls)
    covered = 0
    for _ in range(600):
        n = np.maximum(1, np.rint(6 * np.exp(random.normal(0, 0.9, calls)))).astype(int)
        counts = random.binomial(n, random.beta(share * 7 / 3, (1 - share) * 7 / 3, calls))
        found = wilson_by_cluster(counts, n)
        assert found is not None
        covered += found.low <= share <= found.high
    assert covered / 600 > 0.915


def test_unequal_calls_are_worth_fewer() -> None:
    values = np.random.default_rng(8).normal(0, 1, 120)
    even, uneven = np.repeat(np.arange(12), 10), np.minimum(np.arange(120) // 5, 11)
    of_even, of_uneven = (np.ptp(limits(bootstrap_ci(values, of))) for of in (even, uneven))
    assert of_uneven > 1.1 * of_even
    assert effective_number([1, *[0.1] * 11]) == pytest.approx(2.1**2 / 1.11)
    assert effective_number(np.full(7, 3.0)) == pytest.approx(7)
    assert effective_number([]) == 0


def test_clustered_wilson_covers_where_the_plain_one_does_not() -> None:
    """20 calls of 12 turns whose rates differ by call (beta with intraclass correlation 0.3)."""
    rng = np.random.default_rng(3)
    covered = {"plain": 0, "clustered": 0}
    for _ in range(400):
        rates = rng.beta(0.7 * 7 / 3, 0.3 * 7 / 3, 20)
        counts = rng.binomial(12, rates)
        intervals = {"plain": wilson(int(counts.sum()), 240), "clustered": wilson_by_cluster(counts, np.full(20, 12))}
        for name, interval in intervals.items():
            assert interval is not None
            covered[name] += interval.low <= 0.7 <= interval.high
    assert covered["plain"] / 400 < 0.75
    assert covered["clustered"] / 400 > 0.89


def test_columns_have_the_intervals_of_one_at_a_time() -> None:
    values = np.random.default_rng(5).gamma(2.0, 1.0, (70, 4))
    for column, estimate in zip(values.T, bootstrap_columns(values, seed=3), strict=True):
        alone = bootstrap_ci(column, np.arange(70), seed=3)
        assert (estimate.value, *limits(estimate)) == pytest.approx((alone.value, *limits(alone)))
        assert estimate.clusters == 70


def test_columns_by_cluster_have_the_intervals_of_one_at_a_time() -> None:
    rng = np.random.default_rng(7)
    values, clusters = rng.gamma(2.0, 1.0, (70, 3)), np.repeat([f"call {k}" for k in range(10)], [*range(2, 11), 16])
    for column, estimate in zip(values.T, bootstrap_columns(values, clusters), strict=True):
        alone = bootstrap_ci(column, clusters)
        assert (estimate.value, *limits(estimate)) == pytest.approx((alone.value, *limits(alone)))
        assert estimate.clusters == 10
    (one,) = bootstrap_columns(values[:, :1], ["call"] * 70)
    assert (one.interval, one.clusters) == (None, 1)


def test_a_column_of_differences_is_the_paired_interval() -> None:
    a, b = np.random.default_rng(6).normal(size=(2, 50))
    (estimate,) = bootstrap_columns((a - b)[:, None])
    expected = difference_ci(a, np.arange(50), b, np.arange(50), paired=True)
    assert limits(estimate) == pytest.approx(limits(expected))


def test_intervals_of_repeated_measurements_cover_the_mean() -> None:
    rng = np.random.default_rng(12)
    covered = 0
    for _ in range(300):
        items = rng.normal(0.5, 0.3, (40, 1)) + rng.normal(0, 0.4, (40, 3))
        (estimate,) = bootstrap_columns(items[:, :, None], resamples=400)
        low, high = limits(estimate)
        covered += low <= 0.5 <= high
    assert 0.93 <= covered / 300  # of one pass, and so wider than the mean of three needs


def test_the_spread_over_repeats_is_in_the_interval() -> None:
    rng = np.random.default_rng(13)
    steady = np.repeat(rng.normal(size=(60, 1)), 3, axis=1)
    (without,) = bootstrap_columns(steady[:, :, None])
    (alike,) = bootstrap_columns(steady[:, :1, None])
    (spread,) = bootstrap_columns((steady + rng.normal(0, 1, (60, 3)))[:, :, None])
    width = {name: np.ptp(limits(one)) for name, one in (("0", without), ("1", alike), ("s", spread))}
    assert width["0"] == pytest.approx(width["1"], rel=0.05)
    assert width["s"] > 1.25 * width["0"]


def test_columns_that_miss_items_are_of_those_they_have() -> None:
    values = np.array([[1.0, np.nan, np.nan], [2.0, 5.0, np.nan], [4.0, np.nan, np.nan]])
    whole, one, none = bootstrap_columns(values)
    assert whole.value == pytest.approx(7 / 3)
    assert whole.clusters == 3
    assert (one.value, one.interval, one.clusters) == (5.0, None, 1)
    assert (none.value, none.reason) == (None, "no items")
    with pytest.raises(InputError, match="expected finite numbers"):
        bootstrap_columns([[np.inf]])


def test_a_column_that_some_resamples_miss_has_no_interval() -> None:
    values = np.array([[1.0], [2.0], *[[np.nan]] * 6])
    (estimate,) = bootstrap_columns(values)
    assert estimate.interval is None
    assert "undefined in" in estimate.reason


def many_clusters() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """The items of 60,000 clusters, which differ from each other, and the cluster of each item."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(60_000), rng.integers(1, 5, 60_000))
    return rng.normal(size=60_000)[clusters] + rng.normal(size=len(clusters)), clusters


def test_very_many_clusters_have_the_interval_of_the_central_limit_theorem() -> None:
    values, clusters = many_clusters()
    beyond = np.bincount(clusters, weights=values - values.mean())
    spread = math.sqrt(float(np.square(beyond).sum())) / len(values)  # of a ratio of sums, over clusters
    found = bootstrap_ci(values, clusters, mean)
    assert found.clusters == 60_000
    assert found.interval is not None
    low, high = found.interval
    assert (high - low) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.04)
    assert (low + high) / 2 == pytest.approx(found.value, abs=0.1 * spread)
    median = bootstrap_ci(values, clusters, MEDIAN)
    below = np.bincount(clusters, weights=(values < np.median(values)) - 0.5)
    near = np.abs(values - np.median(values)) < 0.1
    per_unit = near.mean() / 0.2  # the density at the median
    of_median = math.sqrt(float(np.square(below).sum())) / len(values) / per_unit
    assert median.interval is not None
    assert (median.interval.high - median.interval.low) / (2 * 1.96 * of_median) == pytest.approx(1, abs=0.06)


def test_very_many_clusters_stay_paired() -> None:
    values, clusters = many_clusters()
    more = values + np.random.default_rng(6).normal(0.1, 0.01, len(values))
    paired = difference_ci(more, clusters, values, clusters, mean, paired=True)
    beyond = np.bincount(clusters, weights=more - values - 0.1)
    spread = math.sqrt(float(np.square(beyond).sum())) / len(values)
    assert paired.interval is not None
    assert (paired.interval.high - paired.interval.low) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.04)
