"""What a judge is told to mark: two marks of every event, and the family's score of the dialogue."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fdbcore.suites.staged.families import Family, RubricWording
from fdbcore.types import Rubric, RubricQuestion

MARKS: Final = ("turn_taking", "instruction_following")
WORDINGS: Final = 2
"""How many wordings our own rubrics have."""

_TASK: Final = (
    "You judge how a voice system behaved in a spoken dialogue with a user. You get the user's goals, what both said "
    "with times in seconds from the start, and numbered events of the system. Overlapping times mean that both spoke. "
    "The words are by a speech recogniser: do not blame the system for a misspelling. Quote in each reason the words "
    "or the times that it rests on. If you cannot tell, give null."
)
_MARK: Final = {"type": ["integer", "null"]}
_REASON: Final = {"type": "string"}


def rubric_of_events(wording: int, events: Sequence[Mapping[str, Any]]) -> Rubric:
    """Both marks of every event. wording: from 0. events: as the judge reads them."""
    rubrics = {name: _wording(_rubrics()[name], wording) for name in MARKS}
    parts = [f"{name}: {_levels(rubric)}" for name, rubric in rubrics.items()]
    marks = {name: each for mark in MARKS for name, each in ((mark, _MARK), (f"{mark}_reason", _REASON))}
    event = _object({"event": {"type": "integer"}, **marks})
    text = "\n\n".join((_TASK, "Mark every event, by its number, from 1 to 5:", *parts))
    questions = [
        RubricQuestion(f"event {each['event']}: {name}: {rubric.ask}", rubric.levels, ("events", place, name))
        for place, each in enumerate(events)
        for name, rubric in rubrics.items()
    ]
    frame = {"events": [{"event": each["event"]} for each in events]}
    return Rubric("events", text, _object({"events": {"type": "array", "items": event}}), questions, frame)


def rubric_of_family(family: Family, wording: int) -> Rubric:
    """The score of the whole dialogue: one of five levels, or points that are answered with yes or no."""
    chosen = _wording(family.rubric, wording)
    if chosen.levels:
        text = f"{_TASK}\n\nScore the whole dialogue from 1 to 5. {_levels(chosen)}"
        question = RubricQuestion(f"{family.score}: {chosen.ask}", chosen.levels, ("score",))
        return Rubric(family.score, text, _object({"score": _MARK, "reason": _REASON}), [question])
    points = "\n".join(f"{point.id}: {point.ask}" for point in chosen.checks)
    answers = {point.id: {"type": ["boolean", "null"]} for point in chosen.checks}
    text = f"{_TASK}\n\n{chosen.ask}\n{points}"
    questions = [RubricQuestion(f"{point.id}: {point.ask}", (), ("checks", point.id)) for point in chosen.checks]
    schema = _object({"checks": _object(answers), "reason": _REASON})
    return Rubric(family.score, text, schema, questions, {"checks": {}})


@cache
def _rubrics() -> Mapping[str, Sequence[RubricWording]]:
    text = (files("fdbcore.suites.staged") / "data" / "rubrics.toml").read_text(encoding="utf-8")
    return {
        name: [RubricWording(each["ask"], tuple(each["levels"]), ()) for each in wordings]
        for name, wordings in tomllib.loads(text).items()
    }


def _wording(wordings: Sequence[RubricWording], number: int) -> RubricWording:
    return wordings[min(number, len(wordings) - 1)]


def _levels(wording: RubricWording) -> str:
    return "\n".join((wording.ask, *(f"{level}: {text}" for level, text in enumerate(wording.levels, 1))))


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object that has these fields and no others, as vendors' strict modes want it."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
