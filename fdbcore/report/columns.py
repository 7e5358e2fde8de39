"""The columns of measures in tables of calls and systems, as the measures are registered; shared by all such tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.measures.catalogue import MEASURES, columns
from fdbcore.report.format import amount, headline, limits

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures, Summary


def titles(with_intervals: bool = False) -> list[str]:
    """The titles on a terminal. with_intervals: that of medians stands beside them."""
    return [title for name, column in columns().items() for title in [column.short, *_beside(name, with_intervals)]]


def cells(measures: Measures, with_intervals: bool = False) -> list[str]:
    """Below the titles: "5/6" of a share, a median, "3x" of what is counted; "" for what is not there."""
    found: list[str] = []
    for name, column in columns().items():
        beside = len(_beside(name, with_intervals))
        found += _cells(measures[name], column.is_count)[: 1 + beside] if name in measures else [""] * (1 + beside)
    return found


def note() -> str:
    """What the short titles stand for."""
    return " | ".join(f"{column.short}: {column.means}" for column in columns().values() if column.means)


def _beside(name: str, with_intervals: bool) -> list[str]:
    is_median = MEASURES[name].quantity == "values" and not columns()[name].is_count
    return ["[95 %]"] if with_intervals and is_median else []


def _cells(summary: Summary, is_count: bool) -> list[str]:
    if is_count:
        return [f"{summary['n']:,}x"]
    if "count" in summary:
        return [f"{summary['count']}/{summary['n']}"]
    return [amount(headline(summary), summary["unit"]), limits(summary["ci95"], summary["unit"])]
