"""Replies labelled by a language model: corrections, repeats, what is unscored, and that nothing is asked twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_gemini import FakeGemini
from fakes.model_server import NEEDS_GEMINI, Answer, Asked, Broken, Fails, Refuses, Says
from fakes.writers import label, record, steps
from helpers.commands import command, printed

from fdbcore import registry
from fdbcore.errors import PartyError, RecordingError
from fdbcore.suites.dialogue_acts.models.annotate import Labelling, annotate, references
from fdbcore.suites.dialogue_acts.models.asking import MOST_ASKED
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, folder_of
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Record, Response, Step, jsonl

pytestmark = [NEEDS_GEMINI]


RECORDS = [
    Record.from_json({"id": f"timer-{number}", **record(f"{number}分のタイマーをお願い。")}) for number in range(1, 4)
]
RESPONSES = [Response(found.id, "system", f"はい、{found.id}です。") for found in RECORDS]


def acts_of(reply: str) -> tuple[Step, ...]:
    """What `label` says of a reply: each of its halves is an act."""
    half = len(reply) // 2
    return Step("Commissive", 0.7, reply[:half], rationale="理由。"), Step(
        "Suggestion", 0.3, reply[half:], rationale="理由。"
    )


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def label_all(server: FakeGemini, kept: Path, responses: list[Response] | None = None, **settings: Any) -> Labelling:
    model = registry.model(server.address_of("gemini:labeller"))
    return annotate(RESPONSES if responses is None else responses, RECORDS, model, kept, **settings)


def test_each_reply_is_labelled_and_what_it_had_stays(kept: Path) -> None:
    before = Annotation("authored", (Step("Inform", 1.0),))
    given = [Response("timer-1", "system", "はい。", (before,)), *references(RECORDS)]
    with FakeGemini(label) as server:
        found = label_all(server, kept, given)
        first = server.asked[0]
    assert found.responses[0].annotations == (
        before,
        Annotation("gemini:labeller", acts_of("はい。"), rules=Prompts().annotation_hash),
    )
    assert [response.system for response in found.responses[1:]] == [REFERENCE] * 3
    assert all(response.annotations[0].steps == acts_of(str(response.text)) for response in found.responses[1:])
    assert found.problems == ()
    assert (found.usage.replies, found.usage.tokens_in, found.usage.tokens_out) == (4, 400, 80)
    for told in (RECORDS[0].background, RECORDS[0].user_text, "はい。", "Check-Question"):
        assert told in first.user
    assert first.schema is not None
    assert list(first.schema["properties"]) == ["steps"]


def test_each_repeat_has_a_seed_of_its_own(kept: Path) -> None:
    with FakeGemini(label) as server:
        found = label_all(server, kept, repeats=3, seed=40)
        assert {asked.seed for asked in server.asked} == {41, 42, 43}
        assert len(server.asked) == 9
    assert [annotation.repeat for annotation in found.responses[0].annotations] == [1, 2, 3]


def test_the_same_words_are_labelled_once(kept: Path) -> None:
    given = [Response("timer-1", name, "はい。") for name in ("one", "two", REFERENCE)]
    with FakeGemini(label) as server:
        found = label_all(server, kept, given)
        assert len(server.asked) == 1
    assert [len(response.annotations) for response in found.responses] == [1, 1, 1]


def test_what_was_labelled_is_not_asked_again_and_needs_no_key(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeGemini(label) as server:
        first = label_all(server, kept)
        monkeypatch.delenv("GEMINI_API_KEY")
        again = label_all(server, kept)
        assert len(server.asked) == 3
    assert again == first


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Commissive です。", "JSON"),
        (json.dumps(steps([("Answer", 0.5)])), "sum to 1"),
        (json.dumps(steps([("Greeting", 1.0)])), "act 0"),
        (json.dumps(steps([])), "at least one"),
        (json.dumps([{"act": "Answer", "importance": 1.0}]), "steps"),
    ],
)
def test_what_is_wrong_goes_back_to_the_model(kept: Path, text: str, told: str) -> None:
    with FakeGemini(lambda asked: text if asked.number == 0 else label(asked)) as server:
        found = label_all(server, kept, RESPONSES[:1])
        assert told in server.asked[1].user
    steps_now = acts_of("はい、timer-1です。")
    assert found.responses[0].annotations == (
        Annotation("gemini:labeller", steps_now, rules=Prompts().annotation_hash),
    )


def test_importances_that_nearly_sum_to_1_are_scaled_and_noted(kept: Path) -> None:
    with FakeGemini([json.dumps(steps([("Answer", 0.66), ("Inform", 0.335)]))]) as server:
        (annotation,) = label_all(server, kept, RESPONSES[:1]).responses[0].annotations
    assert annotation.scaled_from == 0.995
    assert sum(step.importance for step in annotation.steps) == pytest.approx(1)


def test_an_answer_that_was_cut_off_is_asked_for_again_and_is_no_refusal(kept: Path) -> None:
    with FakeGemini(lambda asked: Says('{"steps": [', cut=True) if asked.number == 0 else label(asked)) as server:
        for _ in range(2):
            assert len(label_all(server, kept, RESPONSES[:1]).responses[0].annotations) == 1
        assert len(server.asked) == 2
        assert '{"steps": [' in server.asked[1].user
        assert "cut off at its limit of tokens" in server.asked[1].user


def only_for(name: str, answer: Answer) -> Callable[[Asked], Answer]:
    return lambda asked: answer if name in asked.user else label(asked)


@pytest.mark.parametrize(
    ("answer", "reason", "times"),
    [("{", "JSON", MOST_ASKED), (Refuses("SAFETY"), "SAFETY", 1), (Broken(), "something other than an answer", 1)],
)
def test_what_cannot_be_labelled_is_named_and_the_rest_is_there(
    kept: Path, answer: Answer, reason: str, times: int
) -> None:
    with FakeGemini(only_for("はい、timer-2です。", answer)) as server:
        found = label_all(server, kept, jobs=3)
        assert len(server.asked) == 2 + times
    assert [len(response.annotations) for response in found.responses] == [1, 0, 1]
    (problem,) = found.problems
    assert problem.where == "timer-2, system, gemini:labeller, repeat 1"
    assert reason in problem.reason


def test_what_passed_is_asked_for_by_the_same_call_again(kept: Path) -> None:
    with FakeGemini(lambda asked: Broken() if asked.number == 1 else label(asked)) as server:
        assert len(label_all(server, kept).problems) == 1
        assert label_all(server, kept).problems == ()
        assert len(server.asked) == 4


@pytest.mark.parametrize(("answer", "times"), [("{", MOST_ASKED), (Refuses("SAFETY"), 1)])
def test_what_could_not_be_used_is_asked_about_once_more_by_the_same_call(
    kept: Path, answer: Answer, times: int
) -> None:
    is_broken = True
    with FakeGemini(lambda asked: answer if is_broken and "timer-2で" in asked.user else label(asked)) as server:
        for more in (0, 1):  # unusable a second time: neither lost nor asked more than once
            found = label_all(server, kept)
            assert (len(server.asked), len(found.problems), found.asked_again) == (2 + times + more, 1, more)
        is_broken = False
        found = label_all(server, kept)
        assert (len(server.asked), found.problems, found.asked_again) == (4 + times, (), 1)
        assert found.told == ["1 text asked about again: the kept answers cannot be used"]
        assert [len(response.annotations) for response in found.responses] == [1, 1, 1]
        assert found.usage.replies + found.usage.refusals == len(server.asked)  # what was of no use cost, too
        again = label_all(server, kept)
        assert len(server.asked) == 4 + times
    assert (again.responses, again.usage, again.told) == (found.responses, found.usage, [])


def test_no_reply_is_not_labelled(kept: Path) -> None:
    given = [Response("timer-1", "system", None, reason="no answer"), Response("timer-2", "system", " ")]
    with FakeGemini(label) as server:
        found = label_all(server, kept, given)
        assert server.asked == []
    assert list(found.responses) == given
    assert found.problems == ()


def test_a_reply_without_a_record_is_named(kept: Path) -> None:
    with FakeGemini(label) as server:
        found = label_all(server, kept, [Response("nowhere", "system", "はい。"), *RESPONSES])
    assert [(problem.where, len(found.responses)) for problem in found.problems] == [
        ("nowhere, system, gemini:labeller", 4)
    ]


def test_a_wrong_key_ends_it_and_what_was_done_is_kept(kept: Path) -> None:
    locked = Fails(403, f"Your API key {FakeGemini.KEY} was reported as leaked.")
    with FakeGemini(lambda asked: locked if asked.number == 2 else label(asked)) as server:
        with pytest.raises(PartyError, match="may not do this"):
            label_all(server, kept)
        assert FakeGemini.KEY not in kept.read_text()
        assert label_all(server, kept).problems == ()
        assert len(server.asked) == 4


def test_a_file_of_something_else_is_left_alone(kept: Path) -> None:
    kept.write_text('{"id": "timer-1"}\n')
    with FakeGemini(label) as server, pytest.raises(RecordingError, match="line 1"):
        label_all(server, kept)
    assert kept.read_text() == '{"id": "timer-1"}\n'


def test_the_order_and_the_labels_do_not_depend_on_the_jobs(tmp_path: Path) -> None:
    def answer(asked: Asked) -> str:
        return json.dumps(steps([("Answer", 1.0)] if "timer-2" in asked.user else [("Inform", 1.0)]))

    with FakeGemini(answer) as server:
        found = [label_all(server, tmp_path / str(jobs), repeats=2, jobs=jobs).responses for jobs in (1, 6)]
    assert found[0] == found[1]
    assert [response.annotations[0].steps[0].act for response in found[0]] == ["Inform", "Answer", "Inform"]


@pytest.mark.parametrize(("locale", "asks"), [("ja-JP", "一字も変えずに"), ("en-US", "character by character")])
@pytest.mark.parametrize("folder", [None, Path("paper"), Path("iso-24617-2")])
def test_annotators_and_generators_are_asked_for_the_words_of_each_act(
    locale: str, asks: str, folder: Path | None
) -> None:
    prompts = Prompts(locale, folder_of(folder))
    request = prompts.annotation_request("a", "b", "c", 1)
    assert asks in request.user
    assert "words" in json.dumps(request.schema)
    if (locale, folder) != ("en-US", Path("iso-24617-2")):  # whose examples are Japanese alone
        assert asks in str(prompts.record_request(prompts.topics()[0], 1).system)


def test_words_that_a_reply_does_not_have_are_marked_and_older_annotations_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(asked: Asked) -> str:
        told = steps([("Commissive", 0.7), ("Suggestion", 0.3)], "はい、しました。次も？")
        told["steps"][1]["words"] += "か"
        return json.dumps(told) if "次も？" in asked.user else label(asked)

    monkeypatch.chdir(tmp_path)
    old = Annotation("ann", (Step("Commissive", 0.6, rationale="理由。"), Step("Inform", 0.4)))
    replies = [Response(one.id, "s", "はい、しました。次も？", (old,)) for one in RECORDS[:2]]
    Path("records.jsonl").write_text(jsonl(RECORDS[:2]), encoding="utf-8")
    Path("replies.jsonl").write_text(jsonl(replies), encoding="utf-8")
    with FakeGemini(answer) as server:
        arguments = ["score", "--suite", "dialogue-acts", "replies.jsonl", "--references", "records.jsonl"]
        annotator = server.address_of("gemini:labeller")
        result = command(*arguments, "--annotator", annotator, "--out", "OUT", "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    new, before = (
        [item["response"]["steps"] for item in content["items"] if (item["system"], item["annotator"]) == ("s", who)]
        for who in ("gemini:labeller", "ann")
    )
    assert [(step["words"], step.get("is_quote", True)) for step in new[0]] == [
        ("はい、しま", True),
        ("した。次も？か", False),
    ]
    assert before[0] == [
        {"act": "Commissive", "importance": 0.6, "rationale": "理由。"},
        {"act": "Inform", "importance": 0.4},
    ]
    warning = "responses: the words of 2 of 8 acts are not in their reply, and are not shown"
    assert warning in content["warnings"]
    kept = Path("OUT/annotations.jsonl").read_text(encoding="utf-8")
    assert "した。次も？か" in kept
    assert "is_quote" not in kept


def test_a_reply_whose_annotation_failed_is_left_out_once_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("records.jsonl").write_text(jsonl(RECORDS[:2]), encoding="utf-8")
    Path("replies.jsonl").write_text(jsonl(RESPONSES[:2]), encoding="utf-8")
    arguments = ["score", "--suite", "dialogue-acts", "replies.jsonl", "--references", "records.jsonl", "--out", "OUT"]
    is_broken = True
    with FakeGemini(lambda asked: "{" if is_broken else label(asked)) as server:
        arguments += ["--annotator", server.address_of("gemini:labeller")]
        problems = printed(*arguments, code=1)["problems"]
        assert [problem["where"].split(",")[:2] for problem in problems] == [
            ["timer-1", " system"],
            ["timer-2", " system"],
            ["timer-1", f" {REFERENCE}"],
            ["timer-2", f" {REFERENCE}"],
        ]
        assert all("expected one JSON value" in problem["reason"] for problem in problems)
        is_broken = False
        again = command(*arguments)
    assert "4 texts asked about again: the kept answers cannot be used" in again.output
    assert "left out" not in again.output
