"""The table of the systems of a run: how the calls of each ended, and its measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fdbcore.analysis.systems import OUTCOMES, SystemCalls
from fdbcore.report import columns
from fdbcore.report.html.values import NO_LINKS, Cell, Links
from fdbcore.report.terminal import laid_out


def screen(found: Sequence[SystemCalls], width: int) -> list[str]:
    """One line per system, at most `width` characters wide; a narrow screen leaves out the last columns."""
    return laid_out([_titles(), *([system.name, *_cells(system)] for system in found)], width)


def section(found: Sequence[SystemCalls], link: Links) -> dict[str, Any]:
    """The values for the table on the page. link: from each count to its moments."""
    rows = [
        (
            system.name,
            [Cell(text, is_linked=True) for text in _cells(system, replace(link, calls=f"system={system.name}"))],
        )
        for system in found
    ]
    return {"columns": _titles(), "rows": rows, "note": columns.note()}


def _titles() -> list[str]:
    return ["system", "calls", *OUTCOMES, *columns.titles(with_intervals=True)]


def _cells(system: SystemCalls, link: Links = NO_LINKS) -> list[str]:
    ended = (f"{system.ended.get(kind, 0):,}" for kind in OUTCOMES)
    return [f"{system.calls:,}", *ended, *columns.cells(system.measures, with_intervals=True, link=link)]
