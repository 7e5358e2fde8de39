"""An agent's own log, in the report of its call."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from fdbcore.report.format import MACHINE_MS, amount, clock_text
from fdbcore.report.html.values import Cell, Row

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import AgentLog, LogResponse

LISTED: Final = 20
_WALL_CLOCK_S: Final = 1e9
"""Times above this count from 1970: it was in 2001."""
LABEL_COLUMNS: Final = 17  # of the screen of a call


def offset_text(log: AgentLog) -> str:
    """The offset, its uncertainty, and how it was found."""
    offset = log["offset"]
    ms = _offset_text(offset["offset_s"])
    if offset["low_s"] is None or offset["high_s"] is None:
        return f"{ms}, as given"
    reach_ms = 1000 * max(offset["high_s"] - offset["offset_s"], offset["offset_s"] - offset["low_s"])
    by = f"{offset['anchor']} at {offset['matched']} of {offset['onsets']} onsets of B"
    return f"{ms} (+-{amount(max(reach_ms, 1), MACHINE_MS)}) by {by}"


def _offset_text(offset_s: float) -> str:
    """The offset in ms; of a log that counts from 1970 the time at which the recording begins."""
    if offset_s > -_WALL_CLOCK_S:
        return amount(1000 * offset_s, MACHINE_MS, "+")
    began = datetime.fromtimestamp(-offset_s, UTC)
    return f"0:00 is {began:%Y-%m-%d %H:%M:%S}.{began.microsecond // 1000:03d} UTC in the log"


def stages_text(log: AgentLog) -> str:
    """The median of each stage."""
    medians = zip(log["stages"], log["medians_ms"], log["counts"], strict=True)
    return ", ".join(f"{stage} {amount(median, 'ms')} (n = {n})" for stage, median, n in medians)


def screen_lines(log: AgentLog, columns: int) -> list[str]:
    """The lines about the log for a terminal with this many columns, in the layout of the call's screen."""
    lines = [("agent's log", f"offset {offset_text(log)}"), ("", f"medians: {stages_text(log)}")]
    lines += [("!!", text) for text in cautions(log)]
    indent = " " * LABEL_COLUMNS
    return [fill(f"{label:<{LABEL_COLUMNS}}{text}", columns, subsequent_indent=indent) for label, text in lines]


def cautions(log: AgentLog) -> list[str]:
    """Warnings about an estimated offset, and about marks beyond the recording."""
    found = []
    if (anchor := log["offset"]["anchor"]) is not None:
        found.append(
            f"a constant delay between {anchor} and B's onset counts as a difference of the clocks, so "
            f"{log['stages'][-1]} shows only how that delay varies"
        )
    if log["outside"]:
        found.append(f"{log['outside']:,} marks lie beyond the recording")
    return found


def section(log: AgentLog) -> dict[str, Any]:
    """The values for the section of the page."""
    rows = [_row(response) for response in log["responses"]]
    medians = [Cell(amount(ms, "ms"), is_strong=True) for ms in (log["latency_ms"], *log["medians_ms"])]
    return {
        "offset": offset_text(log),
        "cautions": cautions(log),
        "columns": ["A's end", "latency", *log["stages"]],
        "shown": [(Cell("median", is_strong=True), medians), *rows[:LISTED]],
        "rest": rows[LISTED:],
    }


def _row(response: LogResponse) -> Row:
    at = Cell(clock_text(response["a_end_s"]), at_s=response["b_onset_s"])
    return at, [amount(response["latency_ms"], "ms"), *(amount(ms, "ms") for ms in response["stages_ms"])]
