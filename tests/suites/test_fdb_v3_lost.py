"""Calls in which the system was silent, records that cannot be played, results with odd content: none is lost."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from helpers.commands import printed
from helpers.released_folder import call, recording, result, scenarios, scored
from helpers.smoke import run, some
from helpers.v3_items import row_of

WANTED = ("travel_01", "shop_08", "finance_09")


def test_a_system_that_says_nothing_in_any_call_is_scored_and_its_calls_say_why(tmp_path: Path) -> None:
    """Its tools were right, and its calls end as failed: silence is a result."""
    data = some(tmp_path / "some.json", WANTED)
    done = run(data, tmp_path / "MUTE", {"mute": "rehearsed:?fault=silent"}, "--max-s", "10", code=0)
    assert "3 failed: no speech found" in done.output
    scored = row_of(json.loads((tmp_path / "MUTE-scores" / "scores.json").read_text()), "mute")["measures"]
    assert [(scored[name]["value"], scored[name]["n"]) for name in ("passed", "answered")] == [(0.0, 3)] * 2
    told = " ".join(done.output.split())
    assert "mute fails 3 of 3: silent 3" in told
    assert "mute: 3 calls: no speech found; the call was cut at --max-s 10" in told


def test_what_is_left_out_is_named_on_the_scorecard_and_costs_the_exit_code(tmp_path: Path) -> None:
    data = some(tmp_path / "some.json", WANTED, user_end_tick=10**6)
    content = json.loads(data.read_text())
    left, *bad = [record["id"] for record in content["record"]]
    content["record"][-1]["spans"] = [{"kind": "FILLER", "start_tick": 9, "end_tick": 3}]
    data.write_text(json.dumps(content))
    assert "2 items of the data left out" in run(data, tmp_path / "RUN", {"x": "rehearsed:"}, code=1).stderr
    scores = json.loads((tmp_path / "RUN-scores" / "scores.json").read_text())
    assert [item["record"] for item in scores["items"]] == [left]
    assert [(card["recordings"], card["scenarios"], card["speakers"]) for card in scores["data"]] == [(1, 1, 1)]
    assert [(each["where"].split(": ")[1], each["reason"][:25]) for each in scores["problems"]] == [
        (name, "left out: user_end_tick: ") for name in bad
    ]
    assert "; FILLER: expected 0 <= start_tick < end_tick" in scores["problems"][-1]["reason"], "a record is one item"
    assert run(data, tmp_path / "BARE", {"x": "rehearsed:"}, "--no-score").exit_code == 1


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def without_its_last_lines(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a right system and of a silent one."""
    folder = tmp_path_factory.mktemp("held")
    data = some(folder / "some.json", WANTED[:2])
    run(
        f"{data}?quiet_s=1&most_s=8",
        folder / "RUN",
        {"right": "rehearsed:", "mute": "rehearsed:?fault=silent"},
        "--no-score",
    )
    return folder / "RUN"


@pytest.mark.parametrize("system", ["right", "mute"])
@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("events.jsonl", emptied, "events.jsonl: damaged: expected "),
        ("events.jsonl", halved, "events.jsonl: "),
        ("events.jsonl", without_its_last_lines, "events.jsonl: damaged: expected "),
        ("events.jsonl", Path.unlink, "events.jsonl: cannot be read"),
        ("session.wav", halved, "session.wav: cut off: expected the "),
        ("derived/turns.json", emptied, "derived/turns.json: expected JSON"),
        ("derived/turns.json", Path.unlink, "expected a finished recording"),
        ("derived/health.json", halved, "derived/health.json: expected JSON"),
        ("meta.json", emptied, "meta.json: expected JSON"),
        ("meta.json", Path.unlink, "expected a conversation, got none yet"),
    ],
)
def test_a_damaged_call_is_named_and_nobody_is_blamed(
    held: Path, tmp_path: Path, system: str, name: str, damage: Callable[[Path], None], said: str
) -> None:
    """What the system did is not known then: it is unscored, also if the system was silent."""
    copied = copytree(held, tmp_path / "RUN")
    damage(copied / f"travel_01-{system}" / name)
    scores = printed("score", "--suite", "fdb-v3", copied, "--out", tmp_path / "S", code=1)
    (problem,) = scores["problems"]
    assert problem["where"] == str(copied / f"travel_01-{system}")
    assert problem["reason"].startswith(said)
    assert scores["lost"] == [{"system": system, "failed": 0, "invalid": 0, "missing": 1}]
    found = [(item["record"], item["system"]) for item in scores["items"]]
    assert ("travel_01", system) not in found
    assert len(found) == 3
    assert row_of(scores, system)["n"] == 1


def test_the_order_of_systems_and_the_sign_of_differences_do_not_hang_on_the_seed(tmp_path: Path) -> None:
    systems = {"zulu": "rehearsed:", "alpha": "rehearsed:?fault=wrong-tool", "mike": "rehearsed:?fault=stale"}
    made, first_held = [], set()
    for seed in ("1", "2", "3"):
        data = f"{some(tmp_path / f'{seed}.json', WANTED)}?quiet_s=1"
        run(data, tmp_path / seed, systems, "--seed", seed, code=0)
        made.append(json.loads((tmp_path / f"{seed}-scores" / "scores.json").read_text()))
        first_held.add(json.loads((tmp_path / seed / "run.json").read_text())["cases"][0]["system"])
    assert len(first_held) > 1, "the seeds differ in the order of calls"
    for scores in made:
        assert list(dict.fromkeys(row["system"] for row in scores["rows"])) == list(systems)
        pairs = dict.fromkeys((one["a"], one["b"]) for one in scores["differences"])
        assert list(pairs) == [("zulu", "alpha"), ("zulu", "mike"), ("alpha", "mike")]
        assert [(item["system"], item["record"]) for item in scores["items"]] == [
            (system, record) for system in systems for record in sorted(WANTED)
        ]
        assert [scores[name] == made[0][name] for name in ("rows", "differences", "passes")] == [True] * 3


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
