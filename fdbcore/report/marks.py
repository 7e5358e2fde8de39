"""An agent's own log in the report of its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any, Final

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.marks import Mark, Offset, estimate_offset, lay
from fdbcore.recording import MARKS, Recording, read_json, write_json
from fdbcore.report.tables import table
from fdbcore.report.words import NONE, clock_text

LISTED: Final = 20
LABEL_COLUMNS: Final = 17  # of the screen of a call

Values = Mapping[str, Any]


def lay_marks(recording: Recording, marks: Sequence[Mark], offset_ms: float | None) -> dict[str, Any]:
    """Keep the marks with the recording, on its timeline, for its report. offset_ms: to add, else estimated.

    InputError where it cannot be told.
    """
    dialogue = Dialogue.of(recording)
    offset = estimate_offset(marks, dialogue) if offset_ms is None else Offset(offset_ms / 1000)
    laid = lay(marks, dialogue, offset)
    write_json(recording.path / MARKS, laid)
    return laid


def marks_of(recording: Recording) -> dict[str, Any] | None:
    """What `lay_marks` kept; None if nothing was."""
    path = recording.path / MARKS
    return read_json(path) if path.is_file() else None


def offset_text(laid: Values) -> str:
    """The offset, how it was found, and how well."""
    offset = laid["offset"]
    ms = f"{1000 * offset['offset_s']:+,.0f} ms"
    if offset["anchor"] is None:
        return f"{ms}, as given"
    reach_ms = 1000 * max(offset["high_s"] - offset["offset_s"], offset["offset_s"] - offset["low_s"])
    by = f"{offset['anchor']} at {offset['matched']} of {offset['onsets']} onsets of B"
    return f"{ms} (+-{max(reach_ms, 1):.0f} ms) by {by}"


def stages_text(laid: Values) -> str:
    """The median of each stage."""
    medians = zip(laid["stages"], laid["medians_ms"], laid["counts"], strict=True)
    return ", ".join(f"{stage} {_ms(median)} (n = {n})" for stage, median, n in medians)


def screen_lines(laid: Values, columns: int) -> list[str]:
    """The log for a terminal of so many columns, as the screen of its call has it."""
    told = [("agent's log", f"offset {offset_text(laid)}"), ("", f"medians: {stages_text(laid)}")]
    told += [("!!", text) for text in cautions(laid)]
    indent = " " * LABEL_COLUMNS
    return [fill(f"{label:<{LABEL_COLUMNS}}{text}", columns, subsequent_indent=indent) for label, text in told]


def cautions(laid: Values) -> list[str]:
    """What the offset leaves open."""
    found = []
    if (anchor := laid["offset"]["anchor"]) is not None:
        found.append(
            f"what constantly lies between {anchor} and B's onset counts as difference of the clocks: "
            f"{laid['stages'][-1]} shows only how it varies"
        )
    if laid["outside"]:
        found.append(f"{laid['outside']:,} marks lie beyond the recording")
    return found


def section(laid: Values | None) -> str:
    """The section of the page; "" without a log."""
    if laid is None:
        return ""
    notes = "".join(f"<p class='note'>{escape(text[:1].upper() + text[1:])}.</p>" for text in cautions(laid))
    rows = [_row(response) for response in laid["responses"]]
    columns = ["A's end", "latency", *(escape(stage) for stage in laid["stages"])]
    medians = (
        "<b>median</b>",
        [f"<b>{_ms(laid['latency_ms'])}</b>", *(f"<b>{_ms(median)}</b>" for median in laid["medians_ms"])],
    )
    shown, rest = rows[:LISTED], rows[LISTED:]
    more = f"<details><summary>{len(rest)} more</summary>{table(columns, rest)}</details>" if rest else ""
    return (
        '<section aria-labelledby="marks-title"><h2 id="marks-title">The agent\'s log</h2>'
        f"<p>Each answer, split at the marks of the agent's own log. Offset of its clock: {escape(offset_text(laid))}."
        f"</p>{notes}{table(columns, [medians, *shown])}{more}</section>"
    )


def _row(response: Values) -> tuple[str, list[str]]:
    at = f'<a href="#t={response["b_onset_s"]:g}">{clock_text(response["a_end_s"])}</a>'
    return at, [_ms(response["latency_ms"]), *(_ms(ms) for ms in response["stages_ms"])]


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{round(value)} ms"
