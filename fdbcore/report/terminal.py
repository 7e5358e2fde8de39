"""Tables and names that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

FEWEST_NAME_COLUMNS: Final = 12


def laid_out(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Rows as lines of at most `width`: names to the left, the rest to the right, where it fits. The first row is the
    head; a column without anything below it is left out."""
    names, *columns = (column for column in zip(*rows, strict=True) if any(column[1:]))
    of_names, widths = max(map(len, names)), [max(map(len, column)) for column in columns]
    while widths and min(of_names, FEWEST_NAME_COLUMNS) + sum(widths) + len(widths) > width:
        widths.pop()
    of_names = min(of_names, width - sum(widths) - len(widths))
    return [
        " ".join([f"{shortened(name, of_names):<{of_names}}", *map(str.rjust, cells, widths)]).rstrip()
        for name, *cells in zip(names, *columns[: len(widths)], strict=True)
    ]


def shortened(text: str, width: int) -> str:
    """`text` cut in its middle to `width`."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def shortened_at_end(text: str, width: int) -> str:
    """`text` cut at its end to `width`."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
