"""Differences of groups: paired or not, against scipy and published figures; p and interval agree."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from fdbcore.analysis.differences import (
    ALIKE_ON_A_SIDE,
    TOO_FEW_TO_TELL,
    Pool,
    difference,
    estimate,
    verdict,
    with_holm,
)
from fdbcore.errors import InputError
from fdbcore.measures.quantities import Ratio, Share, Values
from fdbcore.stats.bootstrap import MEDIAN, ONE_CLUSTER, bootstrap_ci, difference_ci, mean
from fdbcore.stats.shares import wilson_difference
from fdbcore.stats.significance import detectable_difference, holm
from fdbcore.stats.student import t_quantile


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 2.7, 3, 4, 7, 14.2, 99, 100_000])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.8, 0.9, 0.975, 0.999])
def test_quantiles_of_t_are_scipys(p: float, freedom: float) -> None:
    assert t_quantile(p, freedom) == pytest.approx(scipy_stats.t.ppf(p, freedom), rel=0.00001, abs=1e-9)


@pytest.mark.parametrize(("freedom", "published"), [(1, 12.706), (4, 2.776), (30, 2.042), (math.inf, 1.960)])
def test_quantiles_of_t_are_those_of_the_tables(freedom: float, published: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(published, abs=5e-4)


def test_quantiles_of_t_far_out_of_many_clusters_are_normal() -> None:
    assert t_quantile(1 - 1e-7, 1e9) == pytest.approx(NormalDist().inv_cdf(1 - 1e-7), rel=1e-6)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("calls", [10, 20, 40])
def test_shares_that_are_the_same_are_rarely_told_apart(calls: int, paired: bool) -> None:
    """Lognormal numbers of turns, shares of 10 % with intraclass correlation 0.3, hard or easy for both if paired."""
    random, told = np.random.default_rng(calls), 0
    for _ in range(400):
        n_a, n_b = np.maximum(1, np.rint(6 * np.exp(random.normal(0, 0.9, (2, calls))))).astype(int)
        hard = random.beta(0.1 * 7 / 3, 0.9 * 7 / 3, (2, calls))
        a, b = random.binomial(n_a, hard[0]), random.binomial(n_b, hard[0 if paired else 1])
        none = np.zeros(0 if paired else calls)
        found = wilson_difference([*a, *none], [*n_a, *none], [*none, *b], [*none, *n_b])
        assert found.p is not None
        told += found.p < 0.05
    assert told / 400 < 0.07


@pytest.mark.parametrize("clusters", [5, 12, 40])
def test_an_interval_of_a_mean_is_as_wide_as_students(clusters: int) -> None:
    values = np.random.default_rng(clusters).normal(0, 1, clusters)
    low, high = bootstrap_ci(values, np.arange(clusters)).interval or (0.0, 0.0)
    t = scipy_stats.t.interval(0.95, clusters - 1, values.mean(), scipy_stats.sem(values))
    assert high - low == pytest.approx(t[1] - t[0], rel=0.12)


def apart(a: tuple[int, int], b: tuple[int, int]) -> list[list[int]]:
    """Successes and trials of both, each trial a cluster of its own."""
    successes = [[1] * count + [0] * (n - count) for count, n in (a, b)]
    none_a, none_b = [0] * a[1], [0] * b[1]
    return [[*successes[0], *none_b], [*[1] * a[1], *none_b], [*none_a, *successes[1]], [*none_a, *[1] * b[1]]]


# Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10
@pytest.mark.parametrize(
    ("a", "b", "limits"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ],
)
def test_differences_of_independent_shares_are_the_published_ones(
    a: tuple[int, int], b: tuple[int, int], limits: tuple[float, float]
) -> None:
    successes_a, n_a, successes_b, n_b = apart(a, b)
    found = wilson_difference(successes_a, n_a, successes_b, n_b)
    assert found.value == pytest.approx(a[0] / a[1] - b[0] / b[1])
    assert found.interval == pytest.approx(limits, abs=0.00006)


def test_shares_that_go_together_are_told_apart_sooner() -> None:
    random = np.random.default_rng(1)
    hard = random.uniform(-0.4, 0.4, 40)
    n = np.full(40, 10)
    a, b = random.binomial(n, 0.5 + hard), random.binomial(n, 0.45 + hard)
    none = np.zeros(40)
    paired = wilson_difference(a, n, b, n)
    unpaired = wilson_difference([*a, *none], [*n, *none], [*none, *b], [*none, *n])
    assert paired.value == unpaired.value
    assert paired.interval is not None
    assert unpaired.interval is not None
    assert paired.interval.high - paired.interval.low < 0.7 * (unpaired.interval.high - unpaired.interval.low)


counts = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=12)


@given(counts, st.data())
def test_shares_are_symmetric_and_p_agrees_with_the_interval(
    trials: list[tuple[int, int]], data: st.DataObject
) -> None:
    n_a, n_b = (np.array(of) for of in zip(*trials, strict=True))
    a = np.array([data.draw(st.integers(0, int(n))) for n in n_a])
    b = np.array([data.draw(st.integers(0, int(n))) for n in n_b])
    found, mirrored = wilson_difference(a, n_a, b, n_b), wilson_difference(b, n_b, a, n_a)
    if not n_a.sum() or not n_b.sum():
        assert found.value is None
        assert found.reason == "no items"
        return
    if min((n_a > 0).sum(), (n_b > 0).sum()) < 2:
        assert (found.interval, found.p, found.reason) == (None, None, ONE_CLUSTER)
        return
    assert found.interval is not None
    assert found.p is not None
    low, high = found.interval
    assert mirrored.interval == pytest.approx((-high, -low))
    assert -1 - 1e-9 <= low <= found.value <= high <= 1 + 1e-9  # type: ignore[operator]
    if abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (low > 0 or high < 0)


def test_shares_of_one_cluster_are_not_told_apart() -> None:
    several = [Share(k, 20) for k in (3, 1, 4, 2)]
    for clusters_a in (["x"] * 4, list("abcd")):
        found = difference((several, clusters_a), (several, ["y"] * 4))
        assert (found["value"], found["interval"], found["p"], found["reason"]) == (0.0, None, None, ONE_CLUSTER)
    alone = estimate((several, ["x"] * 4))
    assert (alone.value, alone.interval, alone.reason) == (0.125, None, ONE_CLUSTER)


def latencies(seed: int, clusters: int, shift_ms: float, prefix: str = "") -> Pool:
    random, of = np.random.default_rng(seed), np.random.default_rng(99).normal(0, 200, clusters)
    values = [Values("ms", (800 + of[k] + shift_ms + random.normal(0, 50, 8)).tolist()) for k in range(clusters)]
    return values, [f"{prefix}{k}" for k in range(clusters)]


def test_clusters_in_common_make_it_paired() -> None:
    a, b = latencies(1, 30, 0.0), latencies(2, 30, 60.0)
    paired, unpaired = difference(a, b), difference(a, latencies(2, 30, 60.0, "other"))
    assert (paired["shared"], paired["clusters"]) == (30, 30)
    assert (unpaired["shared"], unpaired["clusters"]) == (0, 60)
    assert paired["value"] == unpaired["value"] == pytest.approx(-60, abs=40)
    assert paired["p"] is not None
    assert unpaired["p"] is not None
    assert paired["p"] < 0.01 < unpaired["p"]
    assert paired["detectable"] is not None
    assert unpaired["detectable"] is not None
    assert paired["detectable"] < unpaired["detectable"]


def test_what_is_compared_is_what_stats_compares() -> None:
    a, b = latencies(1, 12, 0.0), latencies(2, 9, 60.0)
    values = [np.concatenate([q.values for q in of if isinstance(q, Values)]) for of, _ in (a, b)]
    clusters = [np.repeat(np.arange(n), 8) for n in (12, 9)]
    found = difference(a, b)
    expected = difference_ci(values[0], clusters[0], values[1], clusters[1], MEDIAN, paired=True)
    assert found["value"] == expected.value
    assert found["interval"] == pytest.approx(expected.interval, abs=25)  # other names, so other draws
    other = difference(a, (b[0], [f"o{name}" for name in b[1]]))
    independent = difference_ci(values[0], clusters[0], values[1], clusters[1] + 100, MEDIAN, paired=False)
    assert other["interval"] == pytest.approx(independent.interval, abs=25)


def test_independent_means_are_welchs() -> None:
    random = np.random.default_rng(6)
    a, b = random.normal(0, 1, 60), random.normal(0.5, 2, 45)
    found = difference_ci(a, np.arange(60), b, np.arange(45), mean, paired=False)
    welch = scipy_stats.ttest_ind(a, b, equal_var=False)
    assert found.interval == pytest.approx(tuple(welch.confidence_interval()), abs=0.08)
    assert found.p == pytest.approx(welch.pvalue, abs=0.03)


@pytest.mark.parametrize("shift_ms", [0.0, 20.0, 40.0, 60.0, 80.0])
def test_p_of_a_bootstrap_agrees_with_its_interval(shift_ms: float) -> None:
    found = difference(latencies(3, 14, 0.0), latencies(4, 14, shift_ms))
    assert found["interval"] is not None
    assert found["p"] is not None
    assert (found["p"] < 0.05) == (found["interval"][0] > 0 or found["interval"][1] < 0)


def test_the_detectable_difference_of_a_mean_is_that_of_a_t_test() -> None:
    random = np.random.default_rng(5)
    totals = random.normal(5, 1, (2, 40))
    pools: list[Pool] = [([Ratio("1/min", float(t), 1.0, 1) for t in of], list(map(str, range(40)))) for of in totals]
    found = difference(*pools)
    sd = float(np.std(totals[0] - totals[1], ddof=1))
    assert found["detectable"] == pytest.approx(detectable_difference(sd, 40), rel=0.1)


def test_what_is_detectable_is_found_in_four_of_five_studies() -> None:
    random, n = np.random.default_rng(7), np.full(60, 10)
    first = wilson_difference(random.binomial(n, 0.3), n, random.binomial(n, 0.3), n)
    assert first.interval is not None
    seen = (first.interval.high - first.interval.low) / 2 * (1 + NormalDist().inv_cdf(0.8) / 1.96)
    found = [wilson_difference(random.binomial(n, 0.3 + seen), n, random.binomial(n, 0.3), n).p for _ in range(200)]
    assert 0.7 < np.mean([p < 0.05 for p in found if p is not None]) < 0.9


def test_holm_is_over_those_that_have_a_p() -> None:
    family = [difference(latencies(k, 10, 0.0), latencies(k + 50, 10, 20.0 * k)) for k in range(4)]
    nothing = difference(([], []), latencies(1, 10, 0.0))
    corrected = with_holm([family[0], nothing, *family[1:]])
    assert (nothing["value"], nothing["reason"]) == (None, "no items")
    assert corrected[1]["p_holm"] is None
    of = [corrected[0], *corrected[2:]]
    assert [each["p_holm"] for each in of] == holm([each["p"] for each in of if each["p"] is not None])


def test_shares_without_any_success_have_an_interval() -> None:
    pools: list[Pool] = [([Share(0, 20), Share(0, 30)], ["x", "y"]), ([Share(0, 25), Share(0, 9)], ["x", "z"])]
    found = difference(*pools)
    assert found["value"] == 0.0
    assert found["interval"] is not None
    assert found["interval"][0] < 0 < found["interval"][1]
    assert found["p"] == pytest.approx(1.0)


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(InputError, match="expected successes from 0 to n"):
        wilson_difference([3], [2], [1], [2])


@pytest.mark.parametrize(
    ("of_a", "of_b", "kind"),
    [(3, 2, "values"), (3, 3, "values"), (3, 2, "shares"), (2, 2, "shares"), (3, 3, "rates"), (6, 2, "rates")],
)
def test_too_few_calls_show_no_difference_as_no_exact_test_would(of_a: int, of_b: int, kind: str) -> None:
    """The exact test is over all ways to deal the calls to the groups, as SciPy counts it."""
    rng = np.random.default_rng(5)

    def pool(n: int, high: float, name: str) -> Pool:
        quantities: dict[str, list[Values] | list[Share] | list[Ratio]] = {
            "values": [Values("ms", [high + rng.normal() for _ in range(9)]) for _ in range(n)],
            "shares": [Share(round(high / 10), 100) for _ in range(n)],
            "rates": [Ratio("1/min", high + rng.normal(), 10.0, 5) for _ in range(n)],
        }
        return quantities[kind], [f"{name}{k}" for k in range(n)]

    a, b = pool(of_a, 900.0, "a"), pool(of_b, 100.0, "b")
    exact = scipy_stats.permutation_test(
        ([1.0 + k / 9 for k in range(of_a)], [k / 9 for k in range(of_b)]),
        lambda x, y: np.mean(x) - np.mean(y),
        n_resamples=np.inf,
    )
    smallest = 2 / math.comb(of_a + of_b, of_a)
    assert exact.pvalue == pytest.approx(smallest)
    found = difference(a, b)
    assert found["p"] == pytest.approx(smallest)


@pytest.mark.parametrize(("clips", "smallest"), [(3, 0.25), (5, 0.0625)])
def test_too_few_pairs_show_no_difference_as_no_test_of_signs_would(clips: int, smallest: float) -> None:
    names = [f"c{k}" for k in range(clips)]
    a: Pool = [Values("ms", [900.0 + k, 910.0 + 2 * k]) for k in range(clips)], names
    b: Pool = [Values("ms", [100.0 + k, 105.0 + 3 * k]) for k in range(clips)], names
    signs = scipy_stats.wilcoxon([800.0 + k for k in range(clips)], method="exact")
    assert signs.pvalue == pytest.approx(smallest)
    found = difference(a, b)
    assert found["p"] == pytest.approx(smallest)


def rates(events: Sequence[float], prefix: str) -> Pool:
    """Calls of two minutes with these events."""
    return [Ratio("1/min", float(n), 2.0, int(n)) for n in events], [f"{prefix}{k}" for k in range(len(events))]


def test_events_on_one_side_alone_are_told_by_the_test_that_needs_no_spread() -> None:
    """Eight calls of ten with an event, against none: a bootstrap of the side without any shows no spread."""
    found = difference(rates([1] * 8 + [0] * 2, "a"), rates([0] * 10, "b"))
    assert (found["value"], found["interval"], found["reason"]) == (0.4, None, ALIKE_ON_A_SIDE)
    exact = scipy_stats.fisher_exact([[8, 2], [0, 10]]).pvalue
    assert found["p"] == pytest.approx(exact, abs=0.001)
    (corrected,) = with_holm([found])
    assert verdict(corrected, "less") == "worse"
    assert verdict(corrected, None) == "different"
    few = with_holm([difference(rates([1, 0, 0, 0, 0], "a"), rates([0] * 6, "b"))])[0]
    assert verdict(few, "less") == "no difference found"
    fewer = with_holm([difference(rates([4, 4, 4], "a"), rates([0] * 2, "b"))])[0]
    assert (verdict(fewer, "less"), fewer["reason"]) == ("undecided", TOO_FEW_TO_TELL)


@pytest.mark.parametrize(("calls", "rate"), [((10, 10), 0.03), ((10, 10), 0.1), ((12, 30), 0.05)])
def test_rare_events_that_are_as_common_are_rarely_told_apart(calls: tuple[int, int], rate: float) -> None:
    """Events in bunches (negative binomial) and calls of unequal length; often one side has none."""
    random, told, alike = np.random.default_rng(3), 0, 0
    for _ in range(150):
        pools: list[Pool] = []
        for n, prefix in zip(calls, "ab", strict=True):
            minutes = np.exp(random.normal(math.log(2), 0.6, n))
            events = random.poisson(random.gamma(1 / 3, 3 * rate, n) * minutes)
            pools.append(
                (
                    [Ratio("1/min", float(k), float(m), int(k)) for k, m in zip(events, minutes, strict=True)],
                    [f"{prefix}{k}" for k in range(n)],
                )
            )
        found = difference(*pools)
        told += found["p"] is not None and found["p"] < 0.05
        alike += found["reason"] == ALIKE_ON_A_SIDE
    assert alike > 15
    assert told / 150 < 0.08


def naive_p(a: Pool, b: Pool) -> float:
    """1 less the highest level at which an interval of the difference leaves 0 out, as the books have it: clusters
    drawn by hand, percentiles beyond those of the level by t and by (k - 1) / k (Hesterberg 2015)."""
    random, draws = np.random.default_rng(8), []
    for pooled, _ in (a, b):
        values = [np.array(q.values) for q in pooled if isinstance(q, Values)]
        chosen = random.integers(len(values), size=(2000, len(values)))
        draws.append([float(np.median(np.concatenate([values[k] for k in of]))) for of in chosen])
    apart = np.sort(np.array(draws[0]) - np.array(draws[1]))
    k, wide = len(a[0]), 0.0
    for level in np.arange(0.001, 1, 0.001):
        beyond = scipy_stats.norm.cdf(-scipy_stats.t.ppf((1 + level) / 2, k - 1) * math.sqrt(k / (k - 1)))
        low, high = np.quantile(apart, [beyond, 1 - beyond])
        wide = level if low > 0 or high < 0 else wide
    return 1 - wide


@pytest.mark.parametrize("shift_ms", [30.0, 90.0, 150.0])
def test_p_of_medians_is_that_of_a_bootstrap_by_hand(shift_ms: float) -> None:
    a, (values, names) = latencies(3, 16, 0.0), latencies(4, 16, shift_ms)
    found = difference(a, (values, [f"other {name}" for name in names]))
    # the effective number of clusters of two sides lies between that of one and that of both
    assert found["p"] == pytest.approx(naive_p(a, (values, names)), abs=0.05)
