"""A run as two tables: one row per call, and one row per event."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from fdbcore.analysis.call_verdicts import VERDICTS, CallVerdict
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.survey import CallRow, survey
from fdbcore.types import TICK_MS, TurnEvent, ticks_to_s

OWN_COLUMNS: Final = ("name", "file", "status", "reason", "length_s", "findings", "health", "warnings")
GATED_COLUMNS: Final = ("verdict", "missed")
"""Only if gates were decided: the verdict on the call, and the gates that it fails or is beyond."""
EVENT_COLUMNS: Final = (
    "call", "side", "kind", "start_s", "end_s", "known_s", "fto_ms", "stop_ms", "onset", "outcome", "simultaneous",
    "terminal", "other_spoke", "censored", "suspect",
)  # fmt: skip
EVENT_NUMBERS: Final = ("start_s", "end_s", "known_s", "fto_ms", "stop_ms")
COST_COLUMNS: Final = ("cost_usd", "cost_lacks")
"""Only if any call sent something beyond one's own network: what is known of its cost, and what this lacks: a price
("unpriced"), or counts ("incomplete")."""
SPAN_COLUMNS: Final = ("measured_s", "left_out")
"""Columns of tables in which any call is not measured as a whole."""
WITH_ECHO: Final = "_with_echo"

Row: TypeAlias = dict[str, object]


def call_rows(run: Run) -> list[Row]:
    """The rows of calls.csv for a data frame: one dict per call, in the order of the run, all with the same keys.

    Keys: name, file, status ("done", "failed", ...), reason, length_s (None if it is not scored), findings, health,
    warnings; if anything is left out of any call, measured_s and left_out (the spans in words); if anything of any call
    left one's own network, cost_usd and cost_lacks ("unpriced", "incomplete" or ""); then the columns of the call
    (those of --meta; in a live run system, clip, trial and outcome); then each measure by its id, in its unit (ms for
    latencies, shares from 0 to 1; the median of its items), and ID_n, its number of items. A measure that echo changes
    in any call also has ID_with_echo and ID_with_echo_n. A column from --meta with the name of one of these keys gets
    the prefix meta_.

    Calls that have no scores yet are scored. A call that cannot be read raises no FdbError: its status is "failed",
    with the reason.
    """
    rows = survey(run).rows
    columns = CallColumns.of(rows)
    return [dict.fromkeys(columns.names) | columns.row(row) for row in rows]


def event_rows(run: Run) -> list[Row]:
    """The rows of events.csv: one dict per turn event of the scored calls, in the order in which they became known.

    Keys: call, side ("A" or "B"), kind ("gap", "pause", "overlap_between", ...), start_s, end_s and known_s in seconds
    from the start of the call, fto_ms, stop_ms (how long after the start the other side fell silent), onset, outcome,
    and the truth values simultaneous, terminal, other_spoke, censored and suspect (echo may have made it). A value that
    an event does not have is None. A call that cannot be read has no events, and raises no FdbError.
    """
    rows: list[Row] = []

    def add(call: Call, events: Iterable[tuple[TurnEvent, bool | None]]) -> None:
        rows.extend(event_row(call.name, *each) for each in events)

    survey(run, add)
    return rows


@dataclass(frozen=True, slots=True)
class CallColumns:
    """The columns of a table of calls.

    own: those about the call itself. meta: the name in the table of each column from --meta. changed: the measures that
    echo changes in any call. figures: the columns of measures.
    """

    own: Sequence[str]
    meta: Mapping[str, str]
    changed: frozenset[str]
    figures: Sequence[str]

    @classmethod
    def of(cls, rows: Sequence[CallRow]) -> Self:
        """The columns that these rows need together."""
        measures = list(dict.fromkeys(name for row in rows for name in row.figures))
        changed = frozenset(name for row in rows for name in row.with_echo)
        names = [each for name in measures for each in ((name, f"{name}{WITH_ECHO}") if name in changed else (name,))]
        figures = [column for name in names for column in (name, f"{name}_n")]
        columns = dict.fromkeys(name for row in rows for name in row.call.columns)
        own = (
            *OWN_COLUMNS,
            *(GATED_COLUMNS if any(row.verdict for row in rows) else ()),
            *(SPAN_COLUMNS if any(row.left_out for row in rows) else ()),
            *(COST_COLUMNS if any(row.cost for row in rows) else ()),
        )
        meta = {name: f"meta_{name}" if name in {*own, *figures} else name for name in columns}
        return cls(own, meta, changed, figures)

    @property
    def names(self) -> list[str]:
        """The names of all columns, in their order."""
        return [*self.own, *self.meta.values(), *self.figures]

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return ["length_s", SPAN_COLUMNS[0], COST_COLUMNS[0], *self.figures]

    def row(self, row: CallRow) -> Row:
        """The values of one call by column, without the figures that it does not have."""
        call = row.call
        own = (
            call.name,
            " + ".join(call.files),
            call.status,
            call.reason or "",
            row.length_s,
            "; ".join(finding["text"] for finding in row.findings) or ("" if call.reason else call.unscored),
            row.health and row.health.ids,
            "; ".join(row.warnings),
        )
        known: Row = dict(zip(OWN_COLUMNS, own, strict=True))
        if GATED_COLUMNS[0] in self.own:
            known |= dict(zip(GATED_COLUMNS, _verdict(row.verdict), strict=True))
        if SPAN_COLUMNS[0] in self.own:
            told = row.measured_s, "; ".join(span.brief for span in row.left_out)
            known |= dict(zip(SPAN_COLUMNS, told, strict=True))
        if COST_COLUMNS[0] in self.own and row.cost is not None:
            lacks = {"unpriced": row.cost.unpriced, "incomplete": row.cost.incomplete}
            told = round(row.cost.usd, 6), "; ".join(what for what, is_lacking in lacks.items() if is_lacking)
            known |= dict(zip(COST_COLUMNS, told, strict=True))
        known |= {self.meta[name]: text for name, text in call.columns.items()}
        with_echo = {
            f"{name}{WITH_ECHO}": figure
            for name, figure in {**row.figures, **row.with_echo}.items()
            if name in self.changed
        }
        for name, (value, n) in {**row.figures, **with_echo}.items():
            known |= {name: value, f"{name}_n": n}
        return known


def _verdict(found: CallVerdict | None) -> tuple[str, str]:
    """The values of GATED_COLUMNS."""
    if found is None:
        return VERDICTS["not measured"], ""
    return VERDICTS[found.status], "; ".join(each.gate.name for each in found.beyond)


def event_row(name: str, event: TurnEvent, suspect: bool | None) -> Row:
    """The values of one event of the call `name`, by column."""
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
        "simultaneous": event.simultaneous,
        "terminal": event.terminal,
        "other_spoke": event.other_spoke,
        "censored": event.censored,
        "suspect": suspect,
    }
