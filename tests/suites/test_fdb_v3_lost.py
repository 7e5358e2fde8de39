"""What a run of `--suite fdb-v3` says of calls in which the system was silent, and of records that it cannot play."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.smoke import run, some

WANTED = ("travel_01", "shop_08", "finance_09")


def test_a_system_that_says_nothing_in_any_call_is_scored_and_its_calls_say_why(tmp_path: Path) -> None:
    """Its tools were right, and its calls end as failed: silence is a result."""
    data = some(tmp_path / "some.json", WANTED)
    done = run(data, tmp_path / "MUTE", {"mute": "rehearsed:?fault=silent"}, "--max-s", "10")
    assert done.exit_code == 1
    assert "3 failed: no speech found" in done.output
    scored = json.loads((tmp_path / "MUTE-scores" / "scores.json").read_text())["groups"][0]["ours"][0]["measures"]
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
    done = run(data, tmp_path / "RUN", {"x": "rehearsed:"})
    assert done.exit_code == 1
    assert "2 items of the data left out" in done.stderr
    scores = json.loads((tmp_path / "RUN-scores" / "scores.json").read_text())
    assert [item["record"] for item in scores["items"]] == [left]
    assert [(card["recordings"], card["scenarios"], card["speakers"]) for card in scores["data"]] == [(1, 1, 1)]
    assert [(each["where"].split(": ")[1], each["reason"][:25]) for each in scores["problems"]] == [
        (name, "left out: user_end_tick: ") for name in bad
    ]
    assert "; FILLER: expected 0 <= start_tick < end_tick" in scores["problems"][-1]["reason"], "a record is one item"
    assert run(data, tmp_path / "BARE", {"x": "rehearsed:"}, "--no-score").exit_code == 1
