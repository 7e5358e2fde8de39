"""Values for the macros of templates: cells of tables, facts, key figures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote

from fdbcore.report.format import NONE

NOTES: Final = "left out, notes"
"""The title of the only column with text in a table."""


@dataclass(frozen=True, slots=True)
class PageParts:
    """Parts that a page shows. audio: players and links to audio. words: what was said. embed: the page contains its
    audio, and can be sent alone."""

    audio: bool = True
    words: bool = True
    embed: bool = False


WHOLE: Final = PageParts()
"""A page with all that there is, and links to its audio."""


@dataclass(frozen=True, slots=True)
class Links:
    """Turns numbers into links to the lists of moments with these addresses; other numbers stay as they are.

    calls: a filter of the list of calls, for the page of a run. page: the address of that page, for links from another
    one. The template filter `linked` makes the tags.
    """

    addresses: Collection[str]
    calls: str = ""
    page: str = ""

    def __call__(self, number: object, address: str) -> str:
        """The number as a link to the list with an address, if there is one."""
        if address not in self.addresses:
            return f"{number}"
        among = f"&calls={quote(self.calls)}" if self.calls else ""
        return f"[{number}]({self.page}#moments={address}{among})"


NO_LINKS: Final = Links(())
"""Leaves all numbers as they are."""

ALL: Final = ".all"
"""Ends the address of a list that has the whole denominator of a share, not only what counts."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell with more than a text.

    names: names before the text, each isolated with its own writing direction. meaning, further: explanations below the
    text. source: the term for a measure in the literature. name: the id of a measure. about: of the name of a row, an
    explanation in a row of its own, with source and name. verdict: its colour class. at_s:
    the time in the recording that it links to. is_linked: text and meaning have links by `Links`. svg: a drawing below.
    """

    text: str
    meaning: str = ""
    source: str = ""
    name: str = ""
    about: str = ""
    verdict: str = ""
    at_s: float | None = None
    is_strong: bool = False
    is_code: bool = False
    is_linked: bool = False
    names: Sequence[str] = ()
    further: Sequence[str] = ()
    svg: str = ""


Shown: TypeAlias = Cell | str
Row: TypeAlias = tuple[Shown, Sequence[Shown]]
"""A row of a table: its label and its cells."""
Fact: TypeAlias = tuple[str, Shown]


class Limit(NamedTuple):
    """A limit of a figure. css: the class of its status; sign: what tells the status apart without its colour."""

    css: str
    sign: str
    text: str


class KeyFigure(NamedTuple):
    """A figure with a sentence that explains it. value: a text, or one text per side that begins with the side. limits:
    those of the gates about it. A text may have links by `Links`."""

    name: str
    value: str | tuple[str, str]
    text: str
    interval: str = ""
    limits: Sequence[Limit] = ()


def without_empty(columns: Sequence[str], rows: Sequence[Row]) -> tuple[list[str], list[Row]]:
    """The columns, and rows, without those columns in which no row has anything. columns: of the cells."""
    used = [k for k in range(len(columns)) if any(cells[k] for _, cells in rows)]
    return [columns[k] for k in used], [(label, [cells[k] for k in used]) for label, cells in rows]


def flat(value: object, name: str = "") -> list[Fact]:
    """Nested JSON values as facts, such as ("vad A name", "silero")."""
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in flat(inner, f"{name} {key}".strip())]
    if isinstance(value, list) and any(isinstance(inner, (Mapping, list)) for inner in value):
        return [pair for number, inner in enumerate(value, 1) for pair in flat(inner, f"{name} {number}".strip())]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [(name.replace("_", " "), Cell(text, is_code=True) if value not in (None, []) else NONE)]
