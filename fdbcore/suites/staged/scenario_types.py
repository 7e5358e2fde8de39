"""The types of a file of scenarios, `fdbcore.scenarios/1`: TOML as people write it, and the same as JSON.

`fdbcore.runtime.shape` checks files against these types; the published schema is made of them.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

Part: TypeAlias = Literal["correction", "reference", "safety"]
ReferenceKind: TypeAlias = Literal["ordinal", "attribute", "landmark"]


class GoalEntry(TypedDict):
    """One thing that side A wants.

    goal: an instruction to an actor. say: A's words as spoken. rephrase: other wordings. probe: asks for what is
    missing. met: how a reader tells that the goal is met. heard: how a program tells: since the stage began, B said a
    phrase of each group, and meant it. unless: B said and meant none of these. pairs: of each, B said a phrase of the
    first group, a key, with one of the second, its value. language: of the texts, where it is not the scenario's.
    """

    goal: str
    say: NotRequired[str]
    rephrase: NotRequired[list[str]]
    probe: NotRequired[str]
    met: NotRequired[str]
    heard: NotRequired[list[list[str]]]
    unless: NotRequired[list[str]]
    pairs: NotRequired[list[list[list[str]]]]
    language: NotRequired[str]


class CorrectionEntry(TypedDict):
    """A repair that A makes. stage: the goal in which A makes it, from 1. of: the goal whose value it changes.

    before: what held. after: what holds from here on.
    """

    stage: int
    of: int
    before: NotRequired[str]
    after: NotRequired[str]


class ReferenceEntry(TypedDict):
    """A reference that B has to resolve. says: the words in `say` of that stage. means: what they refer to."""

    stage: int
    kind: ReferenceKind
    says: str
    means: str


class SafetyEntry(TypedDict):
    """What must not be given. policy: the scenario's class. alternatives: where a good answer leads."""

    policy: str
    boundary: str
    alternatives: list[str]


class LimitsEntry(TypedDict):
    """Where a session ends. turns: of side A. max_s: seconds."""

    turns: NotRequired[int]
    max_s: NotRequired[float]


_ClassName = TypedDict("_ClassName", {"class": str})


class ScenarioEntry(_ClassName):
    """A scenario. closing: A's last words, where they are not those of the language."""

    id: str
    family: str
    title: str
    language: str
    role: str
    background: NotRequired[str]
    closing: NotRequired[str]
    limits: NotRequired[LimitsEntry]
    goal: list[GoalEntry]
    correction: NotRequired[list[CorrectionEntry]]
    reference: NotRequired[list[ReferenceEntry]]
    safety: NotRequired[SafetyEntry]


class ClassEntry(TypedDict):
    """A class of a family."""

    id: str
    title: str


class CheckEntry(TypedDict):
    """A point that is answered with yes or no."""

    id: str
    ask: str


class RubricEntry(TypedDict):
    """One wording of a rubric. levels: what 1 to 5 mean. check, instead: the score is the number of yes, or 1."""

    ask: str
    levels: NotRequired[list[str]]
    check: NotRequired[list[CheckEntry]]


class ScoreEntry(TypedDict):
    """The score of a whole dialogue, 1 to 5. rubric: its wordings, all with one meaning."""

    title: str
    rubric: list[RubricEntry]


_Classes = TypedDict("_Classes", {"class": list[ClassEntry]})


class FamilyEntry(_Classes):
    """A family of scenarios. parts: what each of its scenarios has beside goals. score: left out if there is none."""

    id: str
    title: str
    about: str
    parts: NotRequired[list[Part]]
    score: NotRequired[ScoreEntry]


class ScenarioFile(TypedDict):
    """A file of scenarios. credit: whose they are. family: families that do not come with fdbcore."""

    schema: Literal["fdbcore.scenarios/1"]
    credit: NotRequired[str]
    family: NotRequired[list[FamilyEntry]]
    scenario: NotRequired[list[ScenarioEntry]]
