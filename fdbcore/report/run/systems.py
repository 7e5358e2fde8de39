"""The table of the systems of a run: how the calls of each ended, and its measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fdbcore.analysis.systems import OUTCOMES, SystemCalls
from fdbcore.report import columns
from fdbcore.report.terminal import laid_out


def screen(found: Sequence[SystemCalls], width: int) -> list[str]:
    """One line per system, at most `width` characters wide; a narrow screen leaves out the last columns."""
    return laid_out([_titles(), *map(_cells, found)], width)


def section(found: Sequence[SystemCalls]) -> dict[str, Any]:
    """The values for the table on the page."""
    rows = [(name, cells) for name, *cells in map(_cells, found)]
    return {"columns": _titles(), "rows": rows, "note": columns.note()}


def _titles() -> list[str]:
    return ["system", "calls", *OUTCOMES, *columns.titles(with_intervals=True)]


def _cells(system: SystemCalls) -> list[str]:
    ended = (f"{system.ended.get(kind, 0):,}" for kind in OUTCOMES)
    return [system.name, f"{system.calls:,}", *ended, *columns.cells(system.measures, with_intervals=True)]
