"""What an examiner is told: whom it plays, and what it wants of the system, goal by goal. A brief is a JSON file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from fdbcore.errors import SettingsError
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.texts import text_of

BRIEF_SCHEMA: Final = "fdbcore.brief/1"

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTER: Final = rf"(?![{_UNSPACED}\d])\w"
_WORD: Final = re.compile(rf"[{_UNSPACED}]+|\d+|(?:{_LETTER})+(?:'(?:{_LETTER})+)*")
_GENITIVE: Final = re.compile(r"(?<=\w)'s\b")
_NO_SPACES: Final = re.compile(f"[{_UNSPACED}]")
"""Kana and Chinese characters: words of such scripts are not set apart by spaces; a change of script ends a word."""
_INSIDE_A_NUMBER: Final = (
    ("0123456789", r"(?<!\d)"),
    ("一二三四五六七八九十", r"(?<![\d一二三四五六七八九十百千万])"),
    ("百千", r"(?<![2-9二三四五六七八九十])"),
)
"""By what a phrase begins with: not after these, for 3時 is not in 13時, nor 三時 in 十三時, nor 千円 in 二千円."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing that the examiner wants.

    goal: in words, as one tells an actor. sayings: what a scripted examiner says for it, the first one first; each of
    the others says it again, or asks for what is missing. met: how one tells that the goal is met. heard: groups of
    phrases; of each group the system says one if the goal is met. language: of its texts, ISO 639-1. probes: whether
    the last of the sayings asks for what is missing.
    """

    goal: str
    sayings: Sequence[str]
    met: str
    heard: Sequence[Sequence[str]]
    language: str
    probes: bool = False

    def is_met_by(self, words: str) -> bool:
        """Whether the system's words since the goal was first said hold a phrase of each group.

        Case, punctuation and the width of characters do not count. False if there are no groups.
        """
        said = _plain(words)
        return bool(self.heard) and all(any(_holds(said, phrase) for phrase in group) for group in self.heard)


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


def _plain(text: str) -> str:
    """The words alone, in small letters, each with a space on both sides; "4pm" is "4 pm", and "Anna's" is "anna"."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return f" {' '.join(_WORD.findall(_GENITIVE.sub('', folded)))} "


def _holds(said: str, phrase: str) -> bool:
    sought = _plain(phrase)
    if not _NO_SPACES.search(sought):
        return sought in said
    not_after = next((before for digits, before in _INSIDE_A_NUMBER if sought[1] in digits), "")
    return re.search(not_after + re.escape(sought.replace(" ", "")), said.replace(" ", "")) is not None
