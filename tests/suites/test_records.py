"""Records and responses: what a line may hold, what is wrong with one, and that the others stay."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.errors import ActError, InputError
from fdbcore.suites.dialogue_acts.records import (
    Annotation,
    Record,
    Reference,
    Response,
    Step,
    jsonl,
    parse_steps,
    read_records,
    read_responses,
)
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.types import Problem

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
"""Any text that UTF-8 can hold: new lines, separators and quotes too."""


@st.composite
def steps(draw: st.DrawFn) -> tuple[Step, ...]:
    acts = draw(st.lists(st.sampled_from(ACTS), min_size=1, max_size=5))
    shares = draw(st.lists(st.integers(0, 9), min_size=len(acts), max_size=len(acts)).filter(any))
    rationales, words = (draw(st.lists(st.just("") | TEXTS, min_size=len(acts), max_size=len(acts))) for _ in range(2))
    weights = [share / sum(shares) for share in shares]
    return tuple(
        Step(act, weight, quote, rationale=why)
        for act, weight, why, quote in zip(acts, weights, rationales, words, strict=True)
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    generator = draw(st.just("") | TEXTS)
    annotations = st.builds(Annotation, annotator=st.just(generator or "unnamed"), steps=steps())
    references = st.lists(st.builds(Reference, text=TEXTS, annotation=annotations), min_size=1, max_size=3)
    return Record(
        draw(TEXTS), draw(TEXTS), tuple(draw(references)), draw(TEXTS), draw(st.just("") | TEXTS), generator=generator
    )


@st.composite
def responses(draw: st.DrawFn) -> Response:
    names = draw(st.lists(st.tuples(TEXTS, st.integers(1, 3)), max_size=3, unique=True))
    annotations = tuple(Annotation(name, draw(steps()), repeat) for name, repeat in names)
    return Response(draw(TEXTS), draw(TEXTS), draw(st.none() | st.text("あ \n", max_size=3)), annotations, draw(TEXTS))


@settings(max_examples=30)
@given(st.lists(records(), min_size=1, max_size=3, unique_by=lambda record: record.id))
def test_records_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, given: list[Record]) -> None:
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    path.write_text(jsonl(given), encoding="utf-8")
    assert read_records(path) == (given, [])


@settings(max_examples=30)
@given(st.lists(responses(), min_size=1, max_size=3, unique_by=lambda response: (response.id, response.system)))
def test_responses_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, given: list[Response]
) -> None:
    path = tmp_path_factory.mktemp("responses") / "responses.jsonl"
    path.write_text(jsonl(given), encoding="utf-8")
    assert read_responses(path) == (given, [])


def record(id: str = "a", **changes: Any) -> dict[str, Any]:
    line = {
        "id": id,
        "scenario_context": {"background": "台所にいる。"},
        "input": {"role": "USER", "text": "三分はかって", "locale": "ja-JP"},
        "output": {"role": "ASSISTANT", "text": "三分ですね。"},
        "output_dialogue_acts": {"steps": [{"act": "Inform", "importance": 1.0}]},
    }
    return line | changes


def response(id: str = "a", **changes: Any) -> dict[str, Any]:
    return {"id": id, "system": "s", "text": "はい。", "annotations": [annotation(("Answer", 1.0))]} | changes


def annotation(*acts: tuple[str, Any], annotator: str = "x", **changes: Any) -> dict[str, Any]:
    return {"annotator": annotator, "steps": [{"act": act, "importance": w} for act, w in acts]} | changes


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_a_record_keeps_where_it_stands_and_all_its_references(tmp_path: Path) -> None:
    other = {"output": {"text": "はい。"}, "output_dialogue_acts": {"steps": [{"act": "Commissive", "importance": 1}]}}
    path = written(tmp_path / "r.jsonl", "", record(alternatives=[other], generator="me", topic="timer"))
    ((only,), problems) = read_records(path)
    assert (only.where, problems) == (f"{path}, line 2 (a)", [])
    assert [reference.text for reference in only.references] == ["三分ですね。", "はい。"]
    assert [reference.annotation.annotator for reference in only.references] == ["me", "me"]
    assert (only.topic, only.locale, only.background) == ("timer", "ja-JP", "台所にいる。")


BAD_RECORDS: dict[str, tuple[object, str]] = {
    "no JSON": ('{"id": "a"', "expected JSON"),
    "no object": ("[1]", "expected a JSON object, got [1]"),
    "too deep": ("[" * 100_000, "expected JSON"),
    "no id": (record(id=""), "id: expected a text"),
    "an id of another kind": (record(id=7), "id: expected a text, got 7"),  # type: ignore[arg-type]
    "no request": (record(input={"text": "  "}), "text: expected a text"),
    "no background": (record(scenario_context=None), "scenario_context: expected an object, got null"),
    "no reply": (record(output={}), "text: expected a text, got null"),
    "no acts": (record(output_dialogue_acts={}), 'acts: expected {"steps": [...]}, got {}'),
    "empty acts": (record(output_dialogue_acts={"steps": []}), "acts: expected at least one, got none"),
    "bad alternatives": (record(alternatives=[3]), "alternatives: expected objects"),
    "half a surrogate pair": (record(topic="\ud83d"), "topic: expected Unicode"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_a_bad_record_is_named_and_the_others_stay(tmp_path: Path, case: str) -> None:
    bad, reason = BAD_RECORDS[case]
    path = written(tmp_path / "r.jsonl", record("first"), bad, record("last"))
    kept, (problem,) = read_records(path)
    assert [one.id for one in kept] == ["first", "last"]
    assert problem.where.startswith(f"{path}, line 2")
    assert problem.reason.startswith(reason)
    assert "\n" not in problem.reason
    json.dumps(problem, ensure_ascii=False).encode()


def test_an_id_may_come_once_and_of_responses_once_for_each_system(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", record(), record(), record("b"))
    kept, problems = read_records(path)
    assert [one.id for one in kept] == ["a", "b"]
    assert problems == [Problem(f"{path}, line 2 (a)", "expected an id only once, got it again")]
    path = written(tmp_path / "s.jsonl", response(), response(system="t"), response())
    answers, problems = read_responses(path)
    assert [one.system for one in answers] == ["s", "t"]
    assert [problem.where for problem in problems] == [f"{path}, line 3 (a)"]


BAD_STEPS: dict[str, tuple[list[tuple[Any, Any]], str]] = {
    "an unknown act": ([("Inform", 0.5), ("Greeting", 0.5)], "act 1: expected one of Question, "),
    "an act in another case": ([("inform", 1.0)], "act 0: expected one of Question, "),
    "an act that cannot be hashed": ([([], 1.0)], "act 0: expected one of Question, "),
    "not a number": ([("Inform", math.nan)], "act 0: expected an importance from 0 to 1, got NaN"),
    "infinite": ([("Inform", math.inf)], "act 0: expected an importance from 0 to 1, got Infinity"),
    "negative": ([("Inform", 1.5), ("Inform", -0.5)], "act 0: expected an importance from 0 to 1, got 1.5"),
    "a text": ([("Inform", "1")], 'act 0: expected an importance from 0 to 1, got "1"'),
    "true": ([("Inform", True)], "act 0: expected an importance from 0 to 1, got true"),
    "too little": ([("Inform", 0.5), ("Answer", 0.4)], "acts: expected importances that sum to 1 within 0.01, got 0.9"),
    "all zero": ([("Inform", 0)], "acts: expected importances that sum to 1 within 0.01, got 0"),
}


@pytest.mark.parametrize("case", BAD_STEPS)
def test_bad_acts_are_named(tmp_path: Path, case: str) -> None:
    acts, reason = BAD_STEPS[case]
    path = written(tmp_path / "r.jsonl", response("first"), response(annotations=[annotation(*acts)]))
    kept, (problem,) = read_responses(path)
    assert [one.id for one in kept] == ["first"]
    assert problem.where == f"{path}, line 2 (a)"
    assert problem.reason.startswith(reason)


@pytest.mark.parametrize("value", [None, 3, [], {"steps": "Inform"}, {"steps": [3]}])
def test_acts_of_another_form(value: object) -> None:
    with pytest.raises(ActError, match=r"^acts?\b"):
        parse_steps(value)


BAD_RESPONSES: dict[str, tuple[dict[str, Any], str]] = {
    "no system": (response(system=" "), "system: expected a text"),
    "a text of another kind": (response(text=5), "text: expected a text, got 5"),
    "no annotator": (response(annotations=[annotation(("Inform", 1.0), annotator="")]), "annotator: expected a text"),
    "repeat 0": (response(annotations=[annotation(("Inform", 1.0), repeat=0)]), "repeat: expected a whole number"),
    "scaled from no number": (
        response(annotations=[annotation(("Inform", 1.0), scaled_from=math.nan)]),
        "scaled_from: expected a number, got NaN",
    ),
    "annotations of another kind": (response(annotations={}), "annotations: expected a list, got {}"),
    "an annotation of another kind": (response(annotations=[1]), "annotations: expected objects"),
    "one annotation twice": (
        response(annotations=[annotation(("Inform", 1.0)), annotation(("Answer", 1.0))]),
        "annotations: expected repeat 1 of x only once, got it again",
    ),
}


@pytest.mark.parametrize("case", BAD_RESPONSES)
def test_a_bad_response_is_named(tmp_path: Path, case: str) -> None:
    bad, reason = BAD_RESPONSES[case]
    kept, (problem,) = read_responses(written(tmp_path / "s.jsonl", response("first"), bad))
    assert [one.id for one in kept] == ["first"]
    assert problem.reason.startswith(reason)


@given(steps(), st.floats(0.99, 1.01))
def test_sums_near_1_are_scaled_to_it_and_noted(given: tuple[Step, ...], total: float) -> None:
    importances = [min(1.0, step.importance * total) for step in given]
    summed = math.fsum(importances)
    pairs = zip(given, importances, strict=True)
    found, scaled_from = parse_steps({"steps": [{"act": step.act, "importance": w} for step, w in pairs]})
    assert math.fsum(step.importance for step in found) == pytest.approx(1, abs=1e-9)
    assert scaled_from == (None if abs(summed - 1) <= 1e-9 else pytest.approx(summed, abs=1e-8))
    assert [step.importance * summed for step in found] == pytest.approx(importances, abs=1e-8)


def test_importances_as_given_are_kept_as_they_are(tmp_path: Path) -> None:
    odd = response(annotations=[annotation(("Question", 0.7), ("Inform", 0.2))])
    path = written(tmp_path / "s.jsonl", odd)
    ((only,), problems) = read_responses(path, as_given=True)
    assert (only.annotations[0].sequence, problems) == ([("Question", 0.7), ("Inform", 0.2)], [])
    with pytest.raises(InputError, match=r"line 1 \(a\): acts: expected importances that sum to 1"):
        read_responses(path)


def test_what_was_scaled_is_written_and_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", response(annotations=[annotation(("Question", 0.7), ("Inform", 0.305))]))
    first, _ = read_responses(path)
    assert first[0].annotations[0].scaled_from == pytest.approx(1.005)
    path.write_text(jsonl(first), encoding="utf-8")
    assert read_responses(path) == (first, [])


def test_acts_as_a_record_has_them_are_one_annotation(tmp_path: Path) -> None:
    line = {"id": "a", "system": "s", "text": "x", "output_dialogue_acts": record()["output_dialogue_acts"]}
    ((only,), _) = read_responses(written(tmp_path / "s.jsonl", line))
    assert only.annotations == (Annotation("unnamed", (Step("Inform", 1.0),)),)


def test_files_that_cannot_be_used_are_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.jsonl: cannot be read: No such file"):
        read_records(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match=r"e.jsonl: expected JSON lines, found none that can be used$"):
        read_records(written(tmp_path / "e.jsonl", "", "  "))
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match=r"b.jsonl: expected UTF-8, got something else at byte 0"):
        read_records(tmp_path / "b.jsonl")


def test_a_byte_order_mark_and_unicode_separators_break_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    text = record(output={"text": "一\u2028二\x85三"})
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(text, ensure_ascii=False).encode() + b"\r\n")
    ((only,), _) = read_records(path)
    assert only.references[0].text == "一\u2028二\x85三"


NAMES = (
    "id system text reason annotations annotator repeat steps act importance rationale words scaled_from "
    "scenario_context background input output output_dialogue_acts alternatives topic generator locale"
).split()
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(ACTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.booleans())
def test_whatever_a_line_holds_is_a_problem_or_can_be_written(line: dict[str, Any], as_given: bool) -> None:
    for kind, whole in ((Record, record()), (Response, response())):
        for given_line in (line, whole | line):
            try:
                found: Record | Response = kind.from_json(given_line, as_given)
            except InputError as error:
                str(error).encode()
            else:
                jsonl([found]).encode()
