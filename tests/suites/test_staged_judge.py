"""A judge of staged dialogues, over real HTTP: what it reads, and what becomes of its marks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from fakes.fake_openai import FakeOpenAI
from fakes.fake_speech import KEY as SPEECH_KEY
from fakes.fake_speech import FakeSpeech
from fakes.model_server import NEEDS_OPENAI, Asked, Refuses
from fakes.parties import Caller

from fdbcore.cli.main import main
from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.protocols import Transcriber
from fdbcore.registry import judge
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.suites.staged.families import Family, builtin_families
from fdbcore.suites.staged.judging import DialogueMarks, judge_dialogue

pytestmark = NEEDS_OPENAI

SAYS = {"one": "a" * 100, "two": "b" * 100, "closing": "c" * 100}  # the fake synthesiser: a tick a character
ANSWERS = ((200, 400), (540, 700))
"""Ticks in which the system speaks: 0.5 s after the first goal's words, and 0.1 s before the end of the second's."""


class Heard(Transcriber):
    """Hears the length of what it is given."""

    name = "lengths"

    def __init__(self) -> None:
        self.asked = 0

    def transcribe(self, wav: bytes, language: str) -> str:
        self.asked += 1
        return f"{(len(wav) - 44) // 960} ticks of {language}"


@pytest.fixture(scope="module")
def dialogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tick 50: A says the first goal, 450 the second, 750 its closing statement."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", SPEECH_KEY)
    goals = [Goal(f"want {name}", (SAYS[name],), f"{name} is there", (), "en") for name in ("one", "two")]
    brief = Brief("entity.ordinal.90", "en", "Ada, who asks.", "", goals, SAYS["closing"], 20, 60.0)
    with FakeSpeech() as server:
        party = Examiner(brief, "fdb2-slow", voice=f"openai-tts:tts-1?{server.settings}")
        system = Caller([any(start <= tick < end for start, end in ANSWERS) for tick in range(3000)])
        path = tmp_path_factory.mktemp("judged") / "call"
        recording = converse(party, system, path, LiveSettings(vad="energy", realtime=False), {}, Event())
    patch.undo()
    assert recording.meta["outcome"]["kind"] == "done"
    return path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, dialogue: Path) -> Iterator[None]:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    yield
    (dialogue / "derived" / "judged.json").unlink(missing_ok=True)


def marks(of: Asked, turn_taking: Any = 4, following: Any = 3) -> str:
    """Marks of all events; a function gives that of each number."""

    def mark(given: Any, number: int) -> Any:
        return given(number) if callable(given) else given

    events = json.loads(of.user)["events"]
    return json.dumps(
        {
            "events": [
                {
                    "event": each["event"],
                    "turn_taking": mark(turn_taking, each["event"]),
                    "turn_taking_reason": "by its time",
                    "instruction_following": mark(following, each["event"]),
                    "instruction_following_reason": "by its words",
                }
                for each in events
            ]
        }
    )


def judged(
    dialogue: Path, answer: Callable[[Asked], Any], family: Family | None = None, hears: Transcriber | None = None
) -> tuple[DialogueMarks, list[Asked]]:
    with FakeOpenAI(answer) as server:
        found = judge_dialogue(dialogue, family, judge(server.address_of("openai:gpt-5-nano")), hears or Heard())
        return found, list(server.asked)


def test_it_reads_what_both_said_and_when_up_to_the_closing(dialogue: Path) -> None:
    _, (asked,) = judged(dialogue, marks)
    read = json.loads(asked.user)
    said = [(each["who"], each["words"]) for each in read["said"]]
    assert [who for who, _ in said] == ["user", "system", "user", "system"]
    assert [words for who, words in said if who == "user"] == [SAYS["one"], SAYS["two"]]
    times = [(each["from_s"], each["to_s"]) for each in read["said"]]
    assert np.allclose(times, [(0.5, 1.5), (2.0, 4.0), (4.5, 5.5), (5.4, 7.0)], atol=0.03)
    assert [each["kind"] for each in read["events"]] == ["answer", "answer"]
    delays_s = [each["after_the_user_s"] for each in read["events"]]
    assert np.allclose(delays_s, [0.5, -0.1], atol=0.03)
    assert [goal["met_if"] for goal in read["goals"]] == ["one is there", "two is there"]
    assert SAYS["closing"] not in asked.user


def test_means_are_over_the_marks_and_with_missing_ones_at_their_worst(dialogue: Path) -> None:
    found, _ = judged(dialogue, lambda asked: marks(asked, lambda number: None if number == 2 else 5, lambda n: n + 1))
    assert found.values() == {
        "turn_taking": 5.0,
        "turn_taking_worst": 3.0,
        "instruction_following": 2.5,
        "instruction_following_worst": 2.5,
    }
    assert found.unscored == []
    assert found.events[0]["marks"]["turn_taking_reason"] == "by its time"


def test_what_cannot_be_used_is_asked_again_with_the_error_and_then_unscored(dialogue: Path) -> None:
    def once_wrong(asked: Asked) -> str:
        given = json.loads(marks(asked))
        if asked.number == 0:
            given["events"][1]["turn_taking"] = 9
        return json.dumps(given)

    found, asked = judged(dialogue, once_wrong)
    told = json.loads(asked[1].user)["your_last_answer_could_not_be_used"]
    assert told == "event 2: turn_taking: expected a whole number from 1 to 5, or null, got 9"
    assert found.values()["turn_taking"] == 4.0
    (dialogue / "derived" / "judged.json").unlink()
    found, asked = judged(dialogue, lambda asked: '{"events": []}')
    assert len(asked) == 2
    assert found.values() == {}, "unscored is not zero"
    assert found.unscored == ["events: events: expected each of [1, 2] once, got []"]
    found, asked = judged(dialogue, lambda asked: Refuses("refusal"))
    assert len(asked) == 1
    assert found.unscored[0].startswith("events: declined: ")


def test_nothing_is_asked_twice(dialogue: Path) -> None:
    hears = Heard()
    first, asked = judged(dialogue, marks, builtin_families()["daily"], hears)
    assert len(asked) == 1, "a daily dialogue has no score of its own"
    heard = hears.asked
    with FakeOpenAI([]) as server:
        again = judge_dialogue(
            dialogue, builtin_families()["daily"], judge(server.address_of("openai:gpt-5-nano")), hears
        )
        assert (again.events, server.asked, hears.asked) == (first.events, [], heard)


@pytest.mark.parametrize(
    ("answers", "score"),
    [
        ([True] * 5, 5),
        ([True, False, True, False, False], 2),
        ([False] * 5, 1),
        ([True, True, None, True, True], None),
    ],
)
def test_points_of_yes_and_no_are_counted(dialogue: Path, answers: list[bool | None], score: int | None) -> None:
    family = builtin_families()["entity"]
    names = [point.id for point in family.rubric[0].checks]

    def answer(asked: Asked) -> str:
        if "events" in json.loads(asked.user):
            return marks(asked)
        return json.dumps({"checks": dict(zip(names, answers, strict=True)), "reason": "by the recap"})

    found, asked = judged(dialogue, answer, family)
    assert len(asked) == 2
    assert found.task is not None
    assert found.task["score"] == score
    assert ("task_score" in found.values()) is (score is not None)


def test_levels_are_the_score(dialogue: Path) -> None:
    def answer(asked: Asked) -> str:
        return marks(asked) if "events" in json.loads(asked.user) else '{"score": 2, "reason": "no boundary"}'

    found, asked = judged(dialogue, answer, builtin_families()["safety"])
    assert found.values()["task_score"] == 2.0
    assert all(level in asked[1].system for level in builtin_families()["safety"].rubric[0].levels)


def test_a_judge_needs_the_words_of_the_system(dialogue: Path, tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["score", "--suite", "staged", str(tmp_path), "--judge", "openai:gpt-5-nano"])
    assert told.exit_code != 0
    assert "--judge: expected --transcriber" in told.stderr
