"""The table of a run with the facts of its calls, a column each: RUN/facts.parquet. It needs pyarrow (extra `tables`).

A row holds for the files that it was read from: as long as their sizes and modification times are the same. A table
that is missing, damaged, or of another version of fdbcore has no rows; whoever asks then reads the files of the call.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from fdbcore._version import __version__
from fdbcore.analysis.facts import FACTS, Fact, quantities_json
from fdbcore.analysis.score import check, read_quantities
from fdbcore.errors import FdbError, writes
from fdbcore.measures import quantities as stored
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import (
    ACTIVITY,
    AUDIO,
    EVENTS,
    HEALTH,
    LABELS,
    MARKS,
    META,
    QUANTITIES,
    SCORES,
    TURNS,
    WORDS,
)
from fdbcore.recording.form import NOT_OF_FORM, converted, one_call
from fdbcore.runtime.whole_files import whole_file
from fdbcore.types import SIDES

if TYPE_CHECKING:
    from pyarrow import Table
    from pyarrow.parquet import ParquetFile

T = TypeVar("T")
Row: TypeAlias = Mapping[str, str | None]

TABLE: Final = "facts.parquet"
SCHEMA: Final = "fdbcore.facts/1"
READ_FILES: Final = (
    META, EVENTS, AUDIO, ACTIVITY, TURNS, HEALTH, LABELS, MARKS, QUANTITIES, SCORES, *WORDS.values(),
    *(f"derived/{side}.json" for side in SIDES),
)  # fmt: skip
"""The files of a recording from which facts are read."""
ROWS_PER_GROUP: Final = 2_000
GROUPS_HELD: Final = 48
"""About three groups of rows of each fact are held in memory: calls are asked for one after the other."""

_NAME, _STATE, _CREATED = "name", "state", "created"
_POOLED: Final = ("quantities", "with_echo")


class DamagedTableError(FdbError):
    """A part of the table cannot be read. It has no rows from then on."""


def state_of(path: Path) -> str:
    """The state of a recording's facts: sizes and modification times of the files they are from."""
    found: list[tuple[int, int] | None] = []
    for part in READ_FILES:
        try:
            stat = os.stat(f"{path}/{part}")
            found.append((stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append(None)
    return hashlib.sha256(repr(found).encode()).hexdigest()[:32]


def row_of(path: Path, more: Sequence[Fact[Any]] = ()) -> Row | None:
    """The row of the recording in a folder; None if a file of it is damaged, which must be told each time, or if it has
    measures that no table has columns for.

    more: facts beside those that every table has.
    """
    state = state_of(path)
    try:
        with one_call(path):
            reading = Reading(path)
            check(reading)
            if reading.damaged_beside:
                return None
            facts = {fact.name: _text(fact.to_json(fact.of(reading))) for fact in (*FACTS, *more)}
            pooled = dict(zip(_POOLED, map(quantities_json, read_quantities(reading)), strict=True))
    except FdbError:
        return None
    if not all(measure in MEASURES for found in pooled.values() for measure in found):
        return None
    return {
        _NAME: path.name,
        _STATE: state,
        _CREATED: reading.meta.get("created"),
        **facts,
        **{what: _text(list(found)) for what, found in pooled.items()},
        **{_column(what, name): _text(item) for what, found in pooled.items() for name, item in found.items()},
    }


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _column(what: str, measure: str) -> str:
    return f"{what}.{measure}"


class Pooled(Mapping[str, Quantity]):
    """The quantities of one call: a row of columns, which many calls share."""

    __slots__ = ("_columns", "_names", "_number")

    def __init__(self, columns: Mapping[str, Sequence[Quantity | None]], names: Sequence[str], number: int) -> None:
        self._columns, self._names, self._number = columns, names, number

    def __getitem__(self, measure: str) -> Quantity:
        found = self._columns[measure][self._number] if measure in self._columns else None
        if found is None:
            raise KeyError(measure)
        return found

    def __contains__(self, measure: object) -> bool:
        return measure in self._columns and self._columns[measure][self._number] is not None  # type: ignore[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class FactsTable:
    """The facts that a run keeps of its calls.

    since: calls made before this time (UTC, ISO 8601) are taken as they are in the table; nobody looks at their files.
    """

    def __init__(self, path: Path, since: str = "") -> None:
        self.path = path
        self._since = since
        self._numbers: dict[str, int | None] = {}
        self._states: list[str] = []
        self._created: list[str | None] = []
        self._group = lru_cache(GROUPS_HELD)(self._read_group)

    def __reduce__(self) -> tuple[type[FactsTable], tuple[Path, str]]:
        return FactsTable, (self.path, self._since)

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, call: Path) -> int | None:
        """The number of the row of the call in a folder; None if there is none, or if its files have changed since."""
        if call.name not in self._numbers:
            number = self._rows.get(call.name)
            if number is not None and not (self._created[number] or self._since) < self._since:
                number = number if self._states[number] == state_of(call) else None
            self._numbers[call.name] = number
        return self._numbers[call.name]

    def state(self, number: int) -> str:
        """The state of a row; see `state_of`."""
        return self._states[number]

    def fact(self, fact: Fact[T], number: int) -> T:
        """The fact in a row. Raises DamagedTableError."""
        group = bisect_right(self._starts, number) - 1
        text = self._group(fact.name, group)[number - self._starts[group]]
        try:
            value: T = json.loads(text)
            return value if fact.form is None else converted(value, fact.form)
        except NOT_OF_FORM as error:
            raise self._damaged() from error

    def quantities(self, number: int) -> tuple[Mapping[str, Quantity], Mapping[str, Quantity]]:
        """The quantities in a row, and those that differ if echo counts as speech. Raises DamagedTableError."""
        of_row, with_echo = (Pooled(columns, names[number], number) for columns, names in self._pooled)
        return of_row, with_echo

    def holding(self, calls: Iterable[Path]) -> Iterator[Table]:
        """The rows that hold for these calls, group by group, as they are."""
        numbers = {number for call in calls if (number := self.number(call)) is not None}
        for group, (start, end) in enumerate(pairwise(self._starts)):
            if held := [number - start for number in range(start, end) if number in numbers]:
                with suppress(DamagedTableError):  # then its calls are read anew, the next time
                    yield self._read_columns(group).take(held)

    @cached_property
    def _file(self) -> ParquetFile | None:
        """The file of the table; None if it is missing, cannot be read, or is of another version."""
        if not (self.path / TABLE).is_file() or not has_tables():
            return None
        from pyarrow.parquet import ParquetFile

        with suppress(*_unreadable()):
            file = ParquetFile(self.path / TABLE, page_checksum_verification=True)
            made = file.schema_arrow
            is_ours = (made.metadata or {}).get(b"fdbcore") == _made_by()
            has_all = {*_columns()} <= {*made.names} and {str(kind) for kind in made.types} == {"string"}
            return file if is_ours and has_all else None
        return None

    @cached_property
    def _starts(self) -> list[int]:
        """The number of the first row of each group, and that of all rows."""
        starts = [0]
        for group in range(self._file.num_row_groups if self._file else 0):
            assert self._file is not None
            starts.append(starts[-1] + self._file.metadata.row_group(group).num_rows)
        return starts

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The number of each row, by the name of its call."""
        with suppress(DamagedTableError):
            self._states, self._created = self._read(_STATE), self._read(_CREATED)
            return {name: number for number, name in enumerate(self._read(_NAME))}
        return {}

    @cached_property
    def _pooled(self) -> Sequence[tuple[Mapping[str, Sequence[Quantity | None]], Sequence[Sequence[str]]]]:
        """Of either kind of quantities: the column of each measure, and the names of those that each row has."""
        return [
            (
                {measure: self._distinct(_column(what, measure), stored.from_json) for measure in MEASURES},
                self._distinct(what, list),
            )
            for what in _POOLED
        ]

    def _distinct(self, name: str, from_json: Callable[[Any], T]) -> list[T]:
        """A column of values of which many are the same: those are one object. None where there is none."""
        known: dict[str | None, Any] = {None: None}
        values = []
        for text in self._read(name):
            if text not in known:
                try:
                    known[text] = from_json(json.loads(text))
                except NOT_OF_FORM as error:
                    raise self._damaged() from error
            values.append(known[text])
        return values

    def _read(self, name: str) -> list[Any]:
        """A whole column."""
        return [text for group in range(len(self._starts) - 1) for text in self._read_group(name, group)]

    def _read_group(self, name: str, group: int) -> list[Any]:
        found = self._read_columns(group, [name])
        try:
            values: list[Any] = found.column(0).to_pylist()
        except _unreadable() as error:
            raise self._damaged() from error
        return values

    def _read_columns(self, group: int, names: list[str] | None = None) -> Table:
        """Columns of a group of rows, or all of them. Raises DamagedTableError."""
        assert self._file is not None
        try:
            return self._file.read_row_group(group, names)
        except _unreadable() as error:
            raise self._damaged() from error

    def _damaged(self) -> DamagedTableError:
        self._rows = {}
        self._numbers.clear()
        return DamagedTableError()


def _unreadable() -> tuple[type[Exception], ...]:
    """Errors of reading a damaged file; names in it that are no UTF-8 raise a ValueError."""
    from pyarrow import ArrowException

    return OSError, ValueError, ArrowException


def has_tables() -> bool:
    """True if pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def renew(table: FactsTable, calls: Sequence[Path], made: Iterable[Row | None], more: Sequence[Fact[Any]] = ()) -> None:
    """Write the table anew: the rows that hold for these calls, and those in `made`.

    more: the facts in `made` beside those that every table has. Raises RecordingError if it cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    names = [*_columns(), *(fact.name for fact in more)]
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names], {b"fdbcore": _made_by()})
    rows = (row for row in made if row is not None)
    blocks = iter(lambda: [*islice(rows, ROWS_PER_GROUP)], [])
    tables = chain(table.holding(calls), (pyarrow.Table.from_pylist(block, schema) for block in blocks))
    with writes(table.path / TABLE):
        with (
            whole_file(table.path / TABLE) as file,
            parquet.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as written,
        ):
            waiting: list[Table] = []
            for each in tables:
                waiting.append(each)
                if sum(map(len, waiting)) >= ROWS_PER_GROUP:
                    written.write_table(pyarrow.concat_tables(waiting))
                    waiting.clear()
            if waiting:
                written.write_table(pyarrow.concat_tables(waiting))


def _columns() -> list[str]:
    """The columns that every table has."""
    of_measures = [_column(what, measure) for what in _POOLED for measure in MEASURES]
    return [_NAME, _STATE, _CREATED, *(fact.name for fact in FACTS), *_POOLED, *of_measures]


def _made_by() -> bytes:
    """Everything that decides facts beside the files: the version of fdbcore, and the measures that there are."""
    return _text([SCHEMA, __version__, list(MEASURES)]).encode()
