"""Fits tables and names to the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Final

FEWEST_NAME_COLUMNS: Final = 12


def laid_out(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """The rows of a table as lines of at most `width` characters; the first row is the head.

    The first column is left-aligned, the others right-aligned. Columns without any cell are left out, and so are the
    last columns if they do not fit.
    """
    names, *columns = (column for column in zip(*rows, strict=True) if any(column[1:]))
    name_width, widths = max(map(len, names)), [max(map(len, column)) for column in columns]
    while widths and min(name_width, FEWEST_NAME_COLUMNS) + sum(widths) + len(widths) > width:
        widths.pop()
    name_width = min(name_width, width - sum(widths) - len(widths))
    return [
        " ".join([f"{shortened(name, name_width):<{name_width}}", *map(str.rjust, cells, widths)]).rstrip()
        for name, *cells in zip(names, *columns[: len(widths)], strict=True)
    ]


def filled(text: str, columns: int, indent: str = "") -> str:
    """`text`, wrapped; the lines after the first are indented. Names and paths are not broken: they can be copied."""
    return fill(text, columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def shortened(text: str, width: int) -> str:
    """`text`, shortened in its middle to `width` characters."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def shortened_at_end(text: str, width: int) -> str:
    """`text`, shortened at its end to `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
