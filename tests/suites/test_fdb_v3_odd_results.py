"""Released results with odd content: the published measures take them as the release does, and no recording is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.released_folder import call, recording, result, scenarios, scored
from helpers.v3_items import row_of

PAYS = call("modify_autopay", bill_type="power", source_account="savings")
BOOKS = call("track_order", order_id="A1")
DOMAINS = ("finance_billing", "travel_identity")
N = 4
"""Recordings, of which the last has the odd result; even ones are of the first domain."""


def document_of(folder: Path, *results: dict[str, Any], metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The document of results. metadata: changes the file beside the last recording, not the scenarios."""
    entries = [
        {"id": f"x_{number:02}", "domain": DOMAINS[number % 2], "expected_tool_calls": [PAYS, BOOKS, BOOKS],
         "num_expected_calls": 3}
        for number in range(len(results))
    ]  # fmt: skip
    for number, made in enumerate(results):
        last = metadata if number == len(results) - 1 and metadata else {}
        recording(folder / "data", number, {"x": made}, {**entries[number], **last})
    known = {"scenarios": [scenarios()[0] | entry for entry in entries]}
    (folder / "data" / "benchmark_data_v2.json").write_text(json.dumps(known))
    return scored(folder / "data")[0]


def published(document: Any) -> dict[str, Any]:
    """The published measures of the one system, by the released label."""
    row = row_of(document, "x")
    return {"n": row["n"], **{name.removeprefix("compat_"): each for name, each in row["measures"].items()}}


def untimed(each: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in each.items() if not name.startswith("timestamp")}


RIGHT = result([PAYS, BOOKS, BOOKS])
CALLS = RIGHT["actual_tool_calls"]
TIMES = ("interruption", "preemptive", "first_response", "tool_call")


@pytest.mark.parametrize(
    ("changes", "taken", "ns"),
    [
        ({"transcript": "  \n", "asr_chunks": []}, 3, (3, 4, 3, 3)),
        ({"transcript": " ", "asr_chunks": [{"text": " ", "timestamp": [12.0, 12.5]}]}, 4, (4, 4, 4, 4)),
        ({"actual_tool_calls": [untimed(CALLS[0]), *CALLS[1:]]}, 4, (4, 3, 4, 3)),
        ({"actual_tool_calls": [CALLS[0], *map(untimed, CALLS[1:])]}, 4, (4, 4, 4, 4)),
        ({"actual_tool_calls": [{**CALLS[0], "timestamp_start": -0.1}, *CALLS[1:]]}, 4, (4, 4, 4, 4)),
        ({"asr_chunks": [{"text": "oh", "timestamp": [-0.1, 0.2]}]}, 4, (4, 4, 3, 3)),
        ({"asr_chunks": [{"text": "oh", "timestamp": [9.9996, 10.2]}]}, 4, (4, 4, 4, 4)),
        ({"input_asr_chunks": [], "user_speech_end_rel": 0.0}, 4, (3, 3, 3, 3)),
        ({"asr_chunks": [], "audio_agent_speech_start": 11.0}, 4, (4, 4, 4, 4)),
        ({"audio_agent_speech_start": 9.0}, 4, (4, 4, 3, 3)),
        ({"user_speech_end_rel": 13.0}, 4, (4, 4, 3, 3)),
        ({"status": "aborted", "title": 7, "latency": "none", "stream_start_time": "noon"}, 4, (4, 4, 4, 4)),
        ({"example_id": None}, 4, (4, 4, 4, 4)),
    ],
)
def test_no_recording_falls_out_of_a_denominator(
    tmp_path: Path, changes: dict[str, Any], taken: int, ns: tuple[int, ...]
) -> None:
    found = published(document := document_of(tmp_path, RIGHT, RIGHT, RIGHT, {**RIGHT, **changes}))
    assert (found["n"], found["turn_take"]["n"], found["passed"]["n"]) == (N, N, N)
    assert found["passed"]["value"] == found["argument_accuracy_all"]["value"] == 1
    assert (found["turn_take"]["value"], found["argument_accuracy_all"]["n"]) == (taken / N, N)
    assert tuple(found[name]["n"] for name in TIMES) == ns
    assert len(document["items"]) == N
    assert document["problems"] == []


def test_a_call_without_a_time_counts_but_in_what_is_measured_by_it(tmp_path: Path) -> None:
    """It follows the one before it: the second of two in one place needs no other order."""
    made = {**RIGHT, "actual_tool_calls": [untimed(CALLS[0]), *CALLS[1:]]}
    _, item = document_of(tmp_path, RIGHT, made)["items"]
    values = item["values"]
    assert (item["failure"], values["passed"], values["arguments"], values["first_sound_ms"]) == (None, 1, 1, 2000)
    assert [call["start_s"] for call in item["calls"]] == [None, 12.0, 13.0]
    assert not {"preemptive", "preemptive_wrong", "first_call_ms", "calls_ms", "compat_tool_call"} & {*values}


def test_slices_have_what_the_release_reports_of_them(tmp_path: Path) -> None:
    """Two of three arguments are right in one of the two recordings of a domain, and the other one is silent."""
    wrong = {**RIGHT, "actual_tool_calls": [{**CALLS[0], "args": {}}, *CALLS[1:]]}
    silent = {**RIGHT, "transcript": "", "asr_chunks": [], "actual_tool_calls": CALLS[:2]}
    document = document_of(tmp_path, wrong, RIGHT, silent, RIGHT)

    def figure(subset: str, name: str) -> tuple[float, int]:
        found = row_of(document, "x", subset)["measures"][f"compat_{name}"]
        return found["value"], found["n"]

    names = [f"{name}{over}" for name in ("tool_selection", "argument_accuracy") for over in ("", "_all")]
    assert [figure("finance_billing", name) for name in names] == [(1.0, 1), (0.9, 2), (0.667, 1), (0.667, 2)]
    assert "compat_response_quality_all" not in row_of(document, "x", "finance_billing")["measures"], "nobody judged"
    assert figure("travel_identity", "argument_accuracy_all") == (1.0, 2)
    assert figure("easy", "tool_selection_all")[1] == 4


def test_the_file_of_scenarios_decides_as_in_the_release(tmp_path: Path) -> None:
    other = {"expected_tool_calls": [BOOKS], "num_expected_calls": 1}
    assert published(document_of(tmp_path, RIGHT, RIGHT, metadata=other))["passed"]["value"] == 1.0
