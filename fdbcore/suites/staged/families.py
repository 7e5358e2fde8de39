"""The families of scenarios, and what a judge is told to mark: two marks of every event, and the family's score of the
dialogue. A family is data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, convert, field

from fdbcore.runtime.shape import unexpected
from fdbcore.types import Problem, Rubric, RubricQuestion, object_schema

BUILTIN_FAMILIES: Final = ("daily", "correction", "entity", "safety")
"""Those that come with fdbcore; each has a file."""
LEVELS: Final = 5
"""Scores of a dialogue go from 1 to this."""
MARKS: Final = ("turn_taking", "instruction_following")

_TASK: Final = (
    "You judge how a voice system behaved in a spoken dialogue with a user. You get the user's goals, what both said "
    "with times in seconds from the start, and numbered events of the system. Overlapping times mean that both spoke. "
    "The words are by a speech recogniser: do not blame the system for a misspelling. Quote in each reason the words "
    "or the times that it rests on. If you cannot tell, give null."
)
_MARK: Final = {"type": ["integer", "null"]}
_REASON: Final = {"type": "string"}

Part: TypeAlias = Literal["correction", "reference", "safety"]


class FamilyClass(Struct, frozen=True, forbid_unknown_fields=True):
    """A class of a family."""

    id: str
    title: str


class RubricPoint(Struct, frozen=True, forbid_unknown_fields=True):
    """A point that is answered with yes or no."""

    id: str
    ask: str


class RubricWording(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One wording of a rubric. levels: what 1 to 5 mean. check, instead: the score is the number of yes, or 1."""

    ask: str
    levels: tuple[str, ...] = ()
    check: tuple[RubricPoint, ...] = ()

    @property
    def text(self) -> str:
        """The question with its levels, as a judge reads it."""
        return "\n".join((self.ask, *(f"{level}: {text}" for level, text in enumerate(self.levels, 1))))


class MarkWording(RubricWording, frozen=True):
    """A wording of the rubric of one of MARKS. ask_of_dialogue: what a person is asked, of the first one."""

    ask_of_dialogue: str = ""


class FamilyScore(Struct, frozen=True, forbid_unknown_fields=True):
    """The score of a whole dialogue, 1 to 5. rubric: its wordings, all with one meaning."""

    title: str
    rubric: tuple[RubricWording, ...]


class Family(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A family of scenarios. parts: what each of its scenarios has beside goals. score: left out if there is none."""

    id: str
    title: str
    about: str
    classes: tuple[FamilyClass, ...] = field(name="class")
    parts: tuple[Part, ...] = ()
    score: FamilyScore | UnsetType = UNSET

    @property
    def class_titles(self) -> Mapping[str, str]:
        """The titles of its classes by their ids."""
        return {each.id: each.title for each in self.classes}

    @property
    def rubric(self) -> Sequence[RubricWording]:
        """The wordings of the rubric of its score; none if it has no score."""
        return () if self.score is UNSET else self.score.rubric


def family_faults(family: Family, known: Collection[str], where: str) -> Iterator[Problem]:
    """What is wrong with a family of the right form. known: the ids of other families. where: "FILE: ID"."""
    if family.id in known:
        yield unexpected(f"{where}: id", f"another id than {', '.join(known)}", family.id)
    for number, wording in enumerate(family.rubric, 1):
        place = f"{where}: score: rubric {number}"
        levels, points = wording.levels, [point.id for point in wording.check]
        if bool(levels) == bool(points):
            yield Problem(place, f"expected levels or check, got {'both' if levels else 'neither'}")
        elif levels and len(levels) != LEVELS:
            yield unexpected(f"{place}: levels", f"{LEVELS} texts, for 1 to {LEVELS}", len(levels))
        elif points != [point.id for point in family.rubric[0].check]:
            yield Problem(place, "expected the same points as in the first wording")


@cache
def builtin_families() -> Mapping[str, Family]:
    """The families that come with fdbcore, by id, in their order."""
    own = [convert(each, Family) for name in BUILTIN_FAMILIES for each in _data(f"families/{name}.toml")["family"]]
    return {family.id: family for family in own}


def rubric_of_events(wording: int, events: Sequence[Mapping[str, Any]]) -> Rubric:
    """Both marks of every event. wording: from 0. events: as the judge reads them."""
    rubrics = {name: _wording(rubrics_of_marks()[name], wording) for name in MARKS}
    marks = {name: each for mark in MARKS for name, each in ((mark, _MARK), (f"{mark}_reason", _REASON))}
    event = object_schema({"event": {"type": "integer"}, **marks})
    parts = [f"{name}: {rubric.text}" for name, rubric in rubrics.items()]
    text = "\n\n".join((_TASK, "Mark every event, by its number, from 1 to 5:", *parts))
    questions = [
        RubricQuestion(f"event {each['event']}: {name}: {rubric.ask}", rubric.levels, ("events", place, name))
        for place, each in enumerate(events)
        for name, rubric in rubrics.items()
    ]
    frame = {"events": [{"event": each["event"]} for each in events]}
    return Rubric("events", text, object_schema({"events": {"type": "array", "items": event}}), questions, frame)


def rubric_of_score(score: FamilyScore, wording: int) -> Rubric:
    """The score of the whole dialogue: one of five levels, or points that are answered with yes or no."""
    chosen = _wording(score.rubric, wording)
    if chosen.levels:
        text = f"{_TASK}\n\nScore the whole dialogue from 1 to 5. {chosen.text}"
        question = RubricQuestion(f"{score.title}: {chosen.ask}", chosen.levels, ("score",))
        return Rubric(score.title, text, object_schema({"score": _MARK, "reason": _REASON}), [question])
    asks = {point.id: f"{point.id}: {point.ask}" for point in chosen.check}
    answers = {id_: {"type": ["boolean", "null"]} for id_ in asks}
    text = "\n".join((f"{_TASK}\n\n{chosen.ask}", *asks.values()))
    questions = [RubricQuestion(ask, (), ("checks", id_)) for id_, ask in asks.items()]
    schema = object_schema({"checks": object_schema(answers), "reason": _REASON})
    return Rubric(score.title, text, schema, questions, {"checks": {}})


@cache
def rubrics_of_marks() -> Mapping[str, Sequence[MarkWording]]:
    """The wordings of the rubric of each of MARKS."""
    return convert(_data("rubrics.toml"), dict[str, list[MarkWording]])


def _wording(wordings: Sequence[RubricWording], number: int) -> RubricWording:
    return wordings[min(number, len(wordings) - 1)]


def _data(name: str) -> dict[str, Any]:
    """A TOML file that comes with fdbcore."""
    return tomllib.loads((files("fdbcore.suites.staged") / "data" / name).read_text(encoding="utf-8"))
