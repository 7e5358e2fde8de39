"""The columns of measures that all tables of calls and systems share, from the registry of measures."""

from fdbcore.analysis.summaries import Measures, Summary
from fdbcore.measures.catalogue import MEASURES, columns
from fdbcore.report.format import amount, headline, limits
from fdbcore.report.html.values import ALL, NO_LINKS, Links


def titles(with_intervals: bool = False) -> list[str]:
    """The names of the columns. with_intervals: medians have a column for their interval."""
    return [title for name in columns() for title in [MEASURES[name].label, *_beside(name, with_intervals)]]


def cells(measures: Measures, with_intervals: bool = False, link: Links = NO_LINKS) -> list[str]:
    """The cells below the titles: "5/6" for a share, a median, or "3x" for a count; "" for a missing measure.

    link: from each count to its moments, on a page.
    """
    found: list[str] = []
    for name, column in columns().items():
        beside = len(_beside(name, with_intervals))
        found += (
            _cells(name, measures[name], column.is_count, link)[: 1 + beside]
            if name in measures
            else [""] * (1 + beside)
        )
    return found


def _beside(name: str, with_intervals: bool) -> list[str]:
    is_median = MEASURES[name].quantity == "values" and not columns()[name].is_count
    return ["[95 %]"] if with_intervals and is_median else []


def _cells(name: str, summary: Summary, is_count: bool, link: Links) -> list[str]:
    if is_count:
        return [link(f"{summary['n']:,}x", name)]
    if "count" in summary:
        return [f"{link(summary['count'], name)}/{link(summary['n'], f'{name}{ALL}')}"]
    unit = MEASURES[name].shown_in
    return [link(amount(headline(summary), unit), name), limits(summary["ci95"], unit)]
