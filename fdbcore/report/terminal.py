"""Fits tables and names to the width of a terminal."""

from collections.abc import Iterable, Sequence
from textwrap import fill, wrap
from typing import Final

FEWEST_NAME_COLUMNS: Final = 12
LABEL_COLUMNS: Final = 20


def laid_out(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """The rows of a table as lines of at most `width` characters; the first row is the head.

    The first column is left-aligned, the others right-aligned. A title of several words takes as many lines as its
    column is narrow. Columns without any cell are left out. Those that do not fit beside the others stand below them,
    in as many parts as it takes; each part repeats the first column.
    """
    names, *columns = (column for column in zip(*rows, strict=True) if any(column[1:]))
    widths = [*map(_width, columns)]
    longest = max(map(len, names))
    parts: list[list[int]] = [[]]
    for place in range(len(columns)):
        beside = [*parts[-1], place]
        if parts[-1] and min(longest, FEWEST_NAME_COLUMNS) + sum(widths[each] + 1 for each in beside) > width:
            parts.append([])
        parts[-1].append(place)
    return [
        line for number, part in enumerate(parts) for line in [""] * bool(number) + _part(names, columns, part, width)
    ]


def _width(column: Sequence[str]) -> int:
    """The columns of the longest cell, or of the longest word of the title."""
    return max(map(len, [*column[0].split(), *column[1:]]))


def _part(names: Sequence[str], columns: Sequence[Sequence[str]], part: Sequence[int], width: int) -> list[str]:
    """The lines of the columns at these places, after the names, which are cut in their middle to fit."""
    widths = [_width(columns[place]) for place in part]
    titles = [wrap(columns[place][0], width) for place, width in zip(part, widths, strict=True)]
    height = max(map(len, titles), default=1)
    heads = [["", *line] for line in zip(*([""] * (height - len(title)) + title for title in titles), strict=True)]
    cells = [*zip(names[1:], *(columns[place][1:] for place in part), strict=True)]
    named = max(min(max(map(len, names)), width - sum(widths) - len(widths)), 1)
    return [
        " ".join([f"{shortened(name, named):<{named}}", *map(str.rjust, line, widths)]).rstrip()
        for name, *line in [*heads[:-1], [names[0], *heads[-1][1:]], *cells]
    ]


def filled(text: str, columns: int, indent: str = "") -> str:
    """`text`, wrapped; the lines after the first are indented. Names and paths are not broken: they can be copied."""
    return fill(text, columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def labelled(lines: Iterable[tuple[str, str]], columns: int) -> list[str]:
    """Texts, each with its label before it, wrapped beside the labels for a terminal with this many columns."""
    indent = " " * LABEL_COLUMNS
    return [filled(f"{label:<{LABEL_COLUMNS - 1}} {text}", columns, indent) for label, text in lines]


def shortened(text: str, width: int) -> str:
    """`text`, shortened in its middle to `width` characters."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def shortened_at_end(text: str, width: int) -> str:
    """`text`, shortened at its end to `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
