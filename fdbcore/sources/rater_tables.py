"""Reads tables that raters fill in: CSV files with a header, a row an item and rater."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.texts import text_of
from fdbcore.sources.tables import table_rows

MOST_BYTES: Final = 2**25
"""No table that raters fill in is larger."""


def columns_of(path: Path) -> Sequence[str]:
    """The names in the header of a CSV, in lower case; none if it is no CSV, cannot be read, or is too large."""
    if path.suffix.lower() != ".csv":
        return ()
    try:
        if os.path.getsize(path) > MOST_BYTES:
            return ()
        return _header(table_rows(path, text_of(path)))
    except (SettingsError, OSError):
        return ()


def rated_rows(
    path: Path, needed: Sequence[str], one_of: Sequence[str] = ()
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each row that is not empty: its place, and its cells by the names of their columns.

    SettingsError for a table that cannot be read, or that lacks a column that is needed, or all that it needs one of.
    """
    rows = table_rows(path, text_of(path))
    header = _header(rows)
    if lacking := [name for name in needed if name not in header]:
        raise SettingsError(f"{path}: expected the columns {' and '.join(needed)}, got no {' and no '.join(lacking)}")
    if one_of and not {*one_of} & {*header}:
        raise SettingsError(f"{path}: expected a column of {', '.join(one_of)}, got {', '.join(header)}")
    for line, row in rows:
        if any(cell.strip() for cell in row):
            yield f"{path}, line {line}", dict(zip(header, map(str.strip, row), strict=False))


def _header(rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    return [cell.strip().lower() for cell in next(rows, (0, []))[1]]
