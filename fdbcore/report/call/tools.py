"""The tool calls of a live call, in its report."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from fdbcore.measures.live_record import HeldTools
from fdbcore.measures.tool_calls import HeldToolCall
from fdbcore.report.call.document import Document
from fdbcore.report.format import amount, clock_text, counted
from fdbcore.report.html.values import Cell, Row
from fdbcore.types import ticks_to_s

LISTED: Final = 20
COLUMNS: Final = ("tool", "at", "outcome", "latency drawn", "result after")
_MOST_CHARACTERS: Final = 200


def tools_of(content: Document) -> HeldTools | None:
    """The tools that the system had, and its calls; None if it had none."""
    held = content["held"]
    return held.get("tools") if held else None


def tools_text(content: Document) -> str:
    """The number of calls, and how they ended: "3 calls: 2 ok, 1 timeout"; empty if the system had no tools."""
    tools = tools_of(content)
    return _counts(tools["calls"]) if tools else ""


def section(content: Document) -> dict[str, Any] | None:
    """The values for the section of the page; None if the system had no tools."""
    tools = tools_of(content)
    if tools is None:
        return None
    rows = [_row(call) for call in tools["calls"]]
    return {"about": _counts(tools["calls"]), "columns": COLUMNS, "shown": rows[:LISTED], "rest": rows[LISTED:]}


def _counts(calls: Sequence[HeldToolCall]) -> str:
    ends = Counter(call["status"] for call in calls)
    text = counted(len(calls), "call")
    return f"{text}: {', '.join(f'{n} {status}' for status, n in ends.most_common())}" if ends else text


def _row(call: HeldToolCall) -> Row:
    begun_s = ticks_to_s(call["begun_tick"])
    complete, end = call["complete_tick"], call["end_tick"]
    took = "" if complete is None or end is None else amount(ticks_to_s(end - complete), "s")
    given = [] if complete is None else [_shown(call["arguments"])]
    if "result" in call or "error" in call:
        given.append(f"→ {call['error'] if 'error' in call else _shown(call['result'])}")
    return Cell(call["name"], is_code=True, further=given), [
        Cell(clock_text(begun_s), at_s=begun_s),
        call["status"],
        "" if call["latency_ms"] is None else amount(call["latency_ms"], "ms"),
        took,
    ]


def _shown(value: Any) -> str:  # noqa: ANN401
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
