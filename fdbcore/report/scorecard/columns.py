"""Tables for a terminal: groups of columns that stay together, as many side by side as the width allows."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

NAME_COLUMNS: Final = 24
NAME_LEAST: Final = 8
ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns under one title. headers, widths: per column. cells: per row, per column; none is ever cut."""

    title: str
    headers: Sequence[str]
    widths: Sequence[int]
    cells: Sequence[Sequence[str]]

    @property
    def width(self) -> int:
        """The width of all its columns, each with the two spaces before it."""
        return sum(self.widths) + 2 * len(self.widths)


def cells_table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines of a table of cells: the first row is the head, and its first cell the title; names come first.

    Names are whole up to half of `width`.
    """
    (title, *heads), *others = rows
    cells = [row[1:] for row in others]
    widths = [max(map(width_columns, column)) for column in zip(heads, *cells, strict=True)]
    nothing = ColumnGroup("", [], [], [[] for _ in others])
    return table([row[0] for row in others], [nothing, ColumnGroup(title, heads, widths, cells)], width, width // 2)


def table(
    names: Sequence[str], groups: Sequence[ColumnGroup], width: int, name_columns: int = NAME_COLUMNS
) -> list[str]:
    """The lines of a table, at most `width` columns wide if the widest column allows it; each part repeats the names.

    The first group stands beside the names in every part. A group that is too wide for a part is divided.
    name_columns: the most that names take; longer ones are cut in their middle.
    """
    first, *wide = map(_holding_its_cells, groups)
    wished = min(max(map(width_columns, names)), name_columns)
    others = [part for group in wide for part in _narrower(group, width - first.width - wished)]
    widest = max((group.width for group in others), default=0)
    named = min(wished, max(NAME_LEAST, width - first.width - widest))
    parts: list[list[ColumnGroup]] = []
    for group in others:
        if not parts or named + first.width + sum(g.width for g in parts[-1]) + group.width > width:
            parts.append([])
        parts[-1].append(group)
    lines = [[*_part(names, named, [first, *part])] for part in parts]
    return [line for number, part in enumerate(lines) for line in ([""] if number else []) + part]


def _holding_its_cells(group: ColumnGroup) -> ColumnGroup:
    """The group, with columns that are as wide as their widest cell: a number that is cut is another number."""
    return replace(
        group,
        widths=[
            max([width, *(width_columns(row[place]) for row in group.cells)])
            for place, width in enumerate(group.widths)
        ],
    )


def _narrower(group: ColumnGroup, width: int) -> Iterator[ColumnGroup]:
    """The group, or its columns in several groups with its title, each at most `width` columns wide if it can be."""
    begin = 0
    for end in range(1, len(group.widths) + 1):
        if end == len(group.widths) or sum(group.widths[begin : end + 1]) + 2 * (end + 1 - begin) > width:
            widths = list(group.widths[begin:end])
            widths[-1] += max(0, width_columns(group.title) - sum(widths) - 2 * (len(widths) - 1))
            yield ColumnGroup(group.title, group.headers[begin:end], widths, [row[begin:end] for row in group.cells])
            begin = end


def _part(names: Sequence[str], named: int, groups: Sequence[ColumnGroup]) -> Iterator[str]:
    if any(group.title for group in groups):
        titles = ("  " + padded(group.title, group.width - 2, right=False) for group in groups if group.widths)
        yield (" " * named + "".join(titles)).rstrip()
    yield " " * named + "".join(_cells(group, group.headers) for group in groups)
    for row, name in enumerate(names):
        yield (padded(name, named, right=False) + "".join(_cells(group, group.cells[row]) for group in groups)).rstrip()


def _cells(group: ColumnGroup, cells: Sequence[str]) -> str:
    return "".join("  " + padded(cell, width) for cell, width in zip(cells, group.widths, strict=True))


def width_columns(text: str) -> int:
    """The columns that a text takes on a terminal: two for a wide character (East Asian), none for a combining one."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = True) -> str:
    """The text in exactly `width` columns; a longer text is cut in its middle."""
    text = fitted(text, width)
    space = " " * (width - width_columns(text))
    return space + text if right else text + space


def fitted(text: str, width: int) -> str:
    """The text; if it takes more than `width` columns, it is cut in its middle."""
    if width_columns(text) <= width:
        return text
    tail = _start(text[::-1], (width - 1) // 2)[::-1]
    return _start(text, width - 1 - width_columns(tail)) + ELLIPSIS + tail


def _start(text: str, width: int) -> str:
    """As much of the start of the text as fits."""
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:position]
    return text


def wrapped(text: str, width: int, indent: int = 0) -> Iterator[str]:
    """The text in lines of at most `width` columns, those after the first indented; broken at spaces where possible."""
    line = ""
    for number, word in enumerate(text.split(" ")):
        longer = f"{line} {word}" if number else word
        if width_columns(longer) > width and line.strip():
            yield line
            longer = " " * indent + word
        while width_columns(longer) > width:  # a word longer than a line
            head = _start(longer, width)
            yield head
            longer = " " * indent + longer[len(head) :]
        line = longer
    yield line
