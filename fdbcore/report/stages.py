"""The table of stages, which says where the time of answers goes, on terminals and pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fdbcore.analysis.stages import Stage, StageTable
from fdbcore.report.format import ITEMS_FOR_P90, MACHINE_MS, NONE, amount
from fdbcore.report.html.values import Cell, Links, Row
from fdbcore.report.terminal import filled, laid_out

COLUMNS: Final = ("stage", "median", "p90", "n", "missing")
WHOLE: Final = "A's end to B's onset"
INDENT: Final = " " * 17
"""Below the labels of the screens."""
ABOUT: Final = (
    "The stages of one answer add up to the whole; medians do not. Answers that cut A off count here too, unlike in "
    "the answer time. Missing: answers whose log lacks the stage."
)


def labelled(label: str, text: str, columns: int) -> str:
    """A text with its label, wrapped for a terminal with this many columns in the layout of the screens."""
    return filled(f"{label:<{len(INDENT)}}{text}", columns, INDENT)


def screen_rows(table: StageTable, columns: int) -> list[str]:
    """The table as lines for a terminal with this many columns."""
    rows = [(stage.name, *_figures(stage)) for stage in table.stages]
    lines = laid_out([COLUMNS, *rows, (WHOLE, *_figures(table.answer))], columns - len(INDENT))
    return [(INDENT + line).rstrip() for line in lines]


def section(table: StageTable, link: Links) -> dict[str, Any]:
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
