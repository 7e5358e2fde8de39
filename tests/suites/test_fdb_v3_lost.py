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
