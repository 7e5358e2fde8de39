"""What the macros of templates take: cells of tables, lists of facts, key figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from fdbcore.report.format import NONE

NOTES: Final = "left out, notes"
"""The only column of text in a table."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than a text.

    names: before the text, each with its own direction of writing. meaning, further: told below it. source: of a
    measure, in the literature; name: of a measure, in documents. verdict: the class of its colour. at_s: where it links
    in the page's own recording. svg: drawn below it.
    """

    text: str
    meaning: str = ""
    source: str = ""
    name: str = ""
    verdict: str = ""
    at_s: float | None = None
    is_strong: bool = False
    is_code: bool = False
    names: Sequence[str] = ()
    further: Sequence[str] = ()
    svg: str = ""


Shown: TypeAlias = Cell | str
Row: TypeAlias = tuple[Shown, Sequence[Shown]]
"""A row of a table: its label and its cells."""
Fact: TypeAlias = tuple[str, Shown]


class KeyFigure(NamedTuple):
    """A figure with a sentence that says what it is. value: a text, or one a side, each of which begins with it."""

    name: str
    value: str | tuple[str, str]
    text: str
    interval: str = ""


def flat(value: object, name: str = "") -> list[Fact]:
    """Nested JSON values as facts, such as ("vad A name", "silero")."""
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in flat(inner, f"{name} {key}".strip())]
    if isinstance(value, list) and any(isinstance(inner, (Mapping, list)) for inner in value):
        return [pair for number, inner in enumerate(value, 1) for pair in flat(inner, f"{name} {number}".strip())]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [(name.replace("_", " "), Cell(text, is_code=True) if value not in (None, []) else NONE)]
