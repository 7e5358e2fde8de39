"""Items are pooled, compared and counted as passing: against loops that try everything, and another library."""

import re
from collections.abc import Sequence
from itertools import combinations, product
from statistics import fmean, median, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy.stats import binomtest

from fdbcore.results.comparing import detectable, differences, every_two, gated_differences
from fdbcore.results.pooling import (
    ScoredItem,
    draws_of_ids,
    figure_of_ids,
    figure_of_values,
    passes_of,
    rows_of,
    trimmed_mean,
    with_sd,
)
from fdbcore.types.scorecard import Difference, Measure

SHARE = Measure("share", "share", 1, pools="share", compared=True)
MEAN = Measure("mean", "mean", 1, compared=True)
MIDDLE = Measure("mean", "mean", 1, pools="median")
VALUES = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


@st.composite
def scored(draw: st.DrawFn, most_ids: int = 8) -> list[ScoredItem]:
    """Items of two systems under two conditions: trials of some ids, with several values, one or none."""
    items = []
    for condition, system in product(("day", "night"), "ab"):
        for name in draw(st.lists(st.sampled_from("stuvwxyz"[:most_ids]), max_size=12)):
            values = {
                "share": draw(st.lists(st.sampled_from((0.0, 1.0)), max_size=3)),
                "mean": draw(st.lists(VALUES, max_size=3)),
            }
            subset = draw(st.sampled_from(("hot", "cold")))
            items.append(ScoredItem(condition, system, name, values, {}, [subset]))
    return items


def of(items: Sequence[ScoredItem], condition: str, system: str) -> list[ScoredItem]:
    return [item for item in items if (item.condition, item.system) == (condition, system)]


def flat(items: Sequence[ScoredItem], measure: str) -> list[float]:
    return [value for item in items for value in item.values[measure]]


def means(items: Sequence[ScoredItem], measure: str) -> dict[str, float]:
    found = {item.id: flat([each for each in items if each.id == item.id], measure) for item in items}
    return {name: fmean(own) for name, own in found.items() if own}


@settings(deadline=None, max_examples=40)
@given(scored())
def test_figures_are_over_all_values_of_a_row(items: list[ScoredItem]) -> None:
    rows = list(rows_of(items, [SHARE, MEAN], ["hot", "cold"], with_sd))
    assert {(row.condition, row.system) for row in rows} == {(item.condition, item.system) for item in items}
    for row in rows:
        own = of(items, row.condition, row.system)
        own = [item for item in own if row.subset in ("", *item.subsets)]
        assert row.n == len(own) > 0
        for scale in (SHARE, MEAN):
            values, found = flat(own, scale.id), row.measures.get(scale.id)
            assert (found is None) == (not values)
            if found is not None:
                assert found.value == pytest.approx(fmean(values))
                assert found.n == len(values)
                spread = stdev(values) if scale is MEAN and len(values) > 1 else None
                assert found.sd == (None if spread is None else pytest.approx(spread, abs=1e-9))
        middle, values = figure_of_values(own, MIDDLE), flat(own, "mean")
        assert (None if middle is None else middle.value) == (pytest.approx(median(values)) if values else None)


@settings(deadline=None, max_examples=40)
@given(scored())
def test_each_id_weighs_the_same_where_ids_are_pooled(items: list[ScoredItem]) -> None:
    for condition, system in product(("day", "night"), "ab"):
        own = of(items, condition, system)
        found, expected = figure_of_ids(own, MEAN), means(own, "mean")
        assert (None if found is None else found.value) == (
            pytest.approx(fmean(expected.values()), abs=1e-9) if expected else None
        )


@settings(deadline=None, max_examples=40)
@given(scored(), st.booleans())
def test_each_id_has_its_draws_whatever_is_known_of_it(items: list[ScoredItem], has_draws: bool) -> None:
    if has_draws:
        items = [structs.replace(item, draws=[{"mean": 1.0}, {}]) for item in items]
    for condition, system in product(("day", "night"), "ab"):
        own = of(items, condition, system)
        for measure in ("share", "mean", "none"):
            drawn = draws_of_ids(own, measure)
            assert list(drawn) == sorted({item.id for item in own})
            assert {cells.shape for cells in drawn.values()} <= {(2 if has_draws else 1,)}


@pytest.mark.parametrize("right", range(1, 12))
def test_the_interval_of_a_share_is_wilsons_where_each_id_has_one_value(right: int) -> None:
    items = [ScoredItem("day", "a", f"{n}", {"share": [float(n < right)]}) for n in range(12)]
    found = figure_of_values(items, SHARE)
    assert found is not None
    assert found.ci95 is not None
    assert tuple(found.ci95) == pytest.approx(tuple(binomtest(right, 12).proportion_ci(method="wilson")), abs=1e-9)


def test_the_widest_interval_of_several_kinds_of_clusters_is_given() -> None:
    random = np.random.default_rng(1)
    by_speaker = random.normal(0, 1, 10)
    items = [
        ScoredItem("day", "a", f"{n}", {"mean": [float(by_speaker[n % 10] + random.normal(0, 0.1))]},
                   {"speaker": f"s{n % 10}", "scenario": f"c{n}"})
        for n in range(60)
    ]  # fmt: skip
    both = figure_of_values(items, MEAN)
    alone = {}
    for kind in ("speaker", "scenario"):
        one = [ScoredItem("day", "a", item.id, item.values, {kind: item.clusters[kind]}) for item in items]
        alone[kind] = figure_of_values(one, MEAN)
    assert both is not None
    assert both.by == "speaker"
    assert both == alone["speaker"]
    assert alone["scenario"] != both


@settings(deadline=None, max_examples=40)
@given(scored(most_ids=6).map(lambda items: sorted(items, key=lambda item: item.system)), st.randoms())
def test_the_order_of_items_changes_nothing(items: list[ScoredItem], random: object) -> None:
    """But for which system comes first, which is the user's choice."""
    other = [*items]
    random.shuffle(other)  # type: ignore[attr-defined]
    other.sort(key=lambda item: item.system)

    def pooled(given: list[ScoredItem]) -> list[str]:
        rows = [*rows_of(given, [SHARE, MEAN], figure=with_sd), *rows_of(given, [MEAN], figure=figure_of_ids)]
        compared = [*differences(every_two(given), [SHARE, MEAN]), *gated_differences(every_two(given), [SHARE, MEAN])]
        return sorted(map(repr, [*rows, *compared, passes_of(given, lambda item: bool(item.values["share"]))]))

    for one, another in zip(pooled(items), pooled(other), strict=True):
        assert numbers(one) == pytest.approx(numbers(another), abs=1e-9)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def exact_p(column: Sequence[float]) -> float:
    """All signs of all differences."""
    sums = [abs(sum(sign * value for sign, value in zip(signs, column, strict=True)))
            for signs in product((1, -1), repeat=len(column))]  # fmt: skip
    return fmean(each >= abs(sum(column)) - 1e-9 * sum(map(abs, column)) for each in sums)


def holm_of(ps: Sequence[float]) -> list[float]:
    """Each p times the number of those that are not smaller, and never below a smaller one's."""
    order = sorted(range(len(ps)), key=lambda k: ps[k])
    return [
        min(1.0, max((len(ps) - rank) * ps[k] for rank, k in enumerate(order[: order.index(own) + 1])))
        for own in range(len(ps))
    ]


@settings(deadline=None, max_examples=40)
@given(scored())
def test_systems_are_compared_on_the_ids_that_both_have(items: list[ScoredItem]) -> None:
    found = differences(every_two(items), [SHARE, MEAN])
    expected = {}
    for condition, scale in product(("day", "night"), (SHARE, MEAN)):
        a, b = (means(of(items, condition, system), scale.id) for system in "ab")
        if shared := sorted(a.keys() & b.keys()):
            expected[condition, scale.id] = [a[name] - b[name] for name in shared]
    assert {(one.condition, one.measure) for one in found} == expected.keys()
    for one in found:
        column = expected[one.condition, one.measure]
        sign = 1 if one.a == "a" else -1
        assert one.n == len(column)
        assert one.difference == pytest.approx(sign * fmean(column), abs=1e-9)
        assert one.p == pytest.approx(exact_p(column))
    ps = [one.p for one in found if one.p is not None]
    assert [one.p_corrected for one in found] == pytest.approx(holm_of(ps))


def compared(apart: float, others: Sequence[Measure]) -> list[Difference]:
    """Two systems on 12 scenarios of 6 speakers, so far apart in the first measure, and by 1 in the others."""
    items = [
        ScoredItem(
            condition, system, f"i{n}",
            {"first": [apart * (system == "a") + 0.01 * (n % 5)], "mean": [(system == "a") + 0.01 * (n % 3)]},
            {"speaker": f"s{n % 6}", "scenario": f"c{n}"},
        )
        for condition in ("day", "night") for system in "ab" for n in range(12)
    ]  # fmt: skip
    return gated_differences(every_two(items), [Measure("first", "first", 1, compared=True), *others])


def test_a_gate_opens_the_other_measures_of_its_pair_alone() -> None:
    differ = {(one.condition, one.measure): one for one in compared(1.0, [MEAN])}
    assert len(differ) == 4, "one family over both conditions"
    assert all(one.p_corrected is not None and one.p_corrected < 0.05 for one in differ.values())
    alike = {(one.condition, one.measure): one for one in compared(0.0, [MEAN])}
    assert [one.p_corrected for one in alike.values() if one.measure == "mean"] == [None, None]
    assert all(one.p is not None and one.p < 0.05 for one in alike.values() if one.measure == "mean")


def test_what_so_many_can_show_hangs_on_clusters() -> None:
    random = np.random.default_rng(2)
    of_speakers = np.repeat(random.normal(0, 1, 12), 5)
    alone, by_speaker = detectable(of_speakers, None), detectable(of_speakers, np.repeat(np.arange(12), 5))
    assert alone is not None
    assert by_speaker is not None
    assert by_speaker == pytest.approx(alone * np.sqrt(5), rel=0.15), "five equal turns tell no more than one"
    assert detectable(of_speakers[:5], None) is None, "too few to reach p < 0.05"
    assert detectable(np.ones(20), None) is None


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(st.sampled_from("stuvw"), st.lists(st.sampled_from((True, False, None)), min_size=1, max_size=5))
)
def test_passing_is_the_share_of_all_draws_of_trials(trials: dict[str, list[bool | None]]) -> None:
    given_ = [(ScoredItem("day", "a", name, {}), passed) for name, own in trials.items() for passed in own]
    verdicts = {id(item): passed for item, passed in given_}
    found = passes_of([item for item, _ in given_], lambda item: verdicts[id(item)])
    told = {name: [each for each in own if each is not None] for name, own in trials.items()}
    told = {name: own for name, own in told.items() if own}
    assert (found is None) == (not told)
    if found is None:
        return
    assert (found.trials, found.passed) == (sum(map(len, told.values())), sum(map(sum, told.values())))
    assert found.unknown == len(given_) - found.trials
    for of_k in found.by_k:
        draws = [list(combinations(own, of_k.k)) for own in told.values() if len(own) >= of_k.k]
        assert of_k.n == len(draws)
        assert of_k.pass_at_k.value == pytest.approx(fmean(fmean(any(draw) for draw in own) for own in draws))
        assert of_k.pass_all_k.value == pytest.approx(fmean(fmean(all(draw) for draw in own) for own in draws))


@given(st.lists(VALUES, min_size=1, max_size=60))
def test_a_trimmed_mean_leaves_out_what_is_beyond_its_percentiles(values: list[float]) -> None:
    low, high = (min(values), max(values)) if len(values) < 3 else np.percentile(values, [5, 95])
    assert trimmed_mean(values) == pytest.approx(fmean(value for value in values if low <= value <= high))
