"""What an examiner is told: whom it plays, and what it wants of the system, goal by goal. A brief is a JSON file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from fdbcore.endpoints.examiner.phrases import Alternatives, Pair, is_said
from fdbcore.errors import SettingsError
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.texts import text_of

BRIEF_SCHEMA: Final = "fdbcore.brief/1"


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing that the examiner wants.

    goal: in words, as one tells an actor. sayings: what a scripted examiner says for it, the first one first; each of
    the others says it again, or asks for what is missing. met: how one tells that the goal is met. heard, unless and
    pairs: how a program tells, as `phrases.is_said` has them. language: of its texts, ISO 639-1. probes: whether the
    last of the sayings asks for what is missing.
    """

    goal: str
    sayings: Sequence[str]
    met: str
    heard: Sequence[Alternatives]
    language: str
    probes: bool = False
    unless: Alternatives = ()
    pairs: Sequence[Pair] = ()

    def is_met_by(self, words: str) -> bool:
        """Whether the system's words since the goal was first said meet it. False if no phrases are demanded."""
        return is_said(words, self.heard, self.unless, self.pairs)


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief as it was read. closing: the last thing that the examiner says. most_turns: of the examiner.

    most_s: after so many seconds it says the closing statement.
    """

    id: str
    language: str
    role: str
    background: str
    goals: Sequence[Goal]
    closing: str
    most_turns: int
    most_s: float

    def to_json(self) -> dict[str, Any]:
        """The brief as `from_json` takes it."""
        return {"schema": BRIEF_SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The brief that `to_json` gave. TypeError for missing and unknown fields."""
        given = {name: value for name, value in values.items() if name != "schema"}
        return cls(**{**given, "goals": tuple(Goal(**goal) for goal in values["goals"])})


def read_brief(path: Path) -> Brief:
    """The brief in a file. SettingsError in one line if there is none."""
    try:
        values = parsed_json(text_of(path))
        if values["schema"] != BRIEF_SCHEMA:
            raise SettingsError(f"{path}: expected a brief of schema {BRIEF_SCHEMA}, got {values['schema']!r}")
        expected, got = {"schema", *(each.name for each in fields(Brief))}, set(values)
        if expected != got:
            missing, unknown = (", ".join(sorted(each)) or "none" for each in (expected - got, got - expected))
            raise SettingsError(f"{path}: expected the fields of a brief; missing: {missing}; unknown: {unknown}")
        return Brief.from_json(values)
    except SettingsError:  # it is a ValueError, too
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsError(f"{path}: expected a brief of schema {BRIEF_SCHEMA}, got another form") from error
