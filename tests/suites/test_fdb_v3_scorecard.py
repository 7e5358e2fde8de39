"""Our measures of Full-Duplex-Bench v3 from the command: what `fdbcore score` says of released results of systems."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.released_folder import call, recording, result, scored
from helpers.v3_items import row_of, value_of

from fdbcore.suites.fdb_v3.calls import FAILURES
from fdbcore.suites.fdb_v3.suite import SUITE

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
