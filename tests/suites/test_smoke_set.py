"""The shipped dialogue-act set: its schemas say what the parser does, and its records keep the rules of the acts."""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from fractions import Fraction
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path
from string import Template
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fdbcore.errors import InputError
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Response, jsonl, read_records, read_responses
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS

DATA = Path(str(files("fdbcore.suites.dialogue_acts") / "data"))
SMOKE = DATA / "smoke"
SYSTEMS = ("good", "terse", REFERENCE)
TOPICS = {
    *("timer", "alarm", "weather", "calendar", "music", "navigation"),
    *("messages", "home", "shopping", "knowledge", "small talk", "error cases"),
}
SPOKEN_JAPANESE = re.compile(r"[ぁ-んァ-ヶー一-龥々0-9.、。？！「」]+")  # the point: of decimals alone

Line = dict[str, Any]


def lines(name: str) -> list[Line]:
    """The objects of a file of the set."""
    return [json.loads(line) for line in (SMOKE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((DATA / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


RECORDS = read_records(SMOKE / "records.jsonl")[0]
RESPONSES = {system: read_responses(SMOKE / f"{system}.jsonl")[0] for system in SYSTEMS}
EXAMPLES: list[Line] = json.loads((DATA / "examples.ja.json").read_text(encoding="utf-8"))


def step_lists(line: Line) -> Iterator[list[Line]]:
    """Every list of steps in a line."""
    for key, value in line.items():
        if key == "steps":
            yield value
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from step_lists(item)


def texts(line: Line) -> Iterator[str]:
    """Every text of a line that is said or read by a person."""
    for key, value in line.items():
        if key in ("text", "background", "rationale", "reason") and value is not None:
            yield value
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from texts(item)


def every_line() -> list[Line]:
    return [line for name in ("records", *SYSTEMS) for line in lines(name)]


def test_the_files_are_read_without_a_problem() -> None:
    assert read_records(SMOKE / "records.jsonl")[1] == []
    assert all(read_responses(SMOKE / f"{system}.jsonl")[1] == [] for system in SYSTEMS)


def test_the_files_keep_to_their_schemas() -> None:
    for line in lines("records"):
        validator("record").validate(line)
    for system in SYSTEMS:
        for line in lines(system):
            validator("response").validate(line)


def test_what_is_read_is_written_as_it_was() -> None:
    assert [json.loads(line) for line in jsonl(RECORDS).splitlines()] == lines("records")
    for system in SYSTEMS:
        assert [json.loads(line) for line in jsonl(RESPONSES[system]).splitlines()] == lines(system)


def test_five_records_of_each_topic() -> None:
    assert Counter(record.topic for record in RECORDS) == dict.fromkeys(TOPICS, 5)
    assert {record.generator for record in RECORDS} == {"authored"}
    for record in RECORDS:
        number = record.id.removeprefix(record.topic.removesuffix(" cases").replace(" ", "-") + "-")
        assert number in {"01", "02", "03", "04", "05"}, record.id


def test_every_act_is_there_and_none_dominates() -> None:
    steps = Counter(step.act for record in RECORDS for step in record.references[0].annotation.steps)
    assert set(steps) == set(ACTS)
    assert min(steps.values()) >= 15
    assert max(steps.values()) <= 0.25 * steps.total()
    assert {len(record.references[0].annotation.steps) for record in RECORDS} == {1, 2, 3, 4, 5}


def test_a_record_in_six_has_another_good_reply_of_other_acts() -> None:
    several = [record for record in RECORDS if len(record.references) > 1]
    assert len(several) >= len(RECORDS) / 6
    for record in several:
        acts = [tuple(step.act for step in reference.annotation.steps) for reference in record.references]
        assert len(set(acts)) == len(acts), record.id
        assert len({reference.text for reference in record.references}) == len(acts), record.id


def test_importances_sum_to_one_exactly_in_hundredths() -> None:
    for line in every_line():
        for steps in step_lists(line):
            shares = [Fraction(str(step["importance"])) for step in steps]
            assert sum(shares) == 1, line["id"]
            assert all(share > 0 and (share * 100).denominator == 1 for share in shares), line["id"]


def test_no_act_follows_itself() -> None:
    for line in [*every_line(), *EXAMPLES]:
        for steps in step_lists(line):
            assert all(before["act"] != after["act"] for before, after in pairwise(steps)), line


def test_every_step_of_a_reference_has_its_reason() -> None:
    for record in RECORDS:
        for reference in record.references:
            assert all(step.rationale for step in reference.annotation.steps), record.id


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_acts_of_a_reply_stand_for_all_of_its_words(system: str) -> None:
    for response in RESPONSES[system]:
        for annotation in response.annotations:
            assert "".join(step.words or "" for step in annotation.steps) == response.text, response.id


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_record_has_one_response_of_each_system(system: str) -> None:
    assert [response.id for response in RESPONSES[system]] == [record.id for record in RECORDS]
    for response in RESPONSES[system]:
        assert response.system == system
        annotators = [annotation.annotator for annotation in response.annotations]
        assert annotators == (["authored"] if response.text is not None else []), response.id
        assert (response.text is None) == bool(response.reason), response.id


def test_the_reference_texts_are_those_of_the_records() -> None:
    assert [response.text for response in RESPONSES[REFERENCE]] == [record.references[0].text for record in RECORDS]


def test_the_good_replies_are_no_copies() -> None:
    references = {reference.text for record in RECORDS for reference in record.references}
    assert references.isdisjoint(response.text for response in RESPONSES["good"])


def test_no_two_requests_are_near_duplicates() -> None:
    for one, other in combinations([record.user_text for record in RECORDS], 2):
        assert SequenceMatcher(None, one, other, autojunk=False).ratio() < 0.65, (one, other)


def test_every_text_is_japanese_that_can_be_spoken() -> None:
    for line in every_line():
        for text in texts(line):
            assert SPOKEN_JAPANESE.fullmatch(text), text
            assert re.search("[ぁ-ヶ一-龥]", text), text
            assert not re.search(r"(?<!\d)\.|\.(?!\d)", text), text


def test_the_examples_of_the_prompt_are_records_that_the_set_does_not_have() -> None:
    examples = [Record.from_json({"id": f"example-{number}", **line}) for number, line in enumerate(EXAMPLES)]
    assert len(examples) == 3
    for example in examples:
        for record in RECORDS:
            assert SequenceMatcher(None, example.user_text, record.user_text).ratio() < 0.65, record.id
            assert example.references[0].text != record.references[0].text


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("acts", set()),
        ("system", {"acts", "examples"}),
        ("task", {"topic", "instruction"}),
        ("annotate", {"acts", "background", "user", "reply"}),
        ("respond_system", set()),
        ("respond_user", set()),
    ],
)
def test_the_prompts_have_these_placeholders(name: str, fields: set[str]) -> None:
    template = Template((DATA / f"{name}.ja.txt").read_text(encoding="utf-8"))
    assert template.is_valid()
    assert set(template.get_identifiers()) == fields


def test_the_taxonomy_names_every_act() -> None:
    taxonomy = (DATA / "acts.ja.txt").read_text(encoding="utf-8")
    assert all(f"\n| {act}（" in taxonomy for act in ACTS)


def test_several_instructions_for_each_of_twelve_topics() -> None:
    given = [line.split("\t") for line in (DATA / "topics.ja.txt").read_text(encoding="utf-8").splitlines()]
    assert all(len(fields) == 2 and all(fields) for fields in given)
    topics = Counter(topic for topic, _ in given)
    assert len(topics) == 12
    assert min(topics.values()) >= 3
    assert len({instruction for _, instruction in given}) == len(given)


def with_value(path: str, value: object) -> Callable[[Line], None]:
    """What sets the place `path` ("output.text", "alternatives.0") of a line."""

    def change(line: Line) -> None:
        *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
        place: Any = line
        for name in parents:
            place = place[name]
        if value is MISSING:
            del place[last]
        else:
            place[last] = value

    return change


MISSING = object()
STRANGE: tuple[Any, ...] = (
    MISSING,
    None,
    "",
    " 　",
    "x",
    0,
    0.5,
    1.5,
    -1,
    True,
    [],
    {},
    ["x"],
    {"steps": []},
    {"text": "x"},
)
RECORD_PLACES = (
    *("id", "topic", "generator", "scenario_context", "scenario_context.background", "input", "input.role"),
    *("input.text", "input.locale", "output", "output.text", "output_dialogue_acts", "output_dialogue_acts.steps"),
    *("output_dialogue_acts.steps.0", "output_dialogue_acts.steps.0.act", "output_dialogue_acts.steps.0.rationale"),
    *("alternatives", "alternatives.0", "alternatives.0.output", "alternatives.0.output_dialogue_acts"),
)
RESPONSE_PLACES = (
    *("id", "system", "text", "reason", "annotations", "annotations.0", "annotations.0.annotator"),
    *("annotations.0.repeat", "annotations.0.steps", "annotations.0.steps.0", "annotations.0.steps.0.act"),
    *("output_dialogue_acts", "output_dialogue_acts.steps"),
)


@pytest.mark.parametrize(
    ("kind", "places"), [(Record, RECORD_PLACES), (Response, RESPONSE_PLACES)], ids=["record", "response"]
)
def test_the_schema_accepts_what_the_parser_accepts(kind: type[Record | Response], places: tuple[str, ...]) -> None:
    steps = {"steps": [{"act": "Inform", "importance": 1.0, "rationale": "x"}]}
    reply = {"output": {"role": "ASSISTANT", "text": "x"}, "output_dialogue_acts": steps}
    situation = {"scenario_context": {"background": "x"}, "input": {"role": "USER", "text": "x", "locale": "ja-JP"}}
    record = {"id": "x", "topic": "x", "generator": "x", **situation, **reply, "alternatives": [reply]}
    annotation = {"annotator": "x", "repeat": 1, **steps}
    response = {"id": "x", "system": "x", "text": "x", "reason": "x", "annotations": [annotation]}
    whole = record if kind is Record else response | {"output_dialogue_acts": steps}
    schema = validator(kind.__name__.lower())
    for place in places:
        for value in STRANGE:
            line = copy.deepcopy(whole)
            with_value(place, value)(line)
            assert schema.is_valid(line) == parses(kind, line), (place, value)


@pytest.mark.parametrize("importance", [*STRANGE[1:], 0, 1, 1.01, -0.01])
def test_the_schema_accepts_the_importances_that_the_parser_accepts(importance: object) -> None:
    line = {"id": "x", "system": "x", "output_dialogue_acts": {"steps": [{"act": "Inform", "importance": importance}]}}
    assert validator("response").is_valid(line) == parses(Response, line, as_given=True)


def parses(kind: type[Record | Response], line: Line, as_given: bool = False) -> bool:
    try:
        kind.from_json(line, as_given)
    except InputError:
        return False
    return True
