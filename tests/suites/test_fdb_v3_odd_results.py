"""Released results with odd content: the published measures take them as the release does, and no recording is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.released_folder import SPEAKERS, call, result, scenarios, write_wav
from helpers.v3_items import row_of

from fdbcore.cli.main import main

PAYS = call("modify_autopay", bill_type="power", source_account="savings")
BOOKS = call("track_order", order_id="A1")
DOMAINS = ("finance_billing", "travel_identity")
N = 4
"""Recordings, of which the last has the odd result; even ones are of the first domain."""


def scored(folder: Path, *results: dict[str, Any], metadata: Callable[[dict[str, Any]], None] | None = None) -> Any:
    """The document, and what was printed. metadata: changes the file beside the last recording, not the scenarios."""
    entries = []
    for number, made in enumerate(results):
        entry = scenarios()[0] | {
            "id": f"x_{number:02}",
            "domain": DOMAINS[number % 2],
            "expected_tool_calls": [PAYS, BOOKS, BOOKS],
            "num_expected_calls": 3,
        }
        entries.append(dict(entry))
        place = folder / "data" / f"{entry['id']}_{SPEAKERS[number]}"
        place.mkdir(parents=True)
        if metadata is not None and number == len(results) - 1:
            metadata(entry)
        (place / "metadata.json").write_text(json.dumps(entry))
        write_wav(place / "input.wav", 16_000, 1, 2)
        (place / "result_x.json").write_text(json.dumps(made))
    (folder / "data" / "benchmark_data_v2.json").write_text(json.dumps({"scenarios": entries}))
    command = ["score", "--suite", "fdb-v3", str(folder / "data"), "--out", str(folder / "scores")]
    done = CliRunner().invoke(main, command, catch_exceptions=False, env={"COLUMNS": "150"})
    assert done.exit_code == 0, done.output
    return json.loads((folder / "scores" / "scores.json").read_text())


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
    found = published(document := scored(tmp_path, RIGHT, RIGHT, RIGHT, {**RIGHT, **changes}))
    assert (found["n"], found["turn_take"]["n"], found["passed"]["n"]) == (N, N, N)
    assert found["passed"]["value"] == found["argument_accuracy_all"]["value"] == 1
    assert (found["turn_take"]["value"], found["argument_accuracy_all"]["n"]) == (taken / N, N)
    assert tuple(found[name]["n"] for name in TIMES) == ns
    assert len(document["items"]) == N
    assert document["problems"] == []


def test_a_call_without_a_time_counts_but_in_what_is_measured_by_it(tmp_path: Path) -> None:
    """It follows the one before it: the second of two in one place needs no other order."""
    made = {**RIGHT, "actual_tool_calls": [untimed(CALLS[0]), *CALLS[1:]]}
    _, item = scored(tmp_path, RIGHT, made)["items"]
    values = item["values"]
    assert (item["failure"], values["passed"], values["arguments"], values["first_sound_ms"]) == (None, 1, 1, 2000)
    assert [call["start_s"] for call in item["calls"]] == [None, 12.0, 13.0]
    assert not {"preemptive", "preemptive_wrong", "first_call_ms", "calls_ms", "compat_tool_call"} & {*values}


def test_slices_have_what_the_release_reports_of_them(tmp_path: Path) -> None:
    """Two of three arguments are right in one of the two recordings of a domain, and the other one is silent."""
    wrong = {**RIGHT, "actual_tool_calls": [{**CALLS[0], "args": {}}, *CALLS[1:]]}
    silent = {**RIGHT, "transcript": "", "asr_chunks": [], "actual_tool_calls": CALLS[:2]}
    document = scored(tmp_path, wrong, RIGHT, silent, RIGHT)

    def figure(subset: str, name: str) -> tuple[float, int]:
        found = row_of(document, "x", subset)["measures"][f"compat_{name}"]
        return found["value"], found["n"]

    names = [f"{name}{over}" for name in ("tool_selection", "argument_accuracy") for over in ("", "_all")]
    assert [figure("finance_billing", name) for name in names] == [(1.0, 1), (0.9, 2), (0.667, 1), (0.667, 2)]
    assert "compat_response_quality_all" not in row_of(document, "x", "finance_billing")["measures"], "nobody judged"
    assert figure("travel_identity", "argument_accuracy_all") == (1.0, 2)
    assert figure("easy", "tool_selection_all")[1] == 4


def test_the_file_of_scenarios_decides_as_in_the_release(tmp_path: Path) -> None:
    def other(entry: dict[str, Any]) -> None:
        entry["expected_tool_calls"], entry["num_expected_calls"] = [BOOKS], 1

    assert published(scored(tmp_path, RIGHT, RIGHT, metadata=other))["passed"]["value"] == 1.0
