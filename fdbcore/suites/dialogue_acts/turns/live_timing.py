"""The timing measures of the calls in which replies were given, beside the acts of these replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.score import read_quantities, summarise
from fdbcore.measures.reading import Reading
from fdbcore.report.columns import cells, note, titles
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.columns import ColumnGroup, columns, table, wrapped
from fdbcore.suites.dialogue_acts.page.svg import PACKAGE

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import LiveTiming

TITLE: Final = "Timing of the calls"


def live_timing(calls: Sequence[tuple[str, str]]) -> Iterator[LiveTiming]:
    """The measures of each system, pooled over its calls. calls: system, and folder of the recording."""
    for system in dict.fromkeys(name for name, _ in calls):
        own = [read_quantities(Reading(Path(path)))[0] for name, path in calls if name == system]
        scored = [quantities for quantities in own if quantities]
        if scored:
            yield {"system": system, "calls": len(scored), "measures": dict(summarise(scored))}


def details(timing: Sequence[LiveTiming], width: int) -> list[str]:
    """A line for each system, in at most `width` columns."""
    heads = titles()
    found = [cells(each["measures"]) for each in timing]
    groups = [
        ColumnGroup("", ["calls"], [columns("calls")], [[str(each["calls"])] for each in timing]),
        *(ColumnGroup("", [head], [columns(head)], [[row[at]] for row in found]) for at, head in enumerate(heads)),
    ]
    return [TITLE, *table([each["system"] for each in timing], groups, width), *wrapped(note(), width)]


def section(timing: Sequence[LiveTiming]) -> str:
    """The same as a section of the page."""
    rows: list[Row] = [(Cell(each["system"], ""), [str(each["calls"]), *cells(each["measures"])]) for each in timing]
    return render(
        "timing.html",
        PACKAGE,
        title=TITLE,
        rows=rows,
        heads=["system", "calls", *titles()],
        note=note(),
    )
