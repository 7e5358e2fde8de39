"""What `fdbcore score` says of released results, by our measures; and the paper's tables beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import done
from helpers.released_folder import call, recording, release, result, scored
from helpers.v3_items import row_of, value_of

from fdbcore.suites.fdb_v3 import compat
from fdbcore.suites.fdb_v3.compat import PUBLISHED, AsrWord, LoggedCall, SystemLog, compat_scores
from fdbcore.suites.fdb_v3.rows import published
from fdbcore.suites.fdb_v3.suite import SUITE
from fdbcore.suites.fdb_v3.tool_calls import FAILURES
from fdbcore.suites.fdb_v3.world import FunctionCall

N = 12
PAYS = [call("modify_autopay", bill_type="power", source_account=each) for each in ("checking", "savings")]
SYSTEMS: dict[str, dict[str, Any]] = {
    "right": result([PAYS[1]]),
    "corrected": result(PAYS),
    "early": result([PAYS[0]], actual_tool_calls=[{**PAYS[0], "timestamp_start": 8.0, "timestamp_end": 8.5}]),
    "silent": result([PAYS[1]], asr_chunks=[], transcript=""),
    "idle": result([]),
}
"""The user at first wants the wrong account, and has finished at 10 s."""


@pytest.fixture(scope="module", name="scored")
def _scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The document of twelve recordings, each by a speaker of its own, and what was printed."""
    data = tmp_path_factory.mktemp("released") / "data"
    for number in range(N):
        entry = {
            "id": f"finance_{number:02}",
            "expected_tool_calls": [PAYS[1]],
            "num_expected_calls": 1,
            "disfluency_features": ["SELF_CORRECTION"] if number % 2 else [],
            "state_rollback_test": True,
            "state_rollback_details": {
                "original_param": {"source_account": "checking"},
                "corrected_param": {"source_account": "savings"},
            },
        }
        recording(data, number, SYSTEMS, entry)
    return scored(data)


def test_each_system_has_its_class_of_failure(scored: tuple[dict[str, Any], str]) -> None:
    document, printed = scored
    counts = {name: row_of(document, name)["counts"] for name in SYSTEMS}
    assert {name: {kind: n for kind, n in own.items() if kind in FAILURES} for name, own in counts.items()} == {
        "right": {},
        "corrected": {},
        "early": {"stale_value": N},
        "silent": {"silent": N},
        "idle": {"missing_step": N},
    }
    assert {item["failure"] for item in document["items"] if item["system"] == "early"} == {"stale_value"}
    told = " ".join(printed.split())
    assert told.startswith(
        "corrected passes 12 of 12 recordings, right 12 of 12, early 0 of 12, idle 0 of 12, silent 0 of"
    )
    assert f"early fails {N} of {N}: stale value {N} (" in told
    assert " and 9 more). idle fails" in told
    outcomes = {(case.system, case.outcome) for case in SUITE.card(document).cases}
    named = {"right": "passed", "corrected": "passed", "early": "stale value", "silent": "silent"}
    assert outcomes == {*named.items(), ("idle", "missing step")}


def test_the_document_has_values_slices_and_comparisons(scored: tuple[dict[str, Any], str]) -> None:
    document, printed = scored
    rows = {name: row_of(document, name, "SELF_CORRECTION") for name in SYSTEMS}
    assert {name: each["measures"]["passed"]["n"] for name, each in rows.items()} == dict.fromkeys(SYSTEMS, N // 2)
    told = {name: (value_of(each, "preemptive"), value_of(each, "recovered")) for name, each in rows.items()}
    assert told == {"right": (0, None), "corrected": (0, 1), "early": (1, 0), "silent": (0, None), "idle": (0, None)}
    assert [value_of(rows[name], "first_sound_ms") for name in ("right", "silent")] == [2000, None]
    passed = {(one["a"], one["b"]): one for one in document["differences"] if one["measure"] == "passed"}
    assert passed["early", "right"]["difference"] == -1
    assert passed["early", "right"]["p_corrected"] < 0.05
    assert passed["corrected", "right"]["difference"] == 0
    assert "correction kept" in printed
    assert min(one["p"] for one in document["differences"]) == 2 / 2**N
    said = " ".join(printed.split())
    assert "however large" not in said
    assert "passed is tested first" in said
    assert "early - right" in printed
    better = {
        one["a"] if one["difference"] > 0 else one["b"]
        for one in passed.values()
        if one["difference"] and one["p_corrected"] < 0.05
    }
    assert better == {"right", "corrected"}
    assert all(f"{each} is better than early, idle and silent in passed." in said for each in better)
    assert said.count(" is better than ") == len(better)
    two = [one for one in document["differences"] if {one["a"], one["b"]} == {"early", "right"}]
    rows_of_two = [row for row in document["rows"] if row["system"] in ("early", "right")]
    first, *_ = SUITE.card({**document, "differences": two, "rows": rows_of_two}).statements
    assert first.startswith(
        "right passes 12 of 12 recordings, early 0 of 12. right is better than early in passed (by 1."
    )


def test_few_speakers_are_said_to_tell_nothing_apart(scored: tuple[dict[str, Any], str]) -> None:
    """2 / 2**6 is less than 0.05, 2 / 2**5 is not, for however many comparisons."""
    document, _ = scored

    def told(speakers: int, comparisons: int) -> list[str]:
        items = [{**item, "speaker": f"p{n % speakers}"} for n, item in enumerate(document["items"])]
        made = {**document, "items": items, "differences": document["differences"][:comparisons]}
        said = SUITE.card(made).statements
        return [text for text in said if "however large" in text]

    assert told(6, 60) == told(5, 0) == []
    (said,) = told(5, 1)
    why = "p is 0.062 at least; it takes 6."
    assert said.endswith(f"Which is better cannot be told with 5 speakers, however large a difference is: {why}")
    assert "with 1 speaker, however large a difference is: p is 1 at least" in told(1, 7)[0]


def test_what_trials_come_to_is_told_of_each_condition(scored: tuple[dict[str, Any], str]) -> None:
    document, _ = scored

    def passes(system: str, *shares: tuple[float, float]) -> dict[str, Any]:
        by_k = [
            {"k": k, "n": N, "pass_at_k": {"value": least}, "pass_all_k": {"value": all_of_k}}
            for k, (least, all_of_k) in enumerate(shares, 1)
        ]
        counts = {"trials": N, "passed": N, "unknown": 0}
        return {"condition": "released results", "system": system, "subset": "", **counts, "by_k": by_k}

    slow = [[{**each, "condition": "tools: slow"} for each in document[name]] for name in ("rows", "items")]
    both = {name: [*document[name], *own] for name, own in zip(("rows", "items"), slow, strict=True)}
    trials = [passes("right", (0.9, 0.9), (1.0, 0.75)), passes("early", (0.5, 0.5), (0.5, 0.0))]
    told = SUITE.card({**document, **both, "passes": trials}).statements
    told_of = [text for text in told if "pass@" in text]
    assert told_of == [
        "released results: pass@2, at least one of 2 trials of a recording passes, and pass^2, all do: "
        "right 1.000 and 0.750, early 0.500 and 0.000."
    ]
    assert all(text.startswith(("released results: ", "tools: slow: ")) for text in told)


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
