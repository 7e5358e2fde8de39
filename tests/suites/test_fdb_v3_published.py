"""The paper's tables of Full-Duplex-Bench v3: the shipped ones come from whole numbers of recordings, and are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commands import done
from helpers.released_folder import release, result

from fdbcore.suites.fdb_v3 import compat
from fdbcore.suites.fdb_v3.compat import PUBLISHED, AsrWord, LoggedCall, SystemLog, compat_scores
from fdbcore.suites.fdb_v3.rows import published
from fdbcore.suites.fdb_v3.world import FunctionCall

COUNTS = {
    "GPT-Realtime": (96, 13, 14, 76, "27 20 13", "16 24 8 12", "18 10 7 8 10"),
    "Gemini Live 2.5": (92, 13, 7, 51, "24 17 8", "14 19 6 10", "18 8 6 5 8"),
    "Gemini Live 3.1": (78, 15, 20, 56, "25 20 9", "13 23 7 11", "17 9 6 7 6"),
    "Grok": (94, 24, 31, 58, "21 16 6", "12 19 3 9", "14 6 5 7 5"),
    "Ultravox v0.7": (96, 46, 44, 49, "20 13 8", "10 17 5 9", "12 6 5 3 6"),
    "Cascaded": (100, 33, 18, 60, "23 15 7", "12 20 5 8", "13 8 6 6 3"),
}
"""Of 100 recordings: turns taken, interruptions, fillers, right responses; passes by difficulty, domain, disfluency."""

SLICES = (
    ("easy", "medium", "hard"),
    ("ecommerce_support", "finance_billing", "housing_location", "travel_identity"),
    ("FILLER", "PAUSE", "HESITATION", "FALSE_START", "SELF_CORRECTION"),
)


def log(passes: bool, first_s: float | None, filler: bool = False, response: bool = False) -> SystemLog:
    calls = (LoggedCall("f", {"x": int(passes)}, 11.0),)
    words = () if first_s is None else (AsrWord("yes", 10 + first_s, 10.5 + first_s),)
    said = "yes" if words else ""
    return SystemLog((FunctionCall("f", {"x": 1}),), calls, said, words, 10.0, None, response, "um" if filler else "")


@pytest.mark.parametrize("system", COUNTS)
def test_shipped_rates_are_those_of_whole_numbers_of_recordings(system: str) -> None:
    taken, interrupting, fillers, right, *passed = COUNTS[system]
    shipped = next(each for each in published().systems if each.system == system)
    spoken: list[tuple[float | None, bool]] = [(-1.0, False) for _ in range(interrupting)]
    spoken += [(1.0, number < fillers) for number in range(taken - interrupting)]
    spoken += [(None, False)] * (100 - taken)
    by_difficulty = list(map(int, passed[0].split()))
    logs = [
        log(number < sum(by_difficulty), first_s, filler, number < right)
        for number, (first_s, filler) in enumerate(spoken)
    ]
    scores = compat_scores(logs)
    names = ("turn_take", "interruption", "filler", "response_quality", "passed")
    assert {name: round(scores[name].value or 0, 3) for name in names} == {
        name: shipped.measures[name] for name in names
    }
    sizes = published().slices
    for names_of, counts in zip(SLICES, passed, strict=True):
        for name, count in zip(names_of, map(int, counts.split()), strict=True):
            group = [log(True, 1.0)] * count + [log(False, 1.0)] * (sizes[name] - count)
            assert round(compat_scores(group)["passed"].value or 0.0, 3) == shipped.passed[name], name
    assert sum(map(int, passed[1].split())) == sum(by_difficulty) == round(100 * shipped.measures["passed"])


def test_the_shipped_tables_name_measures_and_slices_as_scores_do() -> None:
    found = published()
    assert all(set(each.measures) <= PUBLISHED.keys() for each in found.systems)
    assert all(list(each.passed) == list(found.slices) for each in found.systems)
    assert {*found.slices} == {name for names in SLICES for name in names}


STUDIES = {
    "finance_18": {
        "GPT-Realtime": ("abc", "abc"),
        "Gemini Live 2.5": ("abc", "abc"),
        "Gemini Live 3.1": ("abc", "abc"),
        "Grok": ("abc", "abc"),
        "Ultravox v0.7": ("abc", "ab"),
        "Cascaded": ("abc", "ac"),
    },
    "travel_19": {
        "GPT-Realtime": ("ab", "ab"),
        "Gemini Live 2.5": ("ab", "ab"),
        "Gemini Live 3.1": ("ba", ""),
        "Grok": ("ax", ""),
        "Ultravox v0.7": ("ba", "ab"),
        "Cascaded": ("a", ""),
    },
}
"""Calls that give the published figures: those that were made, and those of them with right arguments."""


@pytest.mark.parametrize(("study", "system"), [(study, system) for study, rows in STUDIES.items() for system in rows])
def test_the_rows_of_the_case_studies_come_out_of_logs(study: str, system: str) -> None:
    table = next(each for each in published().case_studies if each.record == study)
    row = next(each.measures for each in table.rows if each.system == system)
    made, right = STUDIES[study][system]
    first, call, key = (row[name] for name in ("first_response", "tool_call", "completion"))
    expected = tuple(FunctionCall(name, {"x": 1}) for name in ("abc" if study == "finance_18" else "ab"))
    calls = tuple(LoggedCall(name, {"x": int(name in right)}, 20 + (call or 0.0)) for name in made)
    words = () if first is None else (AsrWord("yes", 20 + first, 21 + first),)
    key_s = None if key is None else 20 + key
    one = SystemLog(expected, calls, "yes", words, 20.0, None, row["response_quality"] == 1, "", key_s)
    found = {
        "tool_selection": compat.tool_selection_f1((each.function for each in expected), made),
        "argument_accuracy": compat.argument_accuracy(one),
        "response_quality": compat.response_quality(one),
        "first_response": compat.first_response_s(one),
        "tool_call": None if call is None else compat.tool_call_s(one),
        "completion": compat.completion_s(one),
    }
    assert {name: None if value is None else round(value, 2) for name, value in found.items()} == row


def test_they_stand_beside_ones_own_on_request_alone(tmp_path: Path) -> None:
    data = release(tmp_path)
    place = next(data.glob("travel_01_*"))
    (place / "result_ours.json").write_text(json.dumps(result([])))
    shown = {}
    for flags in ([], ["--published"]):
        ended = done("score", "--suite", "fdb-v3", data, "--out", tmp_path / "S", *flags)
        shown[bool(flags)] = ended.output
        document = json.loads((tmp_path / "S" / "scores.json").read_text())
        assert (document["published"] is None) is not bool(flags)
    assert "Ultra" not in shown[False]
    assert "published by Lin et al., arXiv 2604.04847" in shown[True]
    assert "0.655" in shown[True], "a figure that two sources give differently is told"
    page = (tmp_path / "S" / "report.html").read_text()
    assert "Ultravox v0.7" in page
    assert "Case studies, published by Lin et al." in page
