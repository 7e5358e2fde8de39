"""Scenarios: what side A wants of the system, goal by goal, and how one tells that it got it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fdbcore.suites.staged.scenario_types import (
        CorrectionEntry,
        GoalEntry,
        ReferenceEntry,
        SafetyEntry,
        ScenarioEntry,
    )

MOST_TURNS: Final = 20
MOST_S: Final = 180.0
"""The limits of a session, if a scenario has none of its own: turns of side A, and seconds."""


@dataclass(frozen=True, slots=True)
class StagedGoal:
    """One thing that side A wants of the system.

    goal: an instruction to an actor. say: A's words as spoken. rephrase: other wordings. probe: asks for what is
    missing. met: how a reader tells that the goal is met. heard, unless, pairs: how a program tells: what B said since
    the stage began. language: of the texts, ISO 639-1. What a file leaves out is empty here.
    """

    goal: str
    say: str
    rephrase: tuple[str, ...]
    probe: str
    met: str
    heard: tuple[tuple[str, ...], ...]
    unless: tuple[str, ...]
    pairs: tuple[tuple[tuple[str, ...], ...], ...]
    language: str

    @property
    def words(self) -> tuple[str, ...]:
        """All texts that A may say for this goal."""
        return tuple(text for text in (self.say, *self.rephrase, self.probe) if text)

    @classmethod
    def from_entry(cls, entry: GoalEntry, language: str) -> StagedGoal:
        """The goal of a table in a file. language: that of the scenario."""
        return cls(
            goal=entry["goal"],
            say=entry.get("say", ""),
            rephrase=tuple(entry.get("rephrase", ())),
            probe=entry.get("probe", ""),
            met=entry.get("met", ""),
            heard=tuple(map(tuple, entry.get("heard", ()))),
            unless=tuple(entry.get("unless", ())),
            pairs=tuple(tuple(map(tuple, pair)) for pair in entry.get("pairs", ())),
            language=entry.get("language", language),
        )


@dataclass(frozen=True, slots=True)
class Scenario:
    """One case. closing: A's last words. most_turns: of side A. class_: the class within the family.

    corrections, references, safety: what scenarios of those families have beside goals. entry: its whole table, as its
    file has it.
    """

    id: str
    family: str
    class_: str
    title: str
    language: str
    role: str
    background: str
    goals: tuple[StagedGoal, ...]
    closing: str
    most_turns: int
    most_s: float
    corrections: Sequence[CorrectionEntry]
    references: Sequence[ReferenceEntry]
    safety: SafetyEntry | None
    entry: ScenarioEntry

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that A speaks, its own first."""
        return tuple(dict.fromkeys([self.language, *(goal.language for goal in self.goals)]))

    @property
    def has_words(self) -> bool:
        """Whether it says what A says, so that an examiner without a language model can play it."""
        return all(goal.say for goal in self.goals)

    @classmethod
    def from_entry(cls, entry: ScenarioEntry) -> Scenario:
        """The scenario of a table in a file; the table is of the right shape."""
        language, limits = entry["language"], entry.get("limits", {})
        return cls(
            id=entry["id"],
            family=entry["family"],
            class_=entry["class"],
            title=entry["title"],
            language=language,
            role=entry["role"],
            background=entry.get("background", ""),
            goals=tuple(StagedGoal.from_entry(goal, language) for goal in entry["goal"]),
            closing=entry.get("closing") or closings().get(language, ""),
            most_turns=limits.get("turns", MOST_TURNS),
            most_s=limits.get("max_s", MOST_S),
            corrections=entry.get("correction", ()),
            references=entry.get("reference", ()),
            safety=entry.get("safety"),
            entry=entry,
        )


@cache
def closings() -> Mapping[str, str]:
    """The closing statement by language, for scenarios without one of their own."""
    text = (files("fdbcore.suites.staged") / "data" / "closings.toml").read_text(encoding="utf-8")
    statements: dict[str, str] = tomllib.loads(text)
    return statements
