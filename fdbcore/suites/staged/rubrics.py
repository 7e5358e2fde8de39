"""What a judge is told to mark: two marks of every event, and the family's score of the dialogue."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NotRequired

from fdbcore.suites.staged.families import Family
from fdbcore.suites.staged.scenario_types import RubricEntry
from fdbcore.types import Rubric, RubricQuestion, object_schema

MARKS: Final = ("turn_taking", "instruction_following")

_TASK: Final = (
    "You judge how a voice system behaved in a spoken dialogue with a user. You get the user's goals, what both said "
    "with times in seconds from the start, and numbered events of the system. Overlapping times mean that both spoke. "
    "The words are by a speech recogniser: do not blame the system for a misspelling. Quote in each reason the words "
    "or the times that it rests on. If you cannot tell, give null."
)
_MARK: Final = {"type": ["integer", "null"]}
_REASON: Final = {"type": "string"}


class MarkRubric(RubricEntry):
    """A wording of the rubric of one of MARKS. ask_of_dialogue: what a person is asked, of the first one."""

    ask_of_dialogue: NotRequired[str]


def rubric_of_events(wording: int, events: Sequence[Mapping[str, Any]]) -> Rubric:
    """Both marks of every event. wording: from 0. events: as the judge reads them."""
    rubrics = {name: _wording(rubrics_of_marks()[name], wording) for name in MARKS}
    parts = [f"{name}: {_levels(rubric)}" for name, rubric in rubrics.items()]
    marks = {name: each for mark in MARKS for name, each in ((mark, _MARK), (f"{mark}_reason", _REASON))}
    event = object_schema({"event": {"type": "integer"}, **marks})
    text = "\n\n".join((_TASK, "Mark every event, by its number, from 1 to 5:", *parts))
    questions = [
        RubricQuestion(f"event {each['event']}: {name}: {rubric['ask']}", rubric["levels"], ("events", place, name))
        for place, each in enumerate(events)
        for name, rubric in rubrics.items()
    ]
    frame = {"events": [{"event": each["event"]} for each in events]}
    return Rubric("events", text, object_schema({"events": {"type": "array", "items": event}}), questions, frame)


def rubric_of_family(family: Family, wording: int) -> Rubric:
    """The score of the whole dialogue: one of five levels, or points that are answered with yes or no."""
    chosen = _wording(family.rubric, wording)
    if levels := chosen.get("levels"):
        text = f"{_TASK}\n\nScore the whole dialogue from 1 to 5. {_levels(chosen)}"
        question = RubricQuestion(f"{family.score}: {chosen['ask']}", levels, ("score",))
        return Rubric(family.score, text, object_schema({"score": _MARK, "reason": _REASON}), [question])
    asks = {point["id"]: f"{point['id']}: {point['ask']}" for point in chosen["check"]}
    answers = {id_: {"type": ["boolean", "null"]} for id_ in asks}
    text = "\n".join((f"{_TASK}\n\n{chosen['ask']}", *asks.values()))
    questions = [RubricQuestion(ask, (), ("checks", id_)) for id_, ask in asks.items()]
    schema = object_schema({"checks": object_schema(answers), "reason": _REASON})
    return Rubric(family.score, text, schema, questions, {"checks": {}})


@cache
def rubrics_of_marks() -> Mapping[str, Sequence[MarkRubric]]:
    """The wordings of the rubric of each of MARKS."""
    text = (files("fdbcore.suites.staged") / "data" / "rubrics.toml").read_text(encoding="utf-8")
    rubrics: dict[str, list[MarkRubric]] = tomllib.loads(text)
    return rubrics


def _wording(wordings: Sequence[RubricEntry], number: int) -> RubricEntry:
    return wordings[min(number, len(wordings) - 1)]


def _levels(wording: RubricEntry) -> str:
    return "\n".join((wording["ask"], *(f"{level}: {text}" for level, text in enumerate(wording["levels"], 1))))
