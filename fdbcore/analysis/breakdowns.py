"""The calls of a run by each of their columns: the groups, their headline measures, and what differs between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fdbcore.analysis.groups import NO_VALUE, CallGroup, StatedGroup, Unit, groups, stated_headlines
from fdbcore.analysis.matching import GroupDifference, are_few, group_differences, match_groups
from fdbcore.analysis.order import positions
from fdbcore.analysis.survey import Survey
from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import FEW_CLUSTERS

MOST_UNORDERED: Final = 20
MOST_ORDERED: Final = 60
"""The most groups of a column that are shown: of dates and versions there may be more, as they make a line."""
LEAST_CALLS: Final = 2
"""A column with fewer calls per value, on average, names single calls and no groups."""
_OF_THE_RUN: Final = ("clip", "trial", "outcome")
"""Columns of a live run that are no groups to compare."""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The calls by one column. points: each group with its headline measures. differences: as `match_groups` compares
    them; none if there are too many."""

    column: str
    points: Sequence[StatedGroup]
    differences: Sequence[GroupDifference]


def breakdowns(run: Survey) -> list[Breakdown]:
    """The calls of a run by each column that groups them, in the order of the columns. Intervals resample calls."""
    calls = CallGroup("", [row.call for row in run.scored], run.pooled)
    columns = dict.fromkeys(name for call in calls.calls for name in call.columns if name not in _OF_THE_RUN)
    found = []
    for column in columns:
        by = _groups(calls, column)
        if len(by) > 1 and LEAST_CALLS * len(by) <= len(calls.calls):
            differences = group_differences(match_groups(column, by, None)) if are_few(column, by) else []
            found.append(Breakdown(column, [stated_headlines(group, Unit()) for group in by], differences))
    return found


def _groups(calls: CallGroup, column: str) -> list[CallGroup]:
    """The groups of a column; none if there are too many to show."""
    try:
        found = groups(calls, column, MOST_ORDERED)
    except InputError:
        return []
    has_order = positions([group.name for group in found if group.name != NO_VALUE]) is not None
    return found if has_order or len(found) <= MOST_UNORDERED else []


def repeated(run: Survey) -> str | None:
    """The first column with values that several calls share, neither dates nor versions: such as the caller.

    Calls of one value may resemble each other, so intervals should resample its values.
    """
    columns = dict.fromkeys(name for row in run.scored for name in row.call.columns if name not in _OF_THE_RUN)
    for column in columns:
        values = [value for row in run.scored if (value := row.call.columns.get(column))]
        names = sorted({*values})
        if FEW_CLUSTERS <= len(names) <= len(values) / 1.5 and positions(names) is None:
            return column
    return None
