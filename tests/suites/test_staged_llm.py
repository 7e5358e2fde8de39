"""A chat model as the examiner of staged dialogues: run, scored, and what it will cost."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fakes.fake_chat import KEY, FakeChat, Turn
from helpers.commands import command, printed
from helpers.released_tasks import imported, task
from helpers.staged_runs import NEEDS_VOICE, beeps, hold

from fdbcore import clock
from fdbcore.recording.reader import Recording

HEARS = "--examiner-transcriber"
SCENARIOS = """
schema = "fdbcore.scenarios/1"

[[scenario]]
id = "daily.ordering.90"
family = "daily"
class = "ordering"
title = "A mug"
language = "en"
role = "Ada, who buys a mug."
background = "Ada pays in cash."
goal = [
  { goal = "Buy a mug.", met = "The system confirms a mug." },
  { goal = "Ask for its price.", met = "The system names a price." },
]
"""


def plays(body: Mapping[str, Any]) -> Turn:
    """A model that plays its part: a goal is met if the system has said what it is about."""
    told = body["messages"][-1]["content"]
    heard = told.rpartition("Assistant: ")[2].partition("\n")[0] if "Assistant: " in told else ""
    present, _, following = told.partition("Your present aim: ")[2].partition("your next aim: ")
    met = _wanted(present) in heard
    say = f"Well, what about the {_wanted(following) if met and following else _wanted(present)}?"
    return Turn(json.dumps({"reason": f"It said: {heard}", "met": met, "say": say}))


def _wanted(aim: str) -> str:
    return next(word for word in ("mug", "price", "thing") if word in aim)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeChat]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeChat(plays, heard=lambda wav: "One blue mug for you, and another thing.") as server:
        yield server


def examiner(chat: FakeChat) -> list[str]:
    """The options of a run."""
    return ["--examiner", f"llm:openai:gpt-4o?{chat.settings}", HEARS, f"openai:whisper-1?{chat.settings}"]


@NEEDS_VOICE
def test_it_plays_scenarios_without_words_and_its_verdicts_are_scored(tmp_path: Path, chat: FakeChat) -> None:
    how = ("--pacing", "both", "--attempts", 2, "--system", beeps(tmp_path))
    recording = Recording(hold(tmp_path, *examiner(chat), *how, scenarios=SCENARIOS) / "daily.ordering.90.slow")
    party = recording.meta["parties"]["A"]
    assert (party["wordings"], party["chat"]["name"]) == (2, "openai:gpt-4o")
    own = [event["text"] for event in recording.events if event["kind"] == "transcript" and event["of"] == "self"]
    assert own[:3] == ["Well, what about the mug?"] + ["Well, what about the price?"] * 2

    found = printed("score", "--suite", "staged", tmp_path / "run", "--out", tmp_path / "scores")
    assert {item["examiner"].partition("?")[0] for item in found["items"]} == {"llm:openai:gpt-4o"}
    for item in found["items"]:
        assert [(goal["verdict"], goal["sayings"]) for goal in item["goals"]] == [("met", 1), ("unmet", 2)]
        assert item["measures"]["goals_met"] == 0.5
    for row in found["examiners"]:
        counts = {name: count for name, count in row["counts"].items() if name != "contradicted"}
        assert not any(counts.values()), "no fault of the examiner"
    assert not any("goals were met" in text for text in [*found["warnings"], *found["notes"]])


@NEEDS_VOICE
def test_it_plays_released_tasks(tmp_path: Path, chat: FakeChat) -> None:
    tasks = [task("Daily", "ordering", 1, "Bread")]
    content = {"version": 6, "settings": {"language": "en-US"}, "splits": {"Daily": {"tasks": tasks}}}
    scenarios = imported(content, tmp_path)[1].read_text()
    how = ("--pacing", "fdb2-fast", "--system", beeps(tmp_path))
    recording = Recording(hold(tmp_path, *examiner(chat), *how, scenarios=scenarios) / "Daily.ordering.001.fdb2-fast")
    assert recording.outcome == {"kind": "done", "side": None, "reason": None}
    left = [(each["goal"], each["verdict"]) for each in recording.events if each["kind"] == "examiner_goal"]
    assert left == [(goal, "met") for goal in range(1, 5)]
    found = printed("score", "--suite", "staged", tmp_path / "run", "--out", tmp_path / "scores")
    assert [item["measures"]["goals_met"] for item in found["items"]] == [1.0]


class TestBeforeItBegins:
    @pytest.fixture(autouse=True)
    def _today(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setattr(clock, "utc_today", lambda: date(2026, 11, 23))

    def asked(self, tmp_path: Path, *more: object) -> Result:
        (tmp_path / "mug.toml").write_text(SCENARIOS)
        scenarios = ("--scenarios", tmp_path / "mug.toml")
        return command("run", "--suite", "staged", *scenarios, "--system", "echo", "--out", tmp_path / "run", *more)

    @NEEDS_VOICE
    def test_a_dry_run_says_what_goes_to_whom_and_the_cost(self, tmp_path: Path) -> None:
        actor = ("--examiner", "llm:openai:gpt-4o", HEARS, "openai:whisper-1")
        found = json.loads(self.asked(tmp_path, *actor, "--dry-run", "--json").stdout)
        assert set(found["recipients"]) == {
            "words of the call go to OpenAI (api.openai.com)",
            "the audio of side B goes to OpenAI (api.openai.com)",
        }
        assert any("gpt-4o ends in" in each for each in found["endings"])
        # By hand, for 180 s: 200 tokens heard a minute at 2.5 USD a million, half of them said at 10; 0.006 a minute.
        assert found["systems"]["all"]["usd"] == pytest.approx(600 * 2.5e-6 + 300 * 10e-6 + 3 * 0.006, rel=0.01)

    @NEEDS_VOICE
    def test_a_limit_of_cost_needs_prices(self, tmp_path: Path) -> None:
        result = self.asked(tmp_path, "--examiner", "llm:openai:gpt-99", HEARS, "openai:whisper-1", "--max-cost", 1)
        assert result.exit_code == 2
        assert "gpt-99 is unpriced" in result.stderr

    def test_it_needs_ears_and_a_model(self, tmp_path: Path) -> None:
        for actor, told in (
            (("llm:openai:gpt-4o",), "actor llm:openai:gpt-4o: expected a transcriber of what the system says"),
            (("llm:nobody", HEARS, "openai:whisper-1"), "actor llm:nobody: expected one of"),
        ):
            result = self.asked(tmp_path, "--examiner", *actor)
            assert (result.exit_code, result.stdout) == (2, "")
            assert told in " ".join(result.stderr.split())
            assert not (tmp_path / "run").exists()
