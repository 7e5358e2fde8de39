"""Reads tables that raters fill in: CSV files with a header, a row an item and rater."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fdbcore.errors import SettingsError
from fdbcore.sources.names import DELIMITERS
from fdbcore.sources.tables import csv_rows


def columns_of(path: Path) -> Sequence[str]:
    """The names in the header of a CSV, in lower case; none if it is no CSV, or cannot be read."""
    if path.suffix.lower() != ".csv":
        return ()
    try:
        with open(path, encoding="utf-8-sig") as file:
            return _cells(path, file.readline())
    except (OSError, UnicodeDecodeError, SettingsError):
        return ()


def rated_rows(
    path: Path, needed: Sequence[str], one_of: Sequence[str] = ()
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each row that is not empty: its place, and its cells by the names of their columns.

    SettingsError for a table that cannot be read, or that lacks a column that is needed, or all that it needs one of.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: expected text in UTF-8, got: {error}") from error
    first = text.partition("\n")[0]
    header = _cells(path, first)
    if lacking := [name for name in needed if name not in header]:
        raise SettingsError(f"{path}: expected the columns {' and '.join(needed)}, got no {' and no '.join(lacking)}")
    if one_of and not {*one_of} & {*header}:
        raise SettingsError(f"{path}: expected a column of {', '.join(one_of)}, got {', '.join(header)}")
    rows = csv_rows(path, io.StringIO(text, newline=""), _delimiter(first))
    next(rows)
    for line, row in rows:
        if any(cell.strip() for cell in row):
            yield f"{path}, line {line}", dict(zip(header, map(str.strip, row), strict=False))


def _cells(path: Path, line: str) -> list[str]:
    return [cell.strip().lower() for _, row in csv_rows(path, [line], _delimiter(line)) for cell in row]


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)
