"""An agent's own log in the report of its call."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any, Final

from fdbcore.report.format import MACHINE_MS, amount, clock_text
from fdbcore.report.html.values import Cell, Row

LISTED: Final = 20
LABEL_COLUMNS: Final = 17  # of the screen of a call

Values = Mapping[str, Any]


def offset_text(laid: Values) -> str:
    """The offset, how it was found, and how well."""
    offset = laid["offset"]
    ms = amount(1000 * offset["offset_s"], MACHINE_MS, "+")
    if offset["anchor"] is None:
        return f"{ms}, as given"
    reach_ms = 1000 * max(offset["high_s"] - offset["offset_s"], offset["offset_s"] - offset["low_s"])
    by = f"{offset['anchor']} at {offset['matched']} of {offset['onsets']} onsets of B"
    return f"{ms} (+-{amount(max(reach_ms, 1), MACHINE_MS)}) by {by}"


def stages_text(laid: Values) -> str:
    """The median of each stage."""
    medians = zip(laid["stages"], laid["medians_ms"], laid["counts"], strict=True)
    return ", ".join(f"{stage} {amount(median, 'ms')} (n = {n})" for stage, median, n in medians)


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


def section(laid: Values) -> dict[str, Any]:
    """The section of the page."""
    rows = [_row(response) for response in laid["responses"]]
    medians = [Cell(amount(ms, "ms"), is_strong=True) for ms in (laid["latency_ms"], *laid["medians_ms"])]
    return {
        "offset": offset_text(laid),
        "cautions": cautions(laid),
        "columns": ["A's end", "latency", *laid["stages"]],
        "shown": [(Cell("median", is_strong=True), medians), *rows[:LISTED]],
        "rest": rows[LISTED:],
    }


def _row(response: Values) -> Row:
    at = Cell(clock_text(response["a_end_s"]), at_s=response["b_onset_s"])
    return at, [amount(response["latency_ms"], "ms"), *(amount(ms, "ms") for ms in response["stages_ms"])]
