"""The published measures of Full-Duplex-Bench v3: edges, and random logs against a plain script."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from oracles import fdb_v3 as oracle

from fdbcore.suites.fdb_v3 import compat
from fdbcore.suites.fdb_v3.compat import (
    PUBLISHED,
    AsrWord,
    LoggedCall,
    SystemLog,
    compat_scores,
    first_response_s,
    published_values,
    tool_call_s,
    user_end_s,
)
from fdbcore.suites.fdb_v3.measures import MEASURES
from fdbcore.suites.fdb_v3.rows import LatencyExtremes
from fdbcore.suites.fdb_v3.world import FunctionCall
from fdbcore.types.scorecard import Measure

EXPECTED = (FunctionCall("track_order", {"order_id": "A1"}),)


def log(passes: bool = True, first_s: float | None = 1.0) -> SystemLog:
    """A recording whose user ends at 10 s. first_s: of the system's first word after that; None: it is silent."""
    calls = (LoggedCall("track_order", {"order_id": "a1" if passes else "B2"}, 11.0),)
    words = () if first_s is None else (AsrWord("yes", 10 + first_s, 10.5 + first_s),)
    return SystemLog(EXPECTED, calls, "yes" if words else "", words, 10.0)


def test_published_rates_by_number_of_calls_come_from_whole_numbers() -> None:
    """Of one outside run: 53 passes of 66, 18 and 16 recordings."""
    counts = {66: 41, 18: 7, 16: 5}
    scores = [compat_scores([log()] * right + [log(False)] * (n - right)) for n, right in counts.items()]
    rates = [each["passed"].value or 0.0 for each in scores]
    assert [f"{each:.3f}" for each in rates] == ["0.621", "0.389", "0.312"]
    assert sum(each * n for each, n in zip(rates, counts, strict=True)) == pytest.approx(53)


@pytest.mark.parametrize(
    ("expected", "called", "f1"),
    [("a", "", 0.0), ("aa", "a", 0.667), ("a", "ab", 0.667), ("", "", 1.0), ("", "b", 0.0), ("ab", "ba", 1.0)],
)
def test_tool_selection_at_its_edges(expected: str, called: str, f1: float) -> None:
    assert compat.tool_selection_f1(expected, called) == f1


@pytest.mark.parametrize(
    ("expected", "made", "same"),
    [
        ({"city": "New_York "}, {"city": "new york", "bedrooms": 2}, True),
        ({"city": "NYC"}, {"city": "New York"}, False),
        ({"price": 1800}, {"price": "1800"}, False),
        ({"price": 1800}, {"price": 1800.0}, True),
        ({"price": 1800}, {"price": 1801}, False),
        ({"id": "$RESULT_0.flights[0].flight_id"}, {"id": None}, True),
        ({"id": "$RESULT_0.flights[0].flight_id"}, {}, False),
        ({}, {"x": 1}, True),
    ],
)
def test_the_exact_matcher(expected: dict[str, Any], made: dict[str, Any], same: bool) -> None:
    assert compat.matches_exactly(expected, made) is same


def test_each_known_defect_is_kept() -> None:
    swapped = [FunctionCall("f", {"x": 1}), FunctionCall("f", {"x": 2})]
    made = (LoggedCall("f", {"x": 2}, 0.0), LoggedCall("f", {"x": 1}, 0.0))
    both = SystemLog(tuple(swapped), made, "ok", (), 0.0)
    assert (compat.argument_accuracy(both), compat.failure(both)) == (0.0, "wrong_arguments")
    silent = log(first_s=None)
    assert (compat.failure(silent), compat.failure(silent, gate=True)) == (None, "wrong_tools")
    assert compat_scores([silent])["tool_selection"].value is None
    paused = [AsrWord("book", 0.0, 1.0), AsrWord("a", 3.5, 3.6), AsrWord("flight", 3.7, 4.5)]
    assert user_end_s(paused) == 1.0
    assert user_end_s([paused[0], AsrWord("a", 3.0, 3.1)]) == 3.1
    assert user_end_s([]) == 0.0
    cut_in = SystemLog((), (), "sure", (AsrWord("sure", 2.0, 2.5),), user_end_s(paused))
    assert compat.first_response_s(cut_in) == 1.0
    late = compat.pooled_as_published([4.0, 1.0, 2.0, 3.0], PUBLISHED["first_response"])
    assert (late.n, late.value, round(late.sd or 0, 4)) == (4, 2.5, 1.291)
    assert LatencyExtremes.of("", "x", "first_response", [4.0, 1.0, 2.0, 3.0]).upper_median_s == 3.0


def test_early_calls_stay_in_the_mean_and_are_counted() -> None:
    early = SystemLog(EXPECTED, (LoggedCall("track_order", {}, 8.0),), "ok", (AsrWord("ok", 11.0, 11.5),), 10.0)
    scores = compat_scores([early, log()])
    assert (scores["tool_call"].value, scores["preemptive"].value, scores["preemptive"].n) == (-0.5, 0.5, 2)


def test_each_measure_has_one_line_on_its_defect() -> None:
    assert [*PUBLISHED] == [*published_values(log())]
    assert all(each.defect and "\n" not in each.defect for each in PUBLISHED.values())
    docs = (Path(__file__).parents[2] / "docs" / "fdb_v3.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")] for line in docs.splitlines()]
    assert {(row[1], row[4]) for row in rows if len(row) == 6} >= {
        (each.label, each.defect) for each in PUBLISHED.values()
    }


@pytest.mark.parametrize("measure", [*PUBLISHED.values(), *MEASURES.values()])
def test_a_measure_in_the_file_has_what_its_type_says(measure: Measure) -> None:
    assert msgspec.convert(msgspec.to_builtins(measure), Measure) == measure


def test_a_pause_of_more_than_2_s_makes_published_latencies_too_long() -> None:
    """The user speaks to 1 s and from 3.5 to 4 s; the system speaks and calls at 5 s: 1 s later, published as 4 s."""
    end_s = user_end_s([AsrWord("book", 0.5, 1.0), AsrWord("it", 3.5, 4.0)])
    log = SystemLog((), (LoggedCall("f", {}, 5.0),), "yes", (AsrWord("yes", 5.0, 5.5),), end_s)
    assert (first_response_s(log), tool_call_s(log)) == (4.0, 4.0)
    assert all(
        "a pause of more than 2 s" in PUBLISHED[name].defect for name in ("first_response", "tool_call", "completion")
    )


VALUES = ("1800", 1800, 1800.5, True, "new_york", " New York", "$RESULT_0.a", None, "x")


def record(draw: random.Random) -> dict[str, Any]:
    def calls(most: int) -> list[dict[str, Any]]:
        return [
            {"function": draw.choice("abc"), "args": {key: draw.choice(VALUES) for key in "xy" if draw.random() < 0.4}}
            for _ in range(draw.randint(0, most))
        ]

    def chunks() -> list[list[float]]:
        at, found = draw.uniform(0, 12), []
        for _ in range(draw.randint(0, 6)):
            found.append([at, at := at + draw.uniform(0, 1)])
            at += draw.choice([0.0, 0.1, 2.0, 2.5, 5.0])
        return found

    expected = calls(3)
    made = [
        {**call, "t": draw.choice([None, draw.uniform(-1, 20)])}
        for call in (draw.sample(expected, len(expected)), calls(4))[draw.random() < 0.4]
    ]
    words = chunks()
    return {
        "expected": expected,
        "actual": made,
        "transcript": draw.choice(["", "  ", "ok"]),
        "chunks": words,
        "start": draw.choice([None, None, draw.uniform(-1, 12)]),
        "user_chunks": chunks(),
        "verdicts": draw.choice([None, [draw.choice([True, True, False, None]) for _ in expected]]),
        "response": draw.choice([None, True, False]),
        "filler": draw.choice([None, "", "um"]),
        "key": draw.choice([None, draw.uniform(0, 30)]),
    }


def typed(each: dict[str, Any]) -> SystemLog:
    def words(name: str) -> tuple[AsrWord, ...]:
        return tuple(AsrWord("w", *chunk) for chunk in each[name])

    return SystemLog(
        tuple(FunctionCall(call["function"], call["args"]) for call in each["expected"]),
        tuple(LoggedCall(call["function"], call["args"], call["t"]) for call in each["actual"]),
        each["transcript"],
        words("chunks"),
        user_end_s(words("user_chunks")),
        None if each["verdicts"] is None else tuple(each["verdicts"]),
        each["response"],
        each["filler"],
        each["key"],
        each["start"],
    )


def sets() -> Iterator[list[dict[str, Any]]]:
    """A thousand random recordings, in sets of many sizes."""
    draw, left = random.Random(20), 1000
    while left:
        size = min(left, draw.choice([1, 2, 3, 10, 50]))
        left -= size
        yield [record(draw) for _ in range(size)]


def test_a_thousand_random_logs_score_as_a_plain_script_scores_them() -> None:
    for records in sets():
        logs, wanted = [typed(each) for each in records], oracle.report(records)
        found, values = compat_scores(logs), [published_values(each) for each in logs]
        for name in PUBLISHED:
            n, value = found[name].n, found[name].value
            if name not in wanted["latencies"]:
                total, n_wanted = wanted["sums"].get(name, (0, 0))
                assert (n, (value or 0) * n_wanted) == (n_wanted, pytest.approx(total)), name
            elif wanted["latencies"][name] is None:
                assert value is None
            else:
                beside = LatencyExtremes.of("", "", name, [each for own in values if (each := own[name]) is not None])
                told = (n, value, found[name].sd, beside.least_s, beside.most_s, beside.upper_median_s)
                assert told == pytest.approx(tuple(wanted["latencies"][name].values())), name
        failures = [compat.failure(each) for each in logs]
        assert {kind: failures.count(kind) for kind in wanted["failures"]} == wanted["failures"]
