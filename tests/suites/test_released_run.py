"""Released tasks of Full-Duplex-Bench-v2, imported and run: a live party on each side, over real sockets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.realtime_server import Call, Pace, Plan, RealtimeServer, Reply
from helpers.commands import command, done
from helpers.released_tasks import imported, task

from fdbcore.recording.reader import Recording

GOALS = 4


def examiner_plan() -> Plan:
    """It says a goal, and reports it once it was answered, before it goes on."""
    replies = [Reply("my first wish")]
    for goal in range(1, GOALS + 1):
        said = "my next wish" if goal < GOALS else "The conversation is over."
        replies += [
            Reply("", calls=[Call("report_goal", {"goal": goal, "met": True, "reason": f"it said so {goal}"})]),
            Reply(said),
        ]
    return Plan(replies, pace=Pace(first_s=0.05))


@pytest.mark.live
def test_two_released_tasks_are_imported_run_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = {
        "Daily": [task("Daily", "ordering", 1, "Bread")],
        "Correction": [task("Correction", "correction", 1, "Milk (T2 corrects T1)")],
    }
    content = {"version": 6, "settings": {"language": "en-US"}, "splits": {k: {"tasks": v} for k, v in tasks.items()}}
    result, scenarios = imported(content, tmp_path)
    assert result.exit_code == 0, result.output
    run = tmp_path / "run"
    noted = Plan([Reply("I have noted that.")], pace=Pace(first_s=0.05))
    with RealtimeServer(examiner_plan()) as side_a, RealtimeServer(noted) as side_b:
        monkeypatch.setenv("OPENAI_API_KEY", side_a.key)
        examiner, system = (
            f"openai-realtime:{server.model}?base_url={server.base_url}&key_variable=OPENAI_API_KEY"
            "&silence_duration_ms=200"
            for server in (side_a, side_b)
        )
        chosen = ("--scenario", "Daily.ordering.001", "--scenario", "Correction.correction.001")
        result = command(
            *("run", "--suite", "staged", "--scenarios", scenarios, *chosen, "--pacing", "fast"),
            *("--examiner", examiner, "--system", f"x={system}", "--vad", "energy", "--out", run),
        )
        told = [session.settings["instructions"] for session in side_a.sessions]
    assert result.exit_code == 0, result.output
    assert all('Goal 2: Ask for thing 2, "the\tquoted" one.' in each for each in told)
    assert len(told) == 2
    for name in ("Daily.ordering.001.fast", "Correction.correction.001.fast"):
        recording = Recording(run / name)
        events = [each for each in recording.events if each["side"] == "A"]
        left = [(each["goal"], each["verdict"]) for each in events if each["kind"] == "examiner_goal"]
        assert left == [(n, "met") for n in range(1, GOALS + 1)]
        assert [each["what"] for each in events if each["kind"] == "examiner_says"] == ["goal"] * GOALS + ["closing"]
        assert recording.meta["parties"]["A"]["actor"] == examiner
    done("score", "--suite", "staged", run, "--out", tmp_path / "scores")
    document = json.loads((tmp_path / "scores/scores.json").read_text())
    assert {each["examiner"] for each in document["items"]} == {examiner}
    assert [each["measures"]["goals_met"] for each in document["items"]] == [1.0, 1.0]


def test_the_scripted_examiner_cannot_play_them(tmp_path: Path) -> None:
    content = {
        "version": 6,
        "settings": {"language": "en-US"},
        "splits": {"Daily": {"tasks": [task("Daily", "ordering", 1, "Bread")]}},
    }
    _, scenarios = imported(content, tmp_path)
    result = command(
        "run", "--suite", "staged", "--scenarios", scenarios, "--system", "echo", "--out", tmp_path / "run", code=2
    )
    assert "the scripted examiner cannot play it, another one (--examiner) can" in result.output
