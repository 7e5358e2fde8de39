"""Writes the tables of a run, one row per call and one row per event: CSV, and Parquet if pyarrow is installed."""

import csv
import importlib.util
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Final

from fdbcore.analysis.call_verdicts import GatedRun
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.rows import EVENT_COLUMNS, EVENT_NUMBERS, CallColumns, Row, event_row
from fdbcore.analysis.stages import answer_columns, answer_row, stage_table
from fdbcore.analysis.survey import CallRow, Survey, survey
from fdbcore.errors import writes
from fdbcore.runtime.redaction import visible
from fdbcore.runtime.whole_files import whole_file
from fdbcore.sources.text_cells import marked
from fdbcore.types import TurnEvent

CALLS, EVENTS, STAGES = "calls.csv", "events.csv", "stages.csv"
ROWS_AT_ONCE: Final = 1_000
ROWS_PER_GROUP: Final = 10_000
"""About this many rows of a Parquet file are kept in memory until they are written."""


def write_tables(
    run: Run, on_call: Callable[[int, int], None] = lambda number, calls: None, gated: GatedRun | None = None
) -> Survey:
    """Write calls.csv, events.csv and stages.csv into the folder of a run; returns the survey they are made from.

    on_call: called with the index of each call that was read, and the number of calls. gated: what gates say of the
    run. Raises RecordingError if a table cannot be written.
    """
    with _table(run.path / EVENTS, EVENT_COLUMNS, EVENT_NUMBERS) as write:

        def add(call: Call, events: Iterable[tuple[TurnEvent, bool | None]]) -> None:
            write(event_row(call.name, *each) for each in events)

        found = survey(run, add, lambda number: on_call(number, len(run.calls)), gated)
    write_calls(run.path, found.rows)
    _write_stages(run.path, found)
    return found


def write_calls(path: Path, rows: Sequence[CallRow]) -> None:
    """Write calls.csv into the folder of a run; `fdbcore.analysis.rows` defines its rows and columns."""
    columns = CallColumns.of(rows)
    with _table(path / CALLS, columns.names, columns.numbers) as write:
        write(map(columns.row, rows))


def _write_stages(path: Path, found: Survey) -> None:
    """Write the answers that agents' logs split, a row each; without any there is no such table."""
    table = stage_table(log for _, log in found.logs)
    if table is None:
        for suffix in (".csv", ".parquet"):
            (path / STAGES).with_suffix(suffix).unlink(missing_ok=True)
        return
    columns = answer_columns(table.events)
    with _table(path / STAGES, columns, columns[1:]) as write:
        for call, log in found.logs:
            write(answer_row(call.name, answer, table.events) for answer in log["answers"] if log["events"])


@contextmanager
def _table(path: Path, header: Sequence[str], numbers: Collection[str]) -> Iterator[Callable[[Iterable[Row]], None]]:
    """A function that writes rows as CSV and as Parquet. The files get their names once all rows are written."""
    with writes(path):
        with whole_file(path) as file, _parquet(path.with_suffix(".parquet"), header, numbers) as write_parquet:
            text = TextIOWrapper(file, encoding="utf-8", newline="")
            table = csv.writer(text, lineterminator="\r\n")
            table.writerow(map(marked, header))

            def write(rows: Iterable[Row]) -> None:
                left = iter(rows)
                while block := list(islice(left, ROWS_AT_ONCE)):
                    cells = [[_cell(row.get(name)) for name in header] for row in block]
                    table.writerows(map(marked, row) for row in cells)
                    write_parquet(cells)

            yield write
            text.detach()


def _cell(value: object) -> object:
    """A value as both files hold it: truth values as words, empty text as None."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value == "" else value


@contextmanager
def _parquet(
    path: Path, header: Sequence[str], numbers: Collection[str]
) -> Iterator[Callable[[Sequence[Sequence[object]]], None]]:
    """A function that writes rows of cells, in the order of `header`, with `numbers` as floats and all else as
    `visible` text. It does nothing without pyarrow.
    """
    if importlib.util.find_spec("pyarrow") is None:
        yield lambda rows: None
        return
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([(visible(name), "double" if name in numbers else "string") for name in header])
    rows: list[Sequence[object]] = []
    with whole_file(path) as file, parquet.ParquetWriter(file, schema) as table:

        def write(more: Sequence[Sequence[object]], least: int = ROWS_PER_GROUP) -> None:
            rows.extend([visible(cell) if isinstance(cell, str) else cell for cell in row] for row in more)
            if len(rows) >= least:
                columns = zip(*rows, strict=True) if rows else ([] for _ in header)
                arrays = [pyarrow.array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
                table.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
                rows.clear()

        yield write
        write([], 0)
