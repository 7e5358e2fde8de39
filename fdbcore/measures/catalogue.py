"""All measures by their ids. The module that computes a measure registers it; tables and pages look it up here."""

from __future__ import annotations

from typing import Final

from fdbcore.measures import answers, compat, labelled, moments, overlaps, recoveries, timing
from fdbcore.measures.measure import Column, KindOfMoment, Measure, MeasureGroup

OTHER: Final = MeasureGroup("Other measures")
GROUPS: Final = (answers.GROUP, overlaps.GROUP, labelled.GROUP, timing.TURNS, timing.TIME, compat.GROUP, OTHER)
"""All groups, in the order of the tables."""

MEASURES: Final[dict[str, Measure]] = {
    measure.id: measure
    for module in (answers, overlaps, labelled, recoveries, timing, compat)
    for measure in module.MEASURES
}

MOMENTS: Final[tuple[KindOfMoment, ...]] = moments.KINDS
"""The kinds of moments, in the order of pages."""


def headlines() -> dict[str, str]:
    """Short names, by id, of the headline measures: comparisons and sensitivity use these, as one family of tests."""
    return {name: measure.headline for name, measure in MEASURES.items() if measure.headline}


def columns() -> dict[str, Column]:
    """The columns of tables of calls, in their order, by the ids of their measures."""
    found = {name: measure.column for name, measure in MEASURES.items() if measure.column}
    return dict(sorted(found.items(), key=lambda item: item[1].place))


def differences() -> dict[str, tuple[str, str]]:
    """The ids of measures that are the difference of two shares of a whole run, with the ids of these shares."""
    return {name: measure.difference_of for name, measure in MEASURES.items() if measure.difference_of}


def shown_by(kind: KindOfMoment) -> set[str]:
    """The ids of the measures that moments of this kind show."""
    return {name for name, measure in MEASURES.items() if measure.shown and kind.id in measure.shown.kinds}
