"""The brief of an examiner: whom it plays, and what it wants of the system, goal by goal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, ValidationError

from fdbcore.endpoints.examiner.phrases import Alternatives, Pair, is_said
from fdbcore.errors import SettingsError
from fdbcore.recording.form import converted
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.texts import text_of

BRIEF_SCHEMA: Final = "fdbcore.brief/1"


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
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
        """True if the system's words since the goal was first said meet it. False if no phrases are demanded."""
        return is_said(words, self.heard, self.unless, self.pairs)


class Brief(Struct, frozen=True, forbid_unknown_fields=True, tag_field="schema", tag=BRIEF_SCHEMA):
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
    most_s: int | float


def read_brief(path: Path) -> Brief:
    """The brief in a file. SettingsError in one line if there is none."""
    try:
        return converted(parsed_json(text_of(path)), Brief)
    except SettingsError:  # it is a ValueError, too
        raise
    except (ValueError, ValidationError) as error:
        raise SettingsError(f"{path}: expected a brief of schema {BRIEF_SCHEMA}, got: {error}") from error
