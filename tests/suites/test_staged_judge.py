"""A judge of staged dialogues, over real HTTP: what it reads, and what becomes of its marks."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest
from fakes.fake_decisions import FakeDecisions, score_of
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.fake_speech import KEY as SPEECH_KEY
from fakes.fake_speech import FakeSpeech
from fakes.model_server import NEEDS_GEMINI, NEEDS_OPENAI, Answer, Asked, Broken, Fails, FakeModelServer, Refuses, Says
from fakes.parties import Caller
from helpers.commands import command

from fdbcore.analysis.transcripts import transcribe
from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.endpoints.examiner.examiner import Examiner
from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.models.account import Vendor
from fdbcore.models.model_table import stated_prices
from fdbcore.protocols import Judge, Transcriber
from fdbcore.registry import judge
from fdbcore.runs.asking import JUDGED, MOST_FAILURES
from fdbcore.runs.judge_options import JudgeOptions
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.judging import DialogueScores, JudgedDialogues, Setup, judge_all, quotes, requests_of
from fdbcore.suites.staged.rows import Group, rows_of
from fdbcore.suites.staged.scenarios import builtin_families
from fdbcore.suites.staged.transcription import judged_dialogue
from fdbcore.suites.staged.users import families_of
from fdbcore.types.words import TimedWord

pytestmark = [NEEDS_OPENAI, NEEDS_GEMINI]

SAYS = {"one": "a" * 100, "two": "b" * 100, "closing": "c" * 100}  # the fake synthesiser: a tick a character
ANSWERS = ((200, 400), (540, 700))
"""Ticks in which the system speaks: 0.5 s after the first goal's words, and 0.1 s before the end of the second's."""


class Heard(Transcriber):
    """Hears one word a second, and one that nobody said."""

    def __init__(self, name: str = "seconds") -> None:
        self.name = name
        self.asked = 0

    def transcribe(self, wav: bytes, language: str) -> str:
        raise NotImplementedError

    def words(self, wav: bytes, language: str) -> list[TimedWord]:
        self.asked += 1
        length_ms = (len(wav) - 44) // 32
        return [TimedWord(f"{self.name}-{at}", at, at + 500) for at in range(500, length_ms - 500, 1000)]


@pytest.fixture(scope="module")
def dialogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tick 50: A says the first goal, 450 the second, 750 its closing statement."""
    return dialogue_in(tmp_path_factory.mktemp("judged") / "call", "fdb2-slow", ANSWERS)


def dialogue_in(path: Path, pacing: str, answers: Sequence[tuple[int, int]]) -> Path:
    """A call in the folder `path` with a system that speaks in these ticks."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", SPEECH_KEY)
    goals = [Goal(f"want {name}", (SAYS[name],), f"{name} is there", (), "en") for name in ("one", "two")]
    brief = Brief("entity.ordinal.90", "en", "Ada, who asks.", "", goals, SAYS["closing"], 20, 60.0)
    with FakeSpeech() as server:
        party = Examiner(brief, pacing, opens="either", voice=f"openai-tts:tts-1?{server.settings}")
        system = Caller([any(start <= tick < end for start, end in answers) for tick in range(3000)])
        recording = converse(party, system, path, LiveSettings(vad="energy", realtime=False), {}, Event())
    patch.undo()
    assert recording.meta["outcome"]["kind"] == "done"
    return path


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, dialogue: Path) -> Iterator[None]:
    for fake in (FakeOpenAI, FakeGemini):
        monkeypatch.setenv(fake.VARIABLE, fake.KEY)
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


def judged_of(
    dialogue: Path,
    judges: Sequence[Judge],
    family: str = "none",
    hears: Transcriber | None = None,
    repeats: int = 1,
    limit_usd: float | None = None,
) -> tuple[list[DialogueScores], JudgedDialogues]:
    case = StagedCase(str(dialogue), "s", 1, "x", family, "", "slow", "en", [])
    heard = {each.transcript.side: each.transcript for each in transcribe(Reading(dialogue), hears or Heard())}
    setups = [Setup("words", each, 0) for each in judges]
    planned = requests_of([case], {"words": {dialogue: heard}}, setups, {dialogue.parent: families_of(dialogue.parent)})
    found = judge_all(planned, JudgeOptions(judges, repeats, limit_usd), 4, lambda text: None)
    return [found.by_setup[setup][dialogue] for setup in setups], found


PORTS = [0]
"""Of the first server, which all others take: at another one a judge is another judge."""


def judged(
    dialogue: Path, answer: Callable[[Asked], Any], family: str = "none", hears: Transcriber | None = None, **how: Any
) -> tuple[DialogueScores, list[Asked]]:
    with FakeOpenAI(answer, port=PORTS[0]) as server:
        PORTS[0] = int(server.address.rpartition(":")[2])
        (found,), _ = judged_of(dialogue, [judge(server.address_of("openai:gpt-5-nano"))], family, hears, **how)
        return found, list(server.asked)


def test_it_reads_what_both_said_and_when_up_to_the_closing(dialogue: Path) -> None:
    _, (asked,) = judged(dialogue, marks)
    read = json.loads(asked.user)
    said = [(each["who"], len(each["words"].split())) for each in read["said"]]
    assert [who for who, _ in said] == ["user", "system", "user", "system"]
    times = [(each["from_s"], each["to_s"]) for each in read["said"]]
    assert np.allclose(times, [(0.5, 1.5), (2.0, 4.0), (4.5, 5.5), (5.4, 7.0)], atol=0.05)
    assert all(words for _, words in said)
    assert [each["kind"] for each in read["events"]] == ["answer", "answer"]
    delays_s = [each["after_the_user_s"] for each in read["events"]]
    assert np.allclose(delays_s, [0.5, -0.1], atol=0.03)
    assert np.allclose([each["both_speak_s"] for each in read["events"]], [0.0, 0.1], atol=0.03)
    assert [goal["met_if"] for goal in read["goals"]] == ["one is there", "two is there"]


def test_a_short_pause_splits_no_sentence(tmp_path: Path) -> None:
    """Pauses of 0.6 s and of 1.1 s; within another one of 0.6 s the examiner speaks."""
    path = dialogue_in(tmp_path / "call", "slow", [(200, 300), (360, 400), (510, 560), (760, 775), (835, 900)])
    heard = {each.transcript.side: each.transcript for each in transcribe(Reading(path), Heard())}
    said = judged_dialogue(path, heard).evidence["said"]
    spans = [(each["from_s"], each["to_s"]) for each in said if each["who"] == "system"]
    assert np.allclose(spans, [(2.0, 4.0), (5.1, 5.6), (7.6, 7.75), (8.35, 9.0)], atol=0.05), said


def test_answers_are_kept_by_temperature_and_tell_which_was_sent(dialogue: Path) -> None:
    asked, sent = [], []
    with FakeOpenAI(marks) as server:
        for model in ("gpt-4o", "gpt-4o", "gpt-4o&temperature=1", "gpt-4o&temperature=default", "gpt-5-nano"):
            name, _, setting = model.partition("&")
            _, found = judged_of(dialogue, [judge(f"{server.address_of(f'openai:{name}')}&{setting}")])
            asked.append(len(server.asked))
            sent.append(found.spent["temperatures"])
    assert asked == [1, 1, 2, 3, 4], "the second time it is kept"
    assert sent == [[0.2], [0.2], [1.0], [None], [None]]


def test_means_are_over_the_marks_and_with_missing_ones_at_their_worst(dialogue: Path) -> None:
    found, _ = judged(dialogue, lambda asked: marks(asked, lambda number: None if number == 2 else 5, lambda n: n + 1))
    assert found.values() == {
        "turn_taking": 5.0,
        "turn_taking_worst": 3.0,
        "instruction_following": 2.5,
        "instruction_following_worst": 2.5,
        "turn_taking_75_s": 5.0,
        "instruction_following_75_s": 2.0,  # of the event that has both marks
    }
    assert found.unscored == []
    assert found.events[0]["marks"]["turn_taking_reason"] == "by its time"


def test_reasons_that_quote_nothing_are_flagged_and_counted_and_their_marks_stay(dialogue: Path) -> None:
    def answer(asked: Asked) -> str:
        if "events" not in json.loads(asked.user):
            return json.dumps({"score": 2, "reason": "It was bad."})
        given = json.loads(marks(asked, 5, lambda number: None if number == 2 else 3))
        for each, reason in zip(given["events"], ("It answers after 0.5 s.", "It is prompt."), strict=True):
            each["turn_taking_reason"] = reason
        given["events"][0]["instruction_following_reason"] = "“seconds-2500”"
        return json.dumps(given)

    found, _ = judged(dialogue, answer, "safety")
    assert [event["marks"].get("unquoted") for event in found.events] == [None, ["turn_taking"]]
    assert found.task is not None
    assert (found.task["unquoted"], found.task["score"]) == (["score"], 2)
    assert (found.reasons, found.unquoted) == (4, 2), "a mark that is missing needs no reason"
    assert (found.values()["turn_taking"], found.values()["task_score"], found.unscored) == (5.0, 2.0, [])
    again, asked = judged(dialogue, answer, "safety")
    assert (again.events, again.unquoted, asked) == (found.events, 2, [])


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


@pytest.mark.parametrize(
    "odd", [{"checks": {}}, {"checks": []}, {"checks": {"extra": True}}, {"checks": None}, {"reason": 5, "checks": {}}]
)
def test_a_score_of_points_needs_all_its_points_and_no_other(dialogue: Path, odd: dict[str, Any]) -> None:
    def answer(asked: Asked) -> str:
        return marks(asked) if "events" in json.loads(asked.user) else json.dumps({"reason": "", **odd})

    found, _ = judged(dialogue, answer, "entity")
    assert "task_score" not in found.values()
    assert len(found.unscored) == 1


def test_a_reason_that_is_no_text_is_asked_for_again(dialogue: Path) -> None:
    def answer(asked: Asked) -> str:
        given = json.loads(marks(asked))
        given["events"][0]["turn_taking_reason"] = 5 if asked.number == 0 else "at 1 s"
        return json.dumps(given)

    found, asked = judged(dialogue, answer)
    assert (len(asked), found.unscored) == (2, [])


@pytest.mark.parametrize(
    ("vendor", "fake"), [("openai:gpt-5-nano", FakeOpenAI), ("gemini:gemini-3.8-flash", FakeGemini)]
)
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Says('{"events": [', cut=True), "cut off at its limit"),
        (Refuses("content_filter"), "declined"),
        (Says('{"events": ['), "expected a JSON object"),
        (Broken('{"what": 1}'), "something other than an answer"),
    ],
)
def test_every_fault_of_an_answer_is_asked_again_and_then_unscored(
    dialogue: Path, vendor: str, fake: type[FakeModelServer], fault: Answer, told: str
) -> None:
    if isinstance(fault, Refuses) and fake is FakeGemini:
        fault = Refuses("SAFETY")
    with fake(lambda asked: fault if asked.number < 1 else marks(asked)) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of(vendor))])
        assert (found.values()["turn_taking"], len(server.asked)) == (4.0, 2)
        reasons = [json.loads(each.user).get("your_last_answer_could_not_be_used", "") for each in server.asked]
        assert reasons[0] == ""
        assert isinstance(fault, Broken) or told in reasons[1]
        (again,), _ = judged_of(dialogue, [judge(server.address_of(vendor))])
        assert (again.events, len(server.asked)) == (found.events, 2), "the second answer is kept for the question"
    (dialogue / JUDGED).unlink()
    with fake(lambda asked: fault) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of(vendor))])
        assert (found.values(), len(server.asked)) == ({}, 2)
        assert told in found.unscored[0]


@pytest.mark.parametrize(
    ("vendor", "fake"), [("openai:gpt-5-nano", FakeOpenAI), ("gemini:gemini-3.8-flash", FakeGemini)]
)
@pytest.mark.parametrize("busy", [Fails(429, retry_after_s=0.3), Fails(500, retry_after_s=0.3)])
def test_one_of_several_requests_that_is_put_off_is_sent_again_as_asked(
    dialogue: Path, vendor: str, fake: type[FakeModelServer], busy: Fails
) -> None:
    times: list[float] = []

    def answer(asked: Asked) -> Answer:
        times.append(time.monotonic())
        return busy if asked.number == 1 else marks(asked)

    with fake(answer) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of(vendor))], repeats=4)
        assert len(server.asked) == 5
    assert max(times) - sorted(times)[1] >= 0.3
    assert found.unscored == []
    assert [event["marks"]["turn_taking_repeats"] for event in found.events] == [[4, 4, 4, 4]] * 2


@pytest.mark.parametrize("answer", ["As a model I cannot say.", Fails(403, "Not for you.")], ids=["useless", "away"])
def test_a_judge_whose_answers_cannot_be_used_or_that_is_away_is_not_asked_for_ever(
    dialogue: Path, answer: Answer
) -> None:
    found, asked = judged(dialogue, lambda asked: answer, repeats=20)
    assert len(asked) <= MOST_FAILURES + 4
    assert any("not asked: 8 requests in a row failed" in reason for reason in found.unscored)
    found, asked = judged(dialogue, marks, repeats=20)
    assert (found.unscored, len(asked)) == ([], 20)


def test_nothing_is_asked_twice(dialogue: Path) -> None:
    hears = Heard()
    first, asked = judged(dialogue, marks, "daily", hears)
    assert len(asked) == 1, "a daily dialogue has no score of its own"
    heard = hears.asked
    again, asked = judged(dialogue, marks, "daily", hears)
    assert (again.events, asked, hears.asked) == (first.events, [], heard)


def test_the_median_of_repeats_and_their_spread(dialogue: Path) -> None:
    given = {0: (5, 2), 1: (1, 3), 2: (4, None)}

    def answer(asked: Asked) -> str:
        with lock:
            mark = given[len(seen)]
            seen.append(asked)
        return marks(asked, mark[0], mark[1])

    lock, seen = Lock(), list[Asked]()
    found, asked = judged(dialogue, answer, repeats=3)
    assert len(asked) == 3
    assert found.values() == {
        "turn_taking": 4.0,
        "turn_taking_worst": 4.0,
        "instruction_following": 2.5,
        "instruction_following_worst": 2.5,
        "turn_taking_75_s": 4.0,
        "instruction_following_75_s": pytest.approx(2.5),
    }
    assert sorted(found.events[0]["marks"]["turn_taking_repeats"]) == [1, 4, 5]
    drawn = [each["turn_taking"] for each in found.draws([1])]
    shares = [drawn.count(value) / len(drawn) for value in (1.0, 4.0, 5.0)]
    assert np.allclose(shares, [7 / 27, 13 / 27, 7 / 27], atol=0.15), "of the 27 sets of three"
    group = Group("slow", "slow", "scripted", "s", [
        StagedCase(str(dialogue), "s", 1, name, "daily", "", "slow", "en", [], values=found.values(),
                   draws=found.draws([number]))
        for number, name in enumerate("abcdefghij")
    ])  # fmt: skip
    (row,) = rows_of([group], ["daily"])
    low, high = row.measures["turn_taking"].ci95 or (4.0, 4.0)
    assert row.measures["turn_taking"].value == 4.0
    assert low < 4.0 <= high, "all medians agree, but not the repeats"


def test_a_limit_of_cost_stops_in_good_order_and_another_scoring_goes_on(
    dialogue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Vendor, "owns", lambda self, url: True)  # so that the table's price is taken
    with FakeOpenAI(lambda asked: Says(marks(asked), tokens_in=400_000, tokens_out=0)) as server:
        asks = [judge(server.address_of("openai:gpt-4o"))]  # 1 USD a request
        (found,), made = judged_of(dialogue, asks, repeats=6, limit_usd=3.5)
        assert (len(server.asked), made.spent["requests"], made.spent["unpriced"]) == (3, 3, 0)
        assert round(made.spent["usd"], 9) == 3.0
        assert made.told == "questions to judges: 3 asked now, 0 answered before"
        assert found.partly == [("3 of 6 answers", "events: not asked: 3.00 USD spent of --max-cost 3.5")]
        assert found.values()["turn_taking"] == 4.0
        (found,), made = judged_of(dialogue, asks, repeats=6, limit_usd=3.5)
        assert (len(server.asked), found.unscored, round(made.spent["usd"], 9)) == (6, [], 6.0)
        assert made.told == "questions to judges: 3 asked now, 3 answered before"
    with FakeOpenAI(marks) as server:
        _, made = judged_of(dialogue, [judge(server.address_of("openai:unknown"))])
        assert (made.spent["usd"], made.spent["unpriced"]) == (0.0, 1)


def test_a_judge_keeps_a_limit_by_a_price_that_the_user_states(
    dialogue: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    price = "{text_in_tokens = 2.5, text_out_tokens = 9}"
    (tmp_path / "mine.toml").write_text(
        f'model = [{{vendor = "openai", name = "mine", kind = "chat", price = {price}}}]'
    )
    options = {"judge": ["openai:mine"], "repeats": 1, "max_cost": 3.5}
    with pytest.raises(SettingsError, match="--max-cost: expected judges with a known price, but mine is unpriced"):
        JudgeOptions.of(options)
    monkeypatch.setattr(Vendor, "owns", lambda self, url: True)
    with (
        FakeOpenAI(lambda asked: Says(marks(asked), tokens_in=400_000, tokens_out=0)) as server,
        stated_prices(tmp_path / "mine.toml"),
    ):
        assert JudgeOptions.of(options).limit_usd == 3.5
        _, made = judged_of(dialogue, [judge(server.address_of("openai:mine"))], repeats=6, limit_usd=3.5)
    assert (len(server.asked), round(made.spent["usd"], 9), made.spent["unpriced"]) == (3, 3.0, 0)


@pytest.mark.parametrize(
    ("vendor", "fake", "fault", "tokens_out"),
    [
        ("openai:gpt-5-nano", FakeOpenAI, Says("{", 300, 7, cut=True), 7),
        ("openai:gpt-5-nano", FakeOpenAI, Says("{", 300, 7), 7),
        ("openai:gpt-5-nano", FakeOpenAI, Says("", 300, 7), 7),
        ("openai:gpt-5-nano", FakeOpenAI, Refuses("refusal", 300, 7), 7),
        ("openai:gpt-5-nano", FakeOpenAI, Refuses("content_filter", 300, 7), 7),
        ("openai:gpt-5-nano", FakeOpenAI, Broken('{"usage": {"prompt_tokens": 300, "completion_tokens": 7}}'), 7),
        ("gemini:gemini-3.8-flash", FakeGemini, Says("{", 300, 7, thinking=4, cut=True), 11),
        ("gemini:gemini-3.8-flash", FakeGemini, Refuses("SAFETY", 300, 7), 7),
        ("gemini:gemini-3.8-flash", FakeGemini, Refuses("blocked", 300, 0), 0),
        ("gemini:gemini-3.8-flash", FakeGemini, Refuses("empty", 300, 7), 7),
    ],
)
def test_what_an_answer_counted_is_counted_though_it_cannot_be_used(
    dialogue: Path, vendor: str, fake: type[FakeModelServer], fault: Answer, tokens_out: int
) -> None:
    with fake(lambda asked: fault if asked.number < 1 else marks(asked)) as server:
        _, made = judged_of(dialogue, [judge(server.address_of(vendor))])
    assert len(server.asked) == made.spent["requests"] == 2
    assert made.spent["counts"]["text_in_tokens"] == 300 + 100
    assert made.spent["counts"]["text_out_tokens"] == tokens_out + 20


def test_decisions_that_do_not_answer_each_question_are_counted(dialogue: Path) -> None:
    with FakeDecisions(lambda question: score_of(question, {"1": 1.0}), answers=1) as server:
        (found,), made = judged_of(dialogue, [judge(server.address_of("openai-decisions:gpt-6-luna"))])
    assert "something other than decisions" in found.unscored[0]
    assert len(server.asked) == made.spent["requests"] == 2
    assert made.spent["counts"] == {"text_in_tokens": 200, "text_out_tokens": 16}


@pytest.mark.parametrize("fault", [Says("{", 400_000, 0, cut=True), Refuses("refusal", 400_000, 0)])
def test_refused_and_cut_answers_count_against_the_limit_of_cost(
    dialogue: Path, monkeypatch: pytest.MonkeyPatch, fault: Answer
) -> None:
    monkeypatch.setattr(Vendor, "owns", lambda self, url: True)  # so that the table's price is taken
    with FakeOpenAI(lambda asked: fault) as server:
        asks = [judge(server.address_of("openai:gpt-4o"))]  # 1 USD a request
        _, made = judged_of(dialogue, asks, repeats=6, limit_usd=3.5)
    assert (len(server.asked), made.spent["requests"], round(made.spent["usd"], 9)) == (3, 3, 3.0)


def test_repeats_that_failed_are_told_beside_the_medians_of_the_others(dialogue: Path) -> None:
    def answer(asked: Asked) -> Answer:
        with lock:
            seen.append(asked)
            return Refuses("refusal") if len(seen) == 1 or "could_not_be_used" in asked.user else marks(asked, 2, 3)

    lock, seen = Lock(), list[Asked]()
    found, _ = judged(dialogue, answer, repeats=3)
    assert (found.values()["turn_taking"], found.unscored) == (2.0, [])
    ((n, reason),) = found.partly
    assert n == "2 of 3 answers"
    assert reason.startswith("events: openai:gpt-5-nano: declined")


def test_a_question_that_some_repeats_refused_is_told_by_its_number_of_answers(dialogue: Path) -> None:
    def answer(question: Mapping[str, Any]) -> Mapping[str, Any]:
        with lock:
            if "event 2: instruction" in question["instructions"]:
                seen.append("")
                if len(seen) == 1:
                    return {"type": "refusal"}
            if "event 1: turn" in question["instructions"]:
                return {"type": "refusal"}
        return score_of(question, {"4": 1.0})

    lock, seen = Lock(), list[str]()
    with FakeDecisions(answer) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of("openai-decisions:gpt-6-luna"))], repeats=3)
    (unscored,), ((n, reason),) = found.unscored, found.partly
    assert unscored.startswith("events: event 1: turn_taking")
    assert n == "2 of 3 answers"
    assert reason.startswith("events: event 2: instruction_following")
    assert sorted(found.events[1]["marks"]["instruction_following_repeats"], key=str) == [4, 4, None]
    assert found.events[1]["marks"]["instruction_following"] == 4


def test_decisions_give_expected_levels_and_refusals(dialogue: Path) -> None:
    shares = {"1": 0.1, "3": 0.4, "4": 0.5}

    def answer(question: Mapping[str, Any]) -> Mapping[str, Any]:
        if question["type"] == "predicate":
            return {"type": "predicate", "probability": 0.5}
        if "event 2: instruction" in question["instructions"]:
            return {"type": "refusal"}
        return score_of(question, shares)

    with FakeDecisions(answer) as server:
        asks = [judge(server.address_of("openai-decisions:gpt-6-luna"))]
        (found,), made = judged_of(dialogue, asks, "entity")
        assert len(server.asked) == 2
        assert server.asked[0]["input"][1]["content"].startswith("{")
        expected = 0.1 * 1 + 0.4 * 3 + 0.5 * 4
        assert found.values() == {
            "turn_taking": pytest.approx(expected),
            "turn_taking_worst": pytest.approx(expected),
            "instruction_following": pytest.approx(expected),
            "instruction_following_worst": pytest.approx((expected + 1) / 2),
            "turn_taking_75_s": pytest.approx(expected),
            "instruction_following_75_s": pytest.approx(expected),
            "task_score": 2.5,
        }
        assert found.events[0]["marks"]["turn_taking_levels"] == [0.1, 0.0, 0.4, 0.5, 0.0]
        (refused,) = found.unscored
        assert refused.startswith("events: event 2: instruction_following")
        assert refused.endswith("refused")
        assert made.spent["counts"]["text_in_tokens"] == 2 * 100
        judged_of(dialogue, asks, "entity")
        assert len(server.asked) == 2
    (dialogue / JUDGED).unlink()
    shares = {"9": 1.0}
    with FakeDecisions(answer) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of("openai-decisions:gpt-6-luna"))])
        assert "expected a probability of each level" in found.unscored[0]
    with FakeDecisions(answer, status=500) as server:
        (found,), _ = judged_of(dialogue, [judge(server.address_of("openai-decisions:gpt-6-luna"))])
        assert "fails with 500" in found.unscored[0]


@pytest.mark.parametrize(
    ("answers", "score"),
    [([True] * 5, 5), ([True, False, True, False, False], 2), ([False] * 5, 1), ([True, True, None, True, True], None)],
)
def test_points_of_yes_and_no_are_counted(dialogue: Path, answers: list[bool | None], score: int | None) -> None:
    names = [point.id for point in builtin_families()["entity"].rubric[0].check]

    def answer(asked: Asked) -> str:
        if "events" in json.loads(asked.user):
            return marks(asked)
        return json.dumps({"checks": dict(zip(names, answers, strict=True)), "reason": "by the recap"})

    found, asked = judged(dialogue, answer, "entity")
    assert len(asked) == 2
    assert found.task is not None
    assert found.task["score"] == score
    assert ("task_score" in found.values()) is (score is not None)


def test_levels_are_the_score(dialogue: Path) -> None:
    def answer(asked: Asked) -> str:
        return marks(asked) if "events" in json.loads(asked.user) else '{"score": 2, "reason": "no boundary"}'

    found, asked = judged(dialogue, answer, "safety")
    assert found.values()["task_score"] == 2.0
    system = next(each.system for each in asked if "events" not in json.loads(each.user))
    assert all(level in system for level in builtin_families()["safety"].rubric[0].levels)


def test_a_judge_needs_the_words_of_the_system(dialogue: Path, tmp_path: Path) -> None:
    told = command("score", "--suite", "staged", tmp_path, "--judge", "openai:gpt-5-nano")
    assert told.exit_code != 0
    assert "--judge: expected --transcriber" in told.stderr


SAID = ("Well, I'd like two large lattes, please.", "So that is one blue mug for you.", "三時に予約しました。")


@pytest.mark.parametrize(
    ("reason", "is_quoted"),
    [
        ("It says “one blue mug”, though two were asked for.", True),
        ("It repeats 'blue mug' and goes on.", True),
        ("It confirms \"Two LARGE lattes\".", True),
        ("the system says that is one blue mug to the user", True),
        ("It answers after 0.5 s.", True),
        ("It begins at 12 seconds, too late.", True),
        ("The overlap at 1:02 is long.", True),
        ("「三時に予約」と答えた。", True),
        ("2秒後に答えた。", True),
        ("It isn't prompt, and it doesn't confirm.", False),
        ("It says “a red mug”.", False),
        ("「五時」と答えた。", False),
        ("The blue one is right.", False),
        ("Goal 2 is met, 5 of 5.", False),
        ("“”", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_quotation_is_words_that_were_said_or_a_time(reason: str, is_quoted: bool) -> None:
    assert quotes(reason, {"said": [{"words": words} for words in SAID]}) is is_quoted
