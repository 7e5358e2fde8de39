"""Groups of calls on a page: a table with intervals, a line over dates or versions, and every two groups compared."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.analysis.breakdowns import Breakdown, breakdowns, repeated
from fdbcore.analysis.groups import MOST_GROUPS, NO_VALUE, StatedGroup
from fdbcore.analysis.matching import GroupDifference
from fdbcore.analysis.order import positions
from fdbcore.analysis.summaries import Summary
from fdbcore.analysis.survey import Survey
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.report.comparison.page import compared_cells, rows_of_two
from fdbcore.report.format import NONE, amount, brief, counted, headline, limits, long_unit, scaled
from fdbcore.report.groups import phrases
from fdbcore.report.html.values import Cell, Shown
from fdbcore.report.svg.charts import Chart, TrendPoint, trend

LEAST_POINTS: Final = 3
"""Fewer points make no line."""


def groups_of_calls(run: Survey, path: str) -> dict[str, Any] | None:
    """The values for the part of index.html about groups; None if no column groups the calls. path: of the run, for the
    command that it names."""
    found = breakdowns(run)
    if not found:
        return None
    shared = repeated(run)
    example = f", such as {shared}" if shared else ""
    note = (
        "Intervals and p values count each call by itself; p is corrected for all comparisons of a column (Holm). "
        "Calls that share a caller or a scenario resemble each other, and then both are too sure. To count such calls "
        f"together, name that column{example}:"
    )
    quoted = shlex.quote(path)
    command = f"fdbcore score {quoted} --by {shlex.quote(found[0].column)} --cluster {shlex.quote(shared or 'COLUMN')}"
    return {"note": note, "command": command, "columns": [section(each, quoted) for each in found]}


def section(found: Breakdown, run: str) -> dict[str, Any]:
    """The values for the macro `groups.breakdown`. run: its path, for a command."""
    names = [point["name"] for point in found.points]
    known = [name for name in names if name != NO_VALUE]
    places = dict(zip(known, positions(known) or [], strict=False))
    return {
        "column": found.column,
        "groups": ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else ""),
        "charts": charts(found.points, places),
        "table": table(found.points, found.column),
        "pairs": pairs(found),
        "command": f"fdbcore score {run} --by {shlex.quote(found.column)}" if len(names) <= MOST_GROUPS else None,
    }


def table(points: Sequence[StatedGroup], column: str) -> dict[str, Any]:
    """A row for each group: its calls, and its headline measures with their intervals."""
    shown = _measured(points)
    return {
        "columns": [column, "calls", *(f"{headlines()[name]} {_unit(name)}".strip() for name in shown)],
        "rows": [(point["name"], [f"{point['calls']:,}", *(_cell(point, name) for name in shown)]) for point in points],
    }


def _measured(points: Sequence[StatedGroup]) -> list[str]:
    """The headline measures of which some group has any item."""
    return [name for name in headlines() if any(name in p["measures"] and p["measures"][name]["n"] for p in points)]


def _cell(point: StatedGroup, name: str) -> Shown:
    summary = point["measures"].get(name)
    if summary is None or headline(summary) is None:
        return NONE
    unit = MEASURES[name].shown_in
    return Cell(brief(headline(summary), unit), limits(summary["ci95"], unit))


def _unit(measure: str) -> str:
    return long_unit(MEASURES[measure].shown_in)


def charts(points: Sequence[StatedGroup], places: Mapping[str, float], least: int = LEAST_POINTS) -> list[Chart]:
    """A line for each headline measure; none if fewer than `least` groups have a place.

    places: where groups stand among dates or versions, by their names.
    """
    placed = [point for point in points if point["name"] in places]
    return [_chart(placed, places, name) for name in _measured(placed)] if len(placed) >= least else []


def _chart(points: Sequence[StatedGroup], places: Mapping[str, float], name: str) -> Chart:
    drawn = [_drawn(each, places, each["measures"].get(name), MEASURES[name].shown_in) for each in points]
    label = headlines()[name]
    return trend(f"{label[:1].upper()}{label[1:]}", f"{phrases.unit_text(name)}, 95 % intervals", drawn)


def _drawn(point: StatedGroup, places: Mapping[str, float], summary: Summary | None, unit: str) -> TrendPoint:
    name, value, calls = point["name"], headline(summary), counted(point["calls"], "call")
    interval = summary["ci95"] if summary else None
    figure = " ".join(filter(None, [amount(value, unit), limits(interval, unit)]))
    return TrendPoint(
        name,
        places[name],
        None if value is None else scaled(value, unit),
        (scaled(interval[0], unit), scaled(interval[1], unit)) if interval and value is not None else None,
        calls,
        f"{name}: {figure}, {calls}",
    )


def pairs(found: Breakdown) -> list[dict[str, Any]]:
    """Every two groups: a sentence that says what differs, and a table."""
    by_name = {point["name"]: point for point in found.points}
    listed = dict.fromkeys((each["a"], each["b"]) for each in found.differences)
    return [
        pair(by_name[a], by_name[b], [each for each in found.differences if (each["a"], each["b"]) == (a, b)])
        for a, b in listed
    ]


def pair(a: StatedGroup, b: StatedGroup, differences: Sequence[GroupDifference]) -> dict[str, Any]:
    """Two groups: a sentence that says what differs, and a row for each measure."""
    shown = [each for each in differences if each["value"] is not None]
    rows = []
    for each in shown:
        name = each["measure"]
        of_both = a["measures"].get(name), b["measures"].get(name)
        rows.append((Cell(headlines()[name], _unit(name)), compared_cells(name, each, each["verdict"], of_both)))
    names = a["name"], b["name"]
    return {"a": names[0], "b": names[1], "verdict": phrases.verdicts(shown), **rows_of_two(names, rows)}
