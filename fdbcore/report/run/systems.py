"""The table of the systems of a run: how the calls of each ended, and its measures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fdbcore.analysis.systems import OUTCOMES, SystemCalls
from fdbcore.report import columns
from fdbcore.report.format import NONE, cost_in_short
from fdbcore.report.html.values import NO_LINKS, Cell, Links
from fdbcore.report.terminal import laid_out


def screen(found: Sequence[SystemCalls], width: int) -> list[str]:
    """One line per system, at most `width` characters wide; on a narrow screen the last columns stand below."""
    with_cost = _cost_anything(found)
    return laid_out([_titles(with_cost), *([system.name, *_cells(system, with_cost)] for system in found)], width)


def section(found: Sequence[SystemCalls], link: Links) -> dict[str, Any]:
    """The values for the table on the page. link: from each count to its moments."""
    with_cost = _cost_anything(found)
    rows = []
    for system in found:
        cells = _cells(system, with_cost, replace(link, calls=f"system={system.name}"))
        rows.append((system.name, [Cell(text, is_linked=True) for text in cells]))
    return {"columns": _titles(with_cost), "rows": rows}


def _cost_anything(found: Sequence[SystemCalls]) -> bool:
    return any(system.cost is not None for system in found)


def _titles(with_cost: bool) -> list[str]:
    return ["system", "calls", *OUTCOMES, *columns.titles(with_intervals=True), *(["cost"] if with_cost else [])]


def _cells(system: SystemCalls, with_cost: bool, link: Links = NO_LINKS) -> list[str]:
    ended = (f"{system.ended.get(kind, 0):,}" for kind in OUTCOMES)
    cost = [cost_in_short(system.cost.to_json()) if system.cost else NONE] if with_cost else []
    return [f"{system.calls:,}", *ended, *columns.cells(system.measures, with_intervals=True, link=link), *cost]
