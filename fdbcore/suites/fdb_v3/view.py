"""One recording on the pages: who spoke when, the calls with their results, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from fdbcore.recording.form import converted
from fdbcore.report.html.templates import render
from fdbcore.report.svg import text as svg
from fdbcore.suites.fdb_v3.document import V3Call, V3Item
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry
from fdbcore.suites.fdb_v3.terms import FAILURES
from fdbcore.types import TICKS_PER_S
from fdbcore.types.remarks import CallRemarks, Remark, RemarkRow
from fdbcore.types.scorecard import ScoredCase

PACKAGE: Final = "fdbcore.suites.fdb_v3"
LEFT: Final = 64
WIDTH: Final = 760
ROW: Final = 22
BAR: Final = 14
AFTER_S: Final = 2.0
"""The axis ends so long after the last that happened: most of a recording is room tone."""
STEPS_S: Final = (1, 2, 5, 10, 20, 60, 300)
MOST_TICKS: Final = 12
LEAST_BAR: Final = 3.0
TICK_ROOM: Final = 14
"""A label of the axis that is nearer to the right edge would be cut."""
CHARACTER: Final = 6.4
"""About the width of a character of a call's name."""


def picture(case: ScoredCase) -> str:
    """The user's speech, the system's, and the calls on one axis of time; then what was expected, said and left."""
    item: V3Item = converted(case.item, V3Item)
    return render("case.html", PACKAGE, drawn=timeline(item), told=told(item), facts=list(_facts(item)))


def remarks(case: ScoredCase) -> CallRemarks:
    """The calls as remarks on spans of the call, and what became of it as facts."""
    item: V3Item = converted(case.item, V3Item)
    calls = [_remark(call) for call in item.calls if call.start_s is not None]
    about = "calls of tools, from their arguments to their results; hatched: without one"
    return CallRemarks(list(_facts(item)), [RemarkRow("calls", about, calls)] if calls else [])


def _remark(call: V3Call) -> Remark:
    start = round((call.start_s or 0.0) * TICKS_PER_S)
    end = start if call.end_s is None else round(call.end_s * TICKS_PER_S)
    lines = [f"{call.status}: {_json(call.result if call.error is None else call.error)}"]
    return Remark(start, end, call.name, as_text(call.name, call.arguments), lines, call.status != "ok")


def timeline(item: V3Item) -> str:
    """The drawing, as SVG that follows the style of the page."""
    calls = [call for call in item.calls if call.start_s is not None]
    ends = [end for _, end in (*item.user_speech, *item.system_speech)]
    ends += [call.end_s or call.start_s or 0.0 for call in calls]
    length_s = max([*ends, item.user_end_s or 0.0]) + AFTER_S
    scale = (WIDTH - LEFT) / length_s

    def x(seconds: float) -> float:
        return LEFT + max(seconds, 0.0) * scale

    height = ROW * (2 + len(calls))
    parts = [_axis(length_s, x(0), scale, height)]
    for row, (party, spans) in enumerate((("user", item.user_speech), ("system", item.system_speech))):
        parts.append(_label(party, row))
        parts += [_bar(party, x(start), x(end), row) for start, end in spans]
    for row, call in enumerate(calls, 2):
        start, end = x(call.start_s or 0.0), x(call.end_s or call.start_s or 0.0)
        parts.append(_label("call" if row == 2 else "", row))
        parts.append(_bar("call" if call.status == "ok" else "call failed", start, end, row))
        name = call.name if call.status == "ok" else f"{call.name}: {call.status}"
        parts.append(_named(name, start, max(end, start + LEAST_BAR), row))
    if item.user_end_s is not None:
        parts.append(f'<path class="end" d="M{svg.number(x(item.user_end_s))} 0V{height}"/>')
    return svg.drawing("".join(parts), WIDTH, height + ROW, told(item), "v3-time")


def _axis(length_s: float, left: float, scale: float, height: float) -> str:
    step = next((each for each in STEPS_S if length_s / each <= MOST_TICKS), STEPS_S[-1])
    found = []
    for second in range(0, int(length_s) + 1, step):
        at = svg.number(left + second * scale)
        found.append(f'<path class="grid" d="M{at} 0V{height}"/>')
        if left + second * scale < WIDTH - TICK_ROOM:
            found.append(f'<text class="tick" x="{at}" y="{height + 15}">{second} s</text>')
    return "".join(found)


def _label(name: str, row: int) -> str:
    return f'<text class="row" x="{LEFT - 8}" y="{row * ROW + 16}">{svg.xml(name)}</text>' if name else ""


def _bar(css: str, start: float, end: float, row: int) -> str:
    width = svg.number(max(end - start, LEAST_BAR))
    top = row * ROW + (ROW - BAR) / 2
    return f'<rect class="{css}" x="{svg.number(start)}" y="{svg.number(top)}" width="{width}" height="{BAR}" rx="2"/>'


def _named(name: str, start: float, end: float, row: int) -> str:
    """The name of a call beside its bar: to the right, or to the left where there is no room."""
    fits = end + len(name) * CHARACTER < WIDTH
    css, at = ("name", end + 5) if fits else ("name before", start - 5)
    return f'<text class="{css}" x="{svg.number(at)}" y="{row * ROW + 16}">{svg.xml(name)}</text>'


def told(item: V3Item) -> str:
    """The drawing in words."""
    end = item.user_end_s
    parts = ["The user's end is not known." if end is None else f"The user has finished at {end:.1f} s."]
    first = next((start for start, stop in item.system_speech if end is None or stop > end), None)
    parts.append("The system says nothing then." if first is None else f"The system speaks from {first:.1f} s on.")
    for call in item.calls:
        if call.start_s is not None:
            until = "" if call.end_s is None else f" to {call.end_s:.1f} s"
            parts.append(f"{call.name}: {call.start_s:.1f} s{until}, {call.status}.")
    return " ".join(parts)


def _facts(item: V3Item) -> Iterator[tuple[str, str]]:
    failure = item.failure
    yield "outcome", "passed" if failure is None else f"{FAILURES[failure][0]}: {FAILURES[failure][1]}"
    yield "user", item.script
    if item.transcript is not None:
        yield "system", item.transcript or "nothing"
    yield "called", _calls(item.calls)
    yield "expected", _expected(item.repaired)
    if item.repairs:
        yield "as released", _expected(item.as_released)
        yield "repaired", "; ".join(item.repairs)
    if item.state:
        yield "state after", _json(item.state)


def _calls(calls: Iterable[V3Call]) -> str:
    return "; ".join(as_text(call.name, call.arguments) for call in calls) or "nothing"


def _expected(calls: Iterable[ExpectedCallEntry]) -> str:
    found = []
    for call in calls:
        note = f" ({call.note})" if call.note else ""
        found.append(f"{as_text(call.function, call.args)}{note}")
    return "; ".join(found) or "nothing"


def as_text(function: str, args: Any) -> str:  # noqa: ANN401
    """A call as one would write it."""
    if not isinstance(args, dict):
        return f"{function}({_json(args)})"
    return f"{function}({', '.join(f'{name}={_json(value)}' for name, value in args.items())})"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
