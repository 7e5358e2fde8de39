"""Our measures of Full-Duplex-Bench v3 over recordings: intervals, slices, differences, and repeated trials."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from statistics import fmean, median

import numpy as np
import pytest
from helpers.v3_items import item
from scipy.stats import binom

from fdbcore.results.comparing import every_two, gated_differences, gated_p
from fdbcore.results.passing import passes_of
from fdbcore.results.pooling import ScoredItem, rows_of
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.suites.fdb_v3.measures import COMPARED, MEASURES
from fdbcore.suites.fdb_v3.rows import SLICES
from fdbcore.types.scorecard import Difference, Passes, ScoreRow

STUDIES = 150


def rows(items: Sequence[ScoredItem]) -> list[ScoreRow]:
    return [*rows_of(items, [*MEASURES.values()], SLICES, in_subsets=COMPARED)]


def differences(items: Sequence[ScoredItem]) -> list[Difference]:
    return gated_differences(every_two(items), [*MEASURES.values()])


def passes(items: Sequence[ScoredItem]) -> Passes | None:
    return passes_of(items, lambda each: each.values["passed"] == (1.0,), least_trials=2)


def wilson(count: int, n: int) -> tuple[float, float]:
    z = 1.959963984540054
    middle, half = count / n + z * z / (2 * n), z * sqrt(count / n * (1 - count / n) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def test_a_share_has_the_interval_of_wilson_where_each_recording_stands_alone() -> None:
    items = [item(number, speakers=40, passed=float(number % 4 == 0)) for number in range(40)]
    (row, *_) = rows(items)
    passed = row.measures["passed"]
    assert (row.subset, row.n) == ("", 40)
    assert (passed.value, passed.n, passed.by) == (0.25, 40, "scenario")
    assert passed.ci95 == pytest.approx(wilson(10, 40))
    assert "key_ms" not in row.measures


def test_the_wider_of_both_intervals_is_given() -> None:
    """All recordings of a speaker agree: what differs is the speakers."""
    items = [item(number, passed=float(number % 10 < 5)) for number in range(60)]
    (row, *_) = rows(items)
    passed = row.measures["passed"]
    by_speaker = wilson_by_cluster([6.0] * 5 + [0.0] * 5, [6.0] * 10)
    assert passed.by == "speaker"
    assert passed.ci95 == by_speaker
    assert by_speaker is not None
    low, high = wilson(30, 60)
    assert by_speaker.low < low < high < by_speaker.high


def test_one_speaker_alone_leaves_the_interval_by_scenario() -> None:
    (row, *_) = rows([item(n, speakers=1, passed=float(n % 3 == 0), tool_selection=n / 30) for n in range(30)])
    assert {row.measures[name].by for name in ("passed", "tool_selection")} == {"scenario"}


def test_slices_hold_what_is_tagged_with_their_n() -> None:
    items = [item(number, passed=1.0, first_sound_ms=100.0 * number) for number in range(20)]
    found = {row.subset: row for row in rows(items)}
    assert {name: row.n for name, row in found.items()} == {
        "": 20, "travel_identity": 10, "finance_billing": 10, "easy": 20, "no call": 4, "one call": 4, "two calls": 4,
        "three or more calls": 8, "FILLER": 5, "PAUSE": 5, "no rollback": 20,
    }  # fmt: skip
    assert found["FILLER"].measures["first_sound_ms"].value == median([0, 400, 800, 1200, 1600])


def test_a_mean_is_over_the_recordings_that_have_it() -> None:
    items = [item(number, needs_met=None if number % 2 else number / 20) for number in range(20)]
    (row, *_) = rows(items)
    figure = row.measures["needs_met"]
    assert figure.n == 10
    assert figure.value == pytest.approx(fmean(n / 20 for n in range(0, 20, 2)))


def test_systems_are_compared_on_what_both_have_and_corrected_together() -> None:
    rates = {"a": 1.0, "b": 0.5, "c": 0.5}
    items = [
        item(number, system, passed=float(number % 10 < 10 * rate), key_ms=1000 / rate + 7 * (number % 7))
        for system, rate in rates.items()
        for number in range(40 if system == "a" else 30)
    ]
    found = differences(items)
    assert [(one.a, one.b, one.measure) for one in found] == [
        (a, b, measure) for a, b in combinations(rates, 2) for measure in COMPARED if measure in ("passed", "key_ms")
    ]
    assert {one.n for one in found} == {30}
    by_pair = {(one.a, one.b, one.measure): one for one in found}
    assert by_pair["a", "b", "passed"].difference == 0.5
    assert by_pair["a", "b", "key_ms"].difference == -1000
    assert by_pair["b", "c", "passed"].difference == 0
    interval = by_pair["a", "b", "passed"].ci95
    assert interval is not None
    assert 0 < interval[0] < 0.5 < interval[1]
    assert by_pair["a", "b", "passed"].p == pytest.approx(2 / 2**5, rel=0.2)  # ten speakers, five of them differ
    assert by_pair["b", "c", "passed"].p == 1
    assert by_pair["b", "c", "passed"].p_corrected == 1
    assert by_pair["b", "c", "key_ms"].p_corrected is None  # they do not differ in passed


@pytest.mark.parametrize(
    ("speakers", "recordings", "systems", "least"),
    [(8, 40, 5, 2 / 2**8), (12, 100, 6, 2 / 2**12), (5, 50, 3, 2 / 2**5)],
)
def test_all_against_none_is_told_by_as_many_speakers_as_one_pair_needs(
    speakers: int, recordings: int, systems: int, least: float
) -> None:
    """The others pass half of them. Many pairs and measures need no more speakers; five cannot do."""
    draw = random.Random(speakers)
    names = "abcdef"[:systems]
    items = [
        item(n, name, speakers=speakers, passed=1.0 - place if place < 2 else float(draw.random() < 0.5),
             final_state=float(place != 1), first_sound_ms=draw.gauss(800, 100))
        for n in range(recordings)
        for place, name in enumerate(names)
    ]  # fmt: skip
    found = {(one.a, one.b, one.measure): one for one in differences(items)}
    assert found["a", "b", "passed"].p == found["a", "b", "passed"].p_corrected == pytest.approx(least)
    told = found["a", "b", "final_state"].p_corrected
    assert (told is None) is (least > 0.05)
    assert told is None or least <= told < 0.05
    for one in found.values():
        if one.measure != "passed":
            gate = found[one.a, one.b, "passed"].p_corrected
            assert gate is not None
            assert (one.p_corrected is None) is (gate >= 0.05)


@pytest.mark.parametrize(("speakers", "systems", "one_differs"), [(8, 5, False), (8, 5, True), (12, 4, True)])
def test_false_alarms_of_all_measures_together_stay_at_the_level(
    speakers: int, systems: int, one_differs: bool
) -> None:
    """Systems differ by speaker and by scenario. One may differ in the gate, whose other measures are then tested."""
    rng = np.random.default_rng(speakers)
    n = 5 * speakers
    clusters = [[f"p{k % speakers}" for k in range(n)], [f"s{k}" for k in range(n)]]
    pairs = [*combinations("abcdef"[:systems], 2)]
    alarms = 0
    for _ in range(STUDIES):
        by_speaker = rng.normal(0, 1, (4, systems, speakers))[:, :, np.arange(n) % speakers]
        values = by_speaker + rng.normal(0, 1, (4, systems, n)) + rng.normal(0, 1, (4, systems, n)) > 0
        if one_differs:
            values[0, 0] = True
        columns = [1.0 * values[m][ord(a) - 97] - values[m][ord(b) - 97] for m in range(4) for a, b in pairs]
        _, p = gated_p(np.array(columns).T, pairs * 4, clusters, flips=500)
        alarms += any(
            each is not None and each < 0.05 and not (one_differs and number < len(pairs) and pairs[number][0] == "a")
            for number, each in enumerate(p)
        )
    assert alarms <= binom.ppf(0.999, STUDIES, 0.05)


def test_the_order_of_recordings_changes_no_figure() -> None:
    draw = random.Random(3)
    items = [
        item(number, system, speakers=23, passed=float(draw.random() < 0.6), key_ms=draw.gauss(900, 300))
        for number in range(40)
        for system in ("a", "b")
        for _ in (1, 2)
    ]
    found = []
    for _ in range(3):
        found.append([rows(items), differences(items), passes(items)])
        draw.shuffle(items)
        items.sort(key=lambda each: each.system)  # which system comes first is the user's choice
    assert found[1:] == found[:1] * 2


def test_trials_of_a_recording_pass_once_or_always() -> None:
    passed = {0: (1, 1, 1), 1: (1, 0, 1), 2: (0, 0, 0), 3: (1, 0)}
    items = [item(number, passed=float(value)) for number, own in passed.items() for value in own]
    made = passes(items)
    assert made is not None
    assert [each.k for each in made.by_k] == [1, 2, 3]
    for each in made.by_k:
        draws = [[*combinations(own, each.k)] for own in passed.values() if len(own) >= each.k]
        at = fmean(fmean(any(draw) for draw in own) for own in draws)
        every = fmean(fmean(all(draw) for draw in own) for own in draws)
        assert each.pass_at_k.value == pytest.approx(at)
        assert each.pass_all_k.value == pytest.approx(every)
        assert each.pass_at_k.n == each.n == len(draws)
    assert passes([item(number, passed=1.0) for number in range(5)]) is None


def test_a_recording_belongs_to_the_speaker_of_its_own_condition() -> None:
    """Under one condition every recording has a speaker of its own, under the other all have the same one."""
    both = [
        item(number, system, condition, speakers, passed=float(system == "a"))
        for condition, speakers in (("many", 12), ("one", 1))
        for system in "ab"
        for number in range(12)
    ]
    found = {one.condition: one.p for one in differences(both)}
    assert found == {"many": pytest.approx(2 / 2**12), "one": 1.0}
    assert found == {name: differences([each for each in both if each.condition == name])[0].p for name in found}
