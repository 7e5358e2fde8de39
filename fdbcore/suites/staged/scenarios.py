"""Scenarios: what side A wants of the system, goal by goal, and how one tells that it got it.

A file of scenarios is TOML as people write it, or the same as JSON. `fdbcore.runtime.shape` checks it against the types
of this module, and the published schema is made of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType, field

from fdbcore.suites.staged.families import Family

SCHEMA: Final = "fdbcore.scenarios/1"


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
    """A repair that A makes. stage: the goal in which A makes it, from 1. of: the goal whose value it changes.

    before: what held. after: what holds from here on.
    """

    stage: int
    of: int
    before: str = ""
    after: str = ""


class Reference(Struct, frozen=True, forbid_unknown_fields=True):
    """A reference that B has to resolve. says: the words in `say` of that stage. means: what they refer to."""

    stage: int
    kind: Literal["ordinal", "attribute", "landmark"]
    says: str
    means: str


class Safety(Struct, frozen=True, forbid_unknown_fields=True):
    """What must not be given. policy: the scenario's class. alternatives: where a good answer leads."""

    policy: str
    boundary: str
    alternatives: tuple[str, ...]


class Limits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a session ends. turns: of side A. max_s: seconds."""

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
    limits: Limits = Limits()
    goals: tuple[StagedGoal, ...] = field(name="goal")
    corrections: tuple[Correction, ...] = field(name="correction", default=())
    references: tuple[Reference, ...] = field(name="reference", default=())
    safety: Safety | UnsetType = UNSET

    @property
    def last_words(self) -> str:
        """What A closes with; "" if the language has no closing statement either."""
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
        """Whether it says what A says, so that an examiner without a language model can play it."""
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
    text = (files("fdbcore.suites.staged") / "data" / "closings.toml").read_text(encoding="utf-8")
    statements: dict[str, str] = tomllib.loads(text)
    return statements
