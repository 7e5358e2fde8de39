"""Agents' own logs in the reports of calls and runs: where the time of answers goes, and how each log was placed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.stages import B_ONSET, Stage, StageTable, split, stage_table
from fdbcore.analysis.survey import Survey
from fdbcore.recording.agent_log import AgentLog, LogClock, SplitAnswer
from fdbcore.recording.form import converted
from fdbcore.report.format import ITEMS_FOR_P90, MACHINE_MS, NONE, amount, clock_text, counted
from fdbcore.report.html.values import Cell, Links, Row
from fdbcore.report.terminal import LABEL_COLUMNS, labelled, laid_out

_WALL_CLOCK_S: Final = 1e9
"""Times above this count from 1970: it was in 2001."""

COLUMNS: Final = ("stage", "median", "p90", "n", "missing")
WHOLE: Final = "A's end to B's onset"
ABOUT: Final = (
    "The stages of one answer add up to the whole; medians do not. Premature responses count here too, unlike "
    "in the response latency. Missing: answers whose log lacks the stage."
)

NAMED: Final = 200
"""So many refused logs are named at most."""


def _clock_lines(log: AgentLog) -> list[str]:
    """The offset, its uncertainty and how it was found; the drift if there is one."""
    clock = converted(log["clock"], LogClock)
    ms = _offset_text(clock.offset_s)
    if clock.low_s is None or clock.high_s is None or clock.spread_s is None:
        return [f"offset {ms}, as given"]
    reach_ms = 1000 * max(clock.high_s - clock.offset_s, clock.offset_s - clock.low_s)
    also = f", as by {', '.join(clock.also)}" if clock.also else ""
    found = [
        f"offset {ms} (+-{amount(max(reach_ms, 1), MACHINE_MS)}) by {clock.anchor} at {clock.matched} of "
        f"{clock.of} {clock.place}{also}, spread {amount(1000 * clock.spread_s, MACHINE_MS)}"
    ]
    if (ppm := clock.drift_ppm) != 0:
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
    told = [("", text) for text in [*_clock_lines(log), *_of_anchor(log, table)]]
    told += [("!!", text) for text in _cautions(log, table)]
    told[0] = "agent's log", told[0][1]
    return _screen(told, table, columns)


def refusal(log: AgentLog) -> str | None:
    """The reason why there are no stage times; None if there are."""
    return None if log["refused"] is None else f"no stage times: {log['refused']}"


_MOST_LACKING: Final = 0.3
"""Of answers, more lack events where a log is placed wrong, and few others do."""


def why_misplaced(log: AgentLog) -> str | None:
    """The reason why a log seems to lie wrong by the clock that was given for it; None if it does not."""
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
    """A caution on what the clock cannot show: a constant delay between its marks and what they were fitted to."""
    clock = log["clock"] and converted(log["clock"], LogClock)
    if clock is None or clock.anchor is None or table is None:
        return []
    first, last = table.stages[0].name, table.stages[-1].name
    if clock.place == "starts of B's turns":
        delay, too_long, too_short = f"{clock.anchor} to {B_ONSET}", first, last
    else:
        delay, too_long, too_short = f"the {clock.place} to {clock.anchor}", last, first
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
        "clock": _clock_lines(log),
        "cautions": [*_of_anchor(log, table), *_cautions(log, table)],
        "table": None,
    }
    if table is None:
        return found
    rows = [_row(answer, table.events) for answer in log["answers"]]
    has_gaps = any(stage.missing for stage in table.stages)
    columns = ["A's end", WHOLE, *(stage.name for stage in table.stages), *(["in no stage"] if has_gaps else [])]
    names = [f"{event}: {log['events'][event]}" for event in table.events if log["events"][event] != event]
    return found | {
        "table": _stages(table, link),
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


def _screen(told: Sequence[tuple[str, str]], table: StageTable | None, columns: int) -> list[str]:
    """Labelled lines, and the table below them if there is one, for a terminal with this many columns."""
    return [*labelled(told, columns), *(_screen_rows(table, columns) if table else [])]


def _screen_rows(table: StageTable, columns: int) -> list[str]:
    rows = [(stage.name, *_figures(stage)) for stage in table.stages]
    lines = laid_out([COLUMNS, *rows, (WHOLE, *_figures(table.answer))], columns - LABEL_COLUMNS)
    return [(" " * LABEL_COLUMNS + line).rstrip() for line in lines]


def _stages(table: StageTable, link: Links) -> dict[str, Any]:
    """The values for the table on a page; each n links the answers behind it."""
    rows: list[Row] = [(stage.name, _linked(stage, link)) for stage in table.stages]
    total = [replace(cell, is_strong=not cell.is_linked) for cell in _linked(table.answer, link)]
    return {"columns": COLUMNS, "rows": [*rows, (Cell(WHOLE, is_strong=True), total)], "about": ABOUT}


def _linked(stage: Stage, link: Links) -> list[Cell]:
    median, p90, n, missing = _figures(stage)
    return [Cell(median), Cell(p90), Cell(link(n, stage.address), is_linked=True), Cell(missing)]


def _figures(stage: Stage) -> list[str]:
    n = len(stage.values_ms)
    p90 = amount(stage.p90_ms, MACHINE_MS) if n >= ITEMS_FOR_P90 else NONE
    return [amount(stage.median_ms, MACHINE_MS), p90, f"{n:,}", f"{stage.missing:,}"]


def run_section(run: Survey, link: Links, page: Callable[[Call], str | None]) -> dict[str, Any] | None:
    """The values for the section of the page; None if no call has a log.

    link: to the lists of moments. page: gives the address of a call's page.
    """
    if not run.logs:
        return None
    table, refused = stage_table(log for _, log in run.logs), _refused(run)
    return {
        "of": _of(run),
        "table": _stages(table, link) if table else None,
        "cautions": _cautions_of_run(run, table),
        "what": f"no stage times for {counted(len(refused), 'call')}",
        "refused": [(call.name, page(call), why) for call, why in refused[:NAMED]],
        "more": len(refused) - NAMED,
    }


def run_screen_lines(run: Survey, columns: int) -> list[str]:
    """The lines for a terminal with this many columns; none if no call has a log."""
    if not run.logs:
        return []
    table, refused = stage_table(log for _, log in run.logs), _refused(run)
    told = [("agents' logs", _of(run)), *(("!!", text) for text in _cautions_of_run(run, table))]
    if refused:
        (first, why), more = refused[0], f" and {len(refused) - 1:,} more" if len(refused) > 1 else ""
        told.append(("!!", f"{first.name}{more}: {why}"))
    return _screen(told, table, columns)


def _of(run: Survey) -> str:
    split = sum(len(log["answers"]) for _, log in run.logs if log["events"])
    return f"{counted(split, 'answer')} of {counted(len(run.logs) - len(_refused(run)), 'call')} split at their events"


def _cautions_of_run(run: Survey, table: StageTable | None) -> list[str]:
    """The cautions of its stages; and the first call whose log seems to lie wrong, and how many more there are."""
    found = [(call.name, why) for call, log in run.logs if (why := why_misplaced(log)) is not None]
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    return [*(table.cautions if table else []), *(f"{name}{more}: {why}" for name, why in found[:1])]


def _refused(run: Survey) -> list[tuple[Call, str]]:
    found = ((call, refusal(log)) for call, log in run.logs)
    return [(call, why) for call, why in found if why is not None]
