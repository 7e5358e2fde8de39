"""An agent's own log, in the report of its call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from fdbcore.analysis.stages import B_ONSET, StageTable, split, stage_table
from fdbcore.report import stages
from fdbcore.report.format import MACHINE_MS, NONE, amount, clock_text
from fdbcore.report.html.values import Cell, Links, Row

if TYPE_CHECKING:
    from fdbcore.recording.agent_log_types import AgentLog, SplitAnswer

_WALL_CLOCK_S: Final = 1e9
"""Times above this count from 1970: it was in 2001."""

UNSPLIT: Final = "in no stage"


def clock_lines(log: AgentLog) -> list[str]:
    """The offset, its uncertainty and how it was found; the drift if there is one."""
    clock = log["clock"]
    assert clock is not None
    ms = _offset_text(clock["offset_s"])
    if clock["low_s"] is None or clock["high_s"] is None or clock["spread_s"] is None:
        return [f"offset {ms}, as given"]
    reach_ms = 1000 * max(clock["high_s"] - clock["offset_s"], clock["offset_s"] - clock["low_s"])
    also = f", as by {', '.join(clock['also'])}" if clock.get("also") else ""
    found = [
        f"offset {ms} (+-{amount(max(reach_ms, 1), MACHINE_MS)}) by {clock['anchor']} at {clock['matched']} of "
        f"{clock['of']} {clock['place']}{also}, spread {amount(1000 * clock['spread_s'], MACHINE_MS)}"
    ]
    if (ppm := clock["drift_ppm"]) != 0:
        length_s = log["marks"][-1]["time_s"] - log["marks"][0]["time_s"]
        faster = "slow" if ppm > 0 else "fast"
        found.append(
            f"its clock runs {abs(ppm):.0f} ppm {faster}, {abs(ppm) * 1e-3 * length_s:.0f} ms over this call: corrected"
        )
    return found


def _offset_text(offset_s: float) -> str:
    """The offset in ms; of a log that counts from 1970 the time at which the recording begins."""
    if offset_s > -_WALL_CLOCK_S:
        return amount(1000 * offset_s, MACHINE_MS, "+")
    began = datetime.fromtimestamp(-offset_s, UTC)
    return f"0:00 is {began:%Y-%m-%d %H:%M:%S}.{began.microsecond // 1000:03d} UTC in the log"


def screen_lines(log: AgentLog, columns: int) -> list[str]:
    """The lines about the log for a terminal with this many columns, in the layout of the call's screen.

    None for a log that was refused: that is said as an error.
    """
    if log["refused"] is not None:
        return []
    table = stage_table([log])
    told = [("", text) for text in [*clock_lines(log), *_of_anchor(log, table)]]
    told += [("!!", text) for text in _cautions(log, table)]
    told[0] = "agent's log", told[0][1]
    lines = [stages.labelled(label, text, columns) for label, text in told]
    return [*lines, *(stages.screen_rows(table, columns) if table else [])]


def refusal(log: AgentLog) -> str | None:
    """Why there are no stage times; None if there are."""
    return None if log["refused"] is None else f"no stage times: {log['refused']}"


_MOST_LACKING: Final = 0.3
"""Of answers, more lack events where a log is placed wrong, and few others do."""


def why_misplaced(log: AgentLog) -> str | None:
    """Why a log seems to lie wrong by the clock that was given for it; None if it does not."""
    table, answers = stage_table([log]), len(log["answers"])
    lacking = max((stage.missing for stage in table.stages), default=0) if table else 0
    if log["given_offset_ms"] is None or lacking <= _MOST_LACKING * answers:
        return None
    return f"{lacking:,} of {answers:,} answers lack events of the log: is the clock right that was given?"


def _cautions(log: AgentLog, table: StageTable | None) -> list[str]:
    """Warnings about stages with negative medians, and about marks beyond the recording."""
    found = table.cautions if table else ["no answer has an event of the log"]
    if (misplaced := why_misplaced(log)) is not None:
        found.append(misplaced)
    if log["outside"]:
        found.append(f"{log['outside']:,} marks lie beyond the recording")
    if count := log.get("left_out_count", 0):
        found.append(f"{count:,} {'entries' if count > 1 else 'entry'} of the log left out: {log['left_out'][0]}")
    return found


def _of_anchor(log: AgentLog, table: StageTable | None) -> list[str]:
    """What the clock cannot show: a constant delay between its marks and what they were fitted to."""
    clock = log["clock"]
    if clock is None or clock["anchor"] is None or table is None:
        return []
    first, last = table.stages[0].name, table.stages[-1].name
    if clock["place"] == "starts of B's turns":
        delay, too_long, too_short = f"{clock['anchor']} to {B_ONSET}", first, last
    else:
        delay, too_long, too_short = f"the {clock['place']} to {clock['anchor']}", last, first
    return [
        f"a constant delay from {delay} looks like a difference of the clocks, so {too_long} is too long by it, and "
        f"{too_short} too short"
    ]


def section(log: AgentLog, link: Links) -> dict[str, Any]:
    """The values for the section of the page. link: to the lists of moments."""
    if log["refused"] is not None:
        return {"refusal": refusal(log)}
    table = stage_table([log])
    found: dict[str, Any] = {
        "refusal": None,
        "clock": clock_lines(log),
        "cautions": [*_of_anchor(log, table), *_cautions(log, table)],
        "table": None,
    }
    if table is None:
        return found
    rows = [_row(answer, table.events) for answer in log["answers"]]
    has_gaps = any(stage.missing for stage in table.stages)
    columns = ["A's end", stages.WHOLE, *(stage.name for stage in table.stages), *([UNSPLIT] if has_gaps else [])]
    names = [f"{event}: {log['events'][event]}" for event in table.events if log["events"][event] != event]
    return found | {
        "table": stages.section(table, link),
        "names": "; ".join(names),
        "columns": columns,
        "rows": [(label, cells[: len(columns) - 1]) for label, cells in rows],
    }


def _row(answer: SplitAnswer, events: Sequence[str]) -> Row:
    at = Cell(clock_text(answer["a_end_s"]), at_s=min(answer["a_end_s"], answer["b_onset_s"]))
    times = split(answer, events)
    rest_ms = answer["answer_ms"] - sum(ms for ms in times if ms is not None)
    cells = [amount(answer["answer_ms"], MACHINE_MS), *(amount(ms, MACHINE_MS) for ms in times)]
    return at, [*cells, NONE if None not in times else amount(rest_ms, MACHINE_MS)]
