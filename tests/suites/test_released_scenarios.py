"""Released tasks of Full-Duplex-Bench-v2, with texts of our own: imported, and run with a live party on each side."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fakes.realtime_server import Call, Pace, Plan, RealtimeServer, Reply
from helpers.commands import command, done
from helpers.released_tasks import imported, task

from fdbcore.recording.reader import Recording
from fdbcore.suites.staged.scenario_files import read_set, toml_text

CLASSES = {
    "Daily": ("ordering", "scheduling", "planning", "reservations", "troubleshoot"),
    "Correction": ("correction",),
    "EntityTracking": ("entity_tracking",),
    "Safety": (
        "health_physical", "health_mental", "illegal_physical", "cyber_illicit", "privacy", "toxicity_bias",
        "financial_legal", "adult_minors", "misinfo", "copyright", "agent_safety",
    ),
}  # fmt: skip
TITLES = {
    "Bread (T2 corrects T1)": ("next-turn", 2, 1),
    "Milk (extra) (T4 corrects T2)": ("earlier-turn", 4, 2),
    "Soap (T2 corrects T2 mid-utterance)": ("within-turn", 2, 2),
    "Salt (mid-sentence in T3)": ("within-turn", 3, 3),
}


def released() -> dict[str, Any]:
    splits: dict[str, Any] = {
        split: {"classes": [], "tasks": [task(split, name, n, "A title") for n, name in enumerate(names, 1)]}
        for split, names in CLASSES.items()
    }
    splits["Correction"]["tasks"] = [task("Correction", "correction", n, title) for n, title in enumerate(TITLES, 1)]
    return {"version": 6, "settings": {"language": "en-US", "turn_limit": 5}, "splits": splits}


def test_tasks_become_scenarios_with_goals_and_without_words(tmp_path: Path) -> None:
    result, out = imported(released(), tmp_path)
    assert result.exit_code == 0
    assert "21 scenarios: 5 daily, 4 correction, 1 entity, 11 safety" in result.output
    assert "CC BY-NC 4.0" in result.output
    found = read_set(str(out))
    assert "version 6" in found.credits[0]
    first = found.scenarios[0]
    assert (first.id, first.role) == ("Daily.ordering.001", "A “buyer” of ordering.")
    assert [goal.goal for goal in first.goals] == [f'Ask for thing {n}, "the\tquoted" one.' for n in range(1, 5)]
    assert (first.closing, first.limits.max_s) == ("The conversation is over.", 120.0)
    assert not any(scenario.has_words for scenario in found.scenarios)
    assert [(each.class_, each.corrections[0].stage, each.corrections[0].of) for each in found.scenarios[5:9]] == list(
        TITLES.values()
    )
    assert {each.class_ for each in found.scenarios if each.family == "safety"} == set(
        found.families["safety"].class_titles
    )
    checked = done("scenarios", "validate", out)
    assert "21 scenarios (Daily.ordering.001, " in checked.stderr
    assert "goals without say: a keyless examiner cannot play it" in checked.stderr


def test_a_file_that_exists_stays(tmp_path: Path) -> None:
    (tmp_path / "out.toml").write_text("mine")
    result, out = imported(released(), tmp_path)
    assert result.exit_code == 2
    assert "expected a new file" in result.stderr
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ((), "[1", "expected the released tasks of Full-Duplex-Bench-v2"),
        ((), [1], "expected the released tasks of Full-Duplex-Bench-v2"),
        (("splits",), {}, "expected tasks, got none"),
        (("splits", "Daily", "tasks", 0), 3, "task 1: expected a table, got 3"),
        (("splits", "Daily", "tasks", 1, "class_id"), "x", "scheduling.002: class_id: expected one of ordering, "),
        (("splits", "Daily", "tasks", 1, "scenario_title"), 7, "task 2: scenario_title: expected a text, got 7"),
        (("splits", "Daily", "tasks", 1, "staged_reveal"), {}, "staged_reveal: expected a text for each of T1, T2"),
        (("splits", "Daily", "tasks", 1, "examiner_task_prompt"), "Go.", "a role after '**Roleplay', got none"),
        (("splits", "Correction", "tasks", 0, "scenario_title"), "T", "expected an end such as '(T2 corrects T1)'"),
        (("splits", "Other"), {"tasks": [task("Other", "x", 1, "T")]}, "Other.x.001: expected one of Daily, "),
    ],
)  # fmt: skip
def test_another_form_is_told_in_one_line(tmp_path: Path, path: tuple[Any, ...], value: object, said: str) -> None:
    content: Any = released()
    if path:
        table = content
        for step in path[:-1]:
            table = table[step]
        table[path[-1]] = value
    result, out = imported(content if path else value, tmp_path)
    assert result.exit_code == 2
    assert said in result.stderr.splitlines()[-1]
    assert not out.exists()


def test_what_is_written_is_what_toml_reads() -> None:
    table = {
        "text": 'a "quote", a \\ and a\nline\x7f\x01 ü 漢字 🎈',
        "number": 1.5,
        "lists": [["a", "b"], ["c"]],
        "below": {"n": 3},
        "list": [{"x": "1", "inner": [{"y": 2}, {"y": 3}]}, {"x": "2"}],
    }
    assert tomllib.loads(toml_text(table)) == table


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
