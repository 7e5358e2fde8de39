"""Reads tables of users: CSV files as spreadsheets and exports write them, of calls or of what raters say."""

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.texts import text_of
from fdbcore.sources.agent_logs import LogFile
from fdbcore.sources.columns import AGENT_CHANNEL
from fdbcore.sources.left_out import FROM_COLUMN, LEAVE_OUT, TO_COLUMN
from fdbcore.sources.log_files import OFFSET, SESSION, STARTED
from fdbcore.sources.names import DELIMITERS, FILE_COLUMNS, NameIndex, Oddities
from fdbcore.sources.text_cells import unmarked

A_FILE: Final = "a_file"
B_FILE: Final = "b_file"
"""The columns with the file of each side, if a row names two files. `A_FILE` then names the call."""
LOG_FILE: Final = "agent_log_file"
"""The column with the file of the agent's own log; a relative path starts at the table."""
MOST_COLUMNS: Final = 1000
MOST_BYTES: Final = 2**25
"""No table that raters fill in is larger."""


def _letters(name: str) -> str:
    """A column's name without case, blanks, hyphens and underscores: people write "Agent Channel", too."""
    return re.sub(r"[\s_-]", "", name).lower()


_OF_LOGS: Final = (LOG_FILE, OFFSET, STARTED, SESSION)
_STEERING: Final = {
    **{_letters(name.replace("agent_log", "marks")): name for name in _OF_LOGS},  # as 0.2 called them
    **{_letters(name): name for name in (A_FILE, B_FILE, AGENT_CHANNEL, FROM_COLUMN, TO_COLUMN, LEAVE_OUT, *_OF_LOGS)},
}
"""The columns that say how a call is read, beside those that name its file."""


@dataclass(frozen=True, slots=True)
class CallTable:
    """A table of calls.

    files: the column that names a call by its file, or the two columns with the files of both sides, A's first; none if
    no column has a usual name. rows: all cells as text, by the names of their columns.
    """

    path: Path
    files: tuple[str, ...]
    rows: Sequence[Mapping[str, str]]
    header: Sequence[str]

    def naming(self, calls: NameIndex) -> "CallTable":
        """The table with the column that names most of the calls, unless the column of a usual name names any.

        SettingsError if no column has a usual name, and none or several name the most calls.
        """
        names = {name: sum(calls.knows(row[name]) for row in self.rows) for name in self.header}
        if self.files and (len(self.files) == 2 or names[self.files[0]]):
            return self
        best = [name for name, count in names.items() if count == max(names.values()) > 0]
        if len(best) == 1:
            return replace(self, files=(best[0],))
        if not self.files:
            needed = f"one column that names the calls (or call it file), or two named {A_FILE} and {B_FILE}"
            raise SettingsError(f"{self.path}: expected {needed}; got {', '.join(best or self.header)}")
        return self

    def columns(self, row: Mapping[str, str]) -> dict[str, str]:
        """The cells of a row without those that name files."""
        return {name: text for name, text in row.items() if name not in (*self.files, LOG_FILE)}

    def log(self, row: Mapping[str, str]) -> LogFile | None:
        """The agent's log that a row names; None if it names none."""
        text = row.get(LOG_FILE)
        return LogFile(self.path.parent / text) if text else None


def read_table(path: Path, oddities: Oddities) -> CallTable:
    """The table in a CSV file with a header, see `table_rows`.

    SettingsError if it cannot be read, has two columns of one name or none at all, or has a row with another number of
    fields than the header.
    """
    rows: list[tuple[int, list[str]]] = []
    for line, row in table_rows(path, text_of(path, oddities.add)):
        if not rows or any(cell.strip() for cell in row):
            rows.append((line, row))
    given = [name.strip() for name in rows.pop(0)[1]] if rows else []
    header = [_STEERING.get(_letters(name), name) for name in given]
    spelt = [f"{name!r} as {known}" for name, known in zip(given, header, strict=True) if name.lower() != known.lower()]
    oddities.add(f"columns of {path.name}, read", spelt)
    by_name = {name.lower(): name for name in reversed(header)}
    files: tuple[str, ...] = next(((by_name[name],) for name in FILE_COLUMNS if name in by_name), ())
    if A_FILE in by_name and B_FILE in by_name:
        files = (by_name[A_FILE], by_name[B_FILE])
    if not header or len(set(header)) < len(header):
        raise SettingsError(
            f"{path}: expected different columns, one of them the names of the calls; got {', '.join(header) or 'none'}"
        )
    for line, row in rows:
        if len(row) != len(header):
            raise SettingsError(f"{path}, line {line}: expected {len(header)} fields, got {len(row)}")
    cells = [
        {name: "" if cell.strip().lower() == "nan" else cell.strip() for name, cell in zip(header, row, strict=True)}
        for _, row in rows
    ]
    return CallTable(path, files, cells, header)


def table_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table in a text, each with the number of the line in which it begins: a cell may span several.

    The delimiter is a comma, a semicolon or a tab; a first line "sep=;", which spreadsheets write, names it. Marks that
    keep a spreadsheet from taking a text for a formula are taken off. SettingsError for a cell above 128 kB, a stray
    quote, too many cells.
    """
    lines = io.StringIO(text, newline="").readlines()
    stated = re.fullmatch(r'"?sep=(.)"?\s*', lines[0] if lines else "", re.IGNORECASE)
    skipped = 1 if stated else 0
    head = next((line for line in lines if not line.lstrip('"').startswith("#file:")), "")  # as ELAN names its media
    delimiter = stated[1] if stated else max(DELIMITERS, key=head.count)
    table = csv.reader(lines[skipped:], delimiter=delimiter, strict=True)
    began = skipped + 1
    try:
        for row in table:
            if len(row) > MOST_COLUMNS:
                raise SettingsError(f"{path}, line {began}: expected at most {MOST_COLUMNS:,} cells, got {len(row):,}")
            yield began, [unmarked(cell) for cell in row]
            began = skipped + table.line_num + 1
    except csv.Error as error:
        quote = ", a quote that is never closed" if "end of data" in str(error) else f": {error}"
        raise SettingsError(f"{path}, line {began}: expected a row of a CSV table, got something else{quote}") from None


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
