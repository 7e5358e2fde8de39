"""Scenarios and their families: what side A wants of the system, and how one tells that it got it.

A family is data, with the rubric of the score of its dialogues; a judge also marks every event. A file of scenarios is
TOML as people write it, or the same as JSON. `fdbcore.runtime.shape` checks it against the types of this module, and
the published schema is made of them.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, convert, field

from fdbcore.runtime import unexpected
from fdbcore.types import Problem, Rubric, RubricQuestion, object_schema

BUILTIN_FAMILIES: Final = ("daily", "correction", "entity", "safety")
"""Families that come with fdbcore; each has a file."""
LEVELS: Final = 5
"""Scores of a dialogue go from 1 to this."""
MARKS: Final = ("turn_taking", "instruction_following")

_TASK: Final = (
    "You judge how a voice system behaved in a spoken dialogue with a user. You get the user's goals, what both said "
    "with times in seconds from the start, and numbered events of the system. Overlapping times mean that both spoke. "
    "The words are by a speech transcriber: do not blame the system for a misspelling. Quote in each reason the words "
    "or the times that it rests on. If you cannot tell, give null."
)
_MARK: Final = {"type": ["integer", "null"]}
_REASON: Final = {"type": "string"}

Part: TypeAlias = Literal["correction", "reference", "safety"]
SCHEMA: Final = "fdbcore.scenarios/1"


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
    """Faults of a family of the right form. known: the ids of other families. where: "FILE: ID"."""
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
    own = [convert(each, Family) for name in BUILTIN_FAMILIES for each in data_of(f"families/{name}.toml")["family"]]
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
    return convert(data_of("rubrics.toml"), dict[str, list[MarkWording]])


def _wording(wordings: Sequence[RubricWording], number: int) -> RubricWording:
    return wordings[min(number, len(wordings) - 1)]


def data_of(name: str) -> dict[str, Any]:
    """A TOML file that comes with fdbcore."""
    return tomllib.loads((files("fdbcore.suites.staged") / "data" / name).read_text(encoding="utf-8"))


class StagedGoal(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that side A wants.

    goal: an instruction to an actor. say: A's words as spoken. rephrase: other wordings. probe: asks for what is
    missing. met: how a reader tells that the goal is met. heard: how a program tells: since the stage began, B said a
    phrase of each group, and meant it. unless: B said and meant none of these. pairs: of each, B said a phrase of the
    first group, a key, with one of the second, its value. language: of the texts, where it is not the scenario's.
    """

    goal: str
    say: str = ""
    rephrase: tuple[str, ...] = ()
    probe: str = ""
    met: str = ""
    heard: tuple[tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()
    pairs: tuple[tuple[tuple[str, ...], ...], ...] = ()
    language: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """All texts that A may say for this goal."""
        return tuple(text for text in (self.say, *self.rephrase, self.probe) if text)


class Correction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A repair in goal `stage`, from 1, of the value of goal `of`. before: what held. after: what holds then."""

    stage: int
    of: int
    before: str = ""
    after: str = ""


class StagedReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A reference that B has to resolve. says: the words in `say` of that stage. means: what they refer to."""

    stage: int
    kind: Literal["ordinal", "attribute", "landmark"]
    says: str
    means: str


class Safety(Struct, frozen=True, forbid_unknown_fields=True):
    """Content that must not be given. policy: the scenario's class. alternatives: where a good answer leads."""

    policy: str
    boundary: str
    alternatives: tuple[str, ...]


class SessionLimits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of a session. turns: of side A. max_s: seconds."""

    turns: int = 20
    max_s: float = 180.0


class Scenario(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A scenario. closing: A's last words, where they are not those of the language."""

    id: str
    family: str
    class_: str = field(name="class")
    title: str
    language: str
    role: str
    background: str = ""
    closing: str = ""
    limits: SessionLimits = SessionLimits()
    goals: tuple[StagedGoal, ...] = field(name="goal")
    corrections: tuple[Correction, ...] = field(name="correction", default=())
    references: tuple[StagedReference, ...] = field(name="reference", default=())
    safety: Safety | UnsetType = UNSET

    @property
    def last_words(self) -> str:
        """The words that A closes with; "" if the language has no closing statement either."""
        return self.closing or closings().get(self.language, "")

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that A speaks, its own first."""
        return tuple(dict.fromkeys([self.language, *map(self.language_of, self.goals)]))

    def language_of(self, goal: StagedGoal) -> str:
        """The language of a goal's texts, ISO 639-1."""
        return goal.language or self.language

    @property
    def has_words(self) -> bool:
        """True if it says what A says, so that an examiner without a language model can play it."""
        return all(goal.say for goal in self.goals)


class ScenarioFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A file of scenarios. credit: whose they are. family: families that do not come with fdbcore."""

    schema: Literal["fdbcore.scenarios/1"]
    credit: str = ""
    families: tuple[Family, ...] = field(name="family", default=())
    scenarios: tuple[Scenario, ...] = field(name="scenario", default=())


@cache
def closings() -> Mapping[str, str]:
    """The closing statement by language, for scenarios without one of their own."""
    return data_of("closings.toml")
