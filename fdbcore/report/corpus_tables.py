"""The tables of a run: a row a call, and a row an event; CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from fdbcore.corpus import Call
from fdbcore.errors import RecordingError
from fdbcore.report.survey import CallRow
from fdbcore.types import TICK_MS, TurnEvent, ticks_to_s
from fdbcore.whole import whole_file

CALLS, EVENTS = "calls.csv", "events.csv"
OWN_COLUMNS: Final = ("name", "file", "status", "reason", "length_s", "findings", "health", "warnings")
EVENT_COLUMNS: Final = (
    "call", "side", "kind", "start_s", "end_s", "known_s", "fto_ms", "stop_ms", "onset", "outcome", "simultaneous",
    "terminal", "other_spoke", "censored", "suspect",
)  # fmt: skip
WITH_ECHO: Final = "_with_echo"
_NUMBERS: Final = ("start_s", "end_s", "known_s", "fto_ms", "stop_ms")

Row = Mapping[str, object]


def write_calls(path: Path, rows: Sequence[CallRow]) -> None:
    """Write calls.csv into the run's folder `path`: a row a call, with its columns, and of each measure the headline
    and its n. RecordingError if it cannot be written.

    A measure that echo changes in any call has two columns more, NAME_with_echo and its n. A column of
    the user's that is called like one of ours is called meta_ that.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row.call.columns))
    measures = list(dict.fromkeys(name for row in rows for name in row.figures))
    changed = {name for row in rows for name in row.with_echo}
    told = [each for name in measures for each in ((name, f"{name}{WITH_ECHO}") if name in changed else (name,))]
    figures = [column for name in told for column in (name, f"{name}_n")]
    theirs = {name: f"meta_{name}" if name in {*OWN_COLUMNS, *figures} else name for name in columns}
    header = [*OWN_COLUMNS, *theirs.values(), *figures]
    with _table(path / CALLS, header) as write:
        write(_call_row(row, theirs, changed) for row in rows)
    _write_parquet(path / CALLS, dict.fromkeys(["length_s", *figures], "double"), header)


def _call_row(row: CallRow, theirs: Mapping[str, str], changed: Container[str]) -> Row:
    call = row.call
    own = (
        call.name,
        " + ".join(call.files),
        call.status,
        call.reason or "",
        row.length_s,
        "; ".join(finding.text for finding in row.findings) or ("" if call.reason else call.unscored),
        row.health and row.health.ids,
        "; ".join(row.warnings),
    )
    known: dict[str, object] = dict(zip(OWN_COLUMNS, own, strict=True))
    known |= {theirs[name]: text for name, text in call.columns.items()}
    beside = {name: of for name, of in {**row.figures, **row.with_echo}.items() if name in changed}
    for name, (value, n) in [*row.figures.items(), *((f"{name}{WITH_ECHO}", of) for name, of in beside.items())]:
        known |= {name: value, f"{name}_n": n}
    return known


class EventTable:
    """Writes events.csv into the run's folder `path`, call by call; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path / EVENTS
        self._opened = _table(self._path, EVENT_COLUMNS)

    def __enter__(self) -> EventTable:
        self._write = self._opened.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401
        self._opened.__exit__(*error)
        if error[0] is None:
            _write_parquet(self._path, dict.fromkeys(_NUMBERS, "double"), EVENT_COLUMNS)

    def add(self, call: Call, events: Iterable[tuple[TurnEvent, bool | None]]) -> None:
        """The events of a call, in the order in which they became known, each with whether it is suspect."""
        self._write(_event_row(call.name, *each) for each in events)


def _event_row(name: str, event: TurnEvent, suspect: bool | None) -> Row:
    return {
        "call": name,
        "side": event.side,
        "kind": event.kind,
        "start_s": ticks_to_s(event.start_tick),
        "end_s": None if event.end_tick is None else ticks_to_s(event.end_tick),
        "known_s": ticks_to_s(event.known_tick),
        "fto_ms": None if event.fto_ticks is None else event.fto_ticks * TICK_MS,
        "stop_ms": None if event.stop_ticks is None else event.stop_ticks * TICK_MS,
        "onset": event.onset,
        "outcome": event.outcome,
        "simultaneous": _flag(event.simultaneous),
        "terminal": _flag(event.terminal),
        "other_spoke": _flag(event.other_spoke),
        "censored": _flag(event.censored),
        "suspect": _flag(suspect),
    }


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


@contextmanager
def _table(path: Path, header: Sequence[str]) -> Iterator[Any]:
    """A function that writes rows; the file takes its name when all are written."""
    try:
        with whole_file(path) as file:
            text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            writer = csv.DictWriter(text, header, lineterminator="\r\n")
            writer.writeheader()
            yield writer.writerows
            text.detach()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error


def _write_parquet(path: Path, types: Mapping[str, str], header: Sequence[str]) -> None:
    """The same table as Parquet: numbers as `types` says, everything else as text; nothing without pyarrow."""
    if importlib.util.find_spec("pyarrow") is None:
        return
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    schema = pyarrow.schema([(name, types.get(name, "string")) for name in header])
    convert = arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=True, null_values=[""])
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with (
        whole_file(path.with_suffix(".parquet")) as file,
        arrow_csv.open_csv(path, parse_options=parse, convert_options=convert) as batches,
        parquet.ParquetWriter(file, schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
