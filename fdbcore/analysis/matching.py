"""Compares groups of calls in pairs: pairs their calls, tests each headline measure, and says which is better.

Every comparison of two runs, or of two groups of a run, is made here. So the same question has the same p value in each
command, on each page and in the library.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Final, TypedDict

from msgspec import Meta

from fdbcore.analysis.differences import (
    BetterWhen,
    MeasuredDifference,
    Pool,
    VerdictOfA,
    difference,
    verdict,
    with_holm,
)
from fdbcore.analysis.groups import LINE, NO_VALUE, CallGroup, Unit, unit
from fdbcore.analysis.order import positions
from fdbcore.analysis.summaries import pool
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.protocols import CLEAN
from fdbcore.types.units import Count


class GroupDifference(MeasuredDifference):
    """A measure of group a less that of group b."""

    measure: str
    a: str
    b: str
    better: BetterWhen
    verdict: VerdictOfA
    paired_by: Annotated[str | None, Meta(description="a column; null where too few calls have their like")]


class ComparedSide(TypedDict):
    """One side of a comparison."""

    name: str
    calls: Count
    clusters: Count


CALL_NAME: Final = "call name"
ITEM_COLUMNS: Final = ("clip", "scenario")
"""Columns that name the item of a call, such as the clip that all systems of a live run were given."""
FEWEST_ITEMS: Final = 6
"""With fewer items in common, no test of pairs could find a difference: p would be 0.0625 or more."""
MOST_COMPARED: Final = 6
"""With more groups, not every two are compared: there would be too many comparisons to find anything."""
# At least this share of the larger side must have a partner: fewer pairs gain nothing, and may match by accident.
_MATCHING: Final = 0.5


@dataclass(frozen=True)
class Matched:
    """The calls of two sides to compare. Calls of the same item have the same cluster on both sides.

    title: which calls; "" for all. clusters_a, clusters_b: the cluster of each call. paired_by: CALL_NAME, a column, or
    None if the sides have too few items in common. shared, of: how many items both sides have, and how many there are.
    is_later: whether A comes after B, as a run after its baseline; if not, either side may be the worse one.
    """

    title: str
    a: CallGroup
    b: CallGroup
    clusters_a: Sequence[str]
    clusters_b: Sequence[str]
    paired_by: str | None
    shared: int
    of: int
    is_later: bool = True

    def pools(self, measure: str) -> tuple[Pool, Pool]:
        """The quantities of a measure on both sides."""
        return (
            pool(measure, self.a.quantities, self.clusters_a),
            pool(measure, self.b.quantities, self.clusters_b),
        )


def match(title: str, a: CallGroup, b: CallGroup, column: str | None) -> Matched:
    """Pair the calls by `column`, by a column of items, or by their names; unpaired if too few have a partner.

    If they are not paired, each value of `column` is still one cluster.
    """
    chosen = _paired_by(a, b, unit([*a.calls, *b.calls], column))
    clusters_a, clusters_b = a.clusters(chosen), b.clusters(chosen)
    distinct_a, distinct_b = {*clusters_a}, {*clusters_b}
    shared, union = len(distinct_a & distinct_b), len(distinct_a | distinct_b)
    if shared > 1 and shared >= _MATCHING * max(len(distinct_a), len(distinct_b)):
        return Matched(title, a, b, clusters_a, clusters_b, chosen.column or CALL_NAME, shared, union)
    apart_a, apart_b = [f"a {name}" for name in clusters_a], [f"b {name}" for name in clusters_b]
    return Matched(title, a, b, apart_a, apart_b, None, shared, union)


def _paired_by(a: CallGroup, b: CallGroup, chosen: Unit) -> Unit:
    """The chosen column; otherwise the first column of items in which every call has a value and both share enough."""
    if chosen.column is not None:
        return chosen
    for column in ITEM_COLUMNS:
        items = [{call.columns.get(column, "") for call in group.calls} for group in (a, b)]
        if all("" not in values for values in items) and len(items[0] & items[1]) >= FEWEST_ITEMS:
            return Unit(column)
    return chosen


def match_every_two(groups: Sequence[CallGroup], column: str | None) -> list[Matched]:
    """Every two groups, matched. Of dates or versions the later one comes first: a difference is what it has changed.

    column: what intervals resample and pair.
    """
    has_order = positions([group.name for group in groups if group.name != NO_VALUE]) is not None
    return [
        replace(match("", *((b, a) if has_order else (a, b)), column), is_later=has_order)
        for a, b in combinations(groups, 2)
    ]


def match_groups(by: str, groups: Sequence[CallGroup], column: str | None) -> list[Matched]:
    """The groups of a column, compared: every two; of lines each with the clean one of its system.

    column: what intervals resample and pair.
    """
    if not _are_lines(by, groups):
        return match_every_two(groups, column)
    clean = {_system(group): group for group in groups if _is_clean(group)}
    found = [(group, clean.get(_system(group))) for group in groups if not _is_clean(group)]
    return [match("", group, other, column or _item_column(group, other)) for group, other in found if other]


def are_few(by: str, groups: Sequence[CallGroup]) -> bool:
    """True if the groups of a column can all be compared: at most MOST_COMPARED, or lines, each with one other."""
    return _are_lines(by, groups) or len(groups) <= MOST_COMPARED


def items_over_lines(group: CallGroup) -> str | None:
    """The column of items of calls over several lines, None for calls over one: a user heard over two lines is one."""
    if len({call.columns.get(LINE, "") for call in group.calls}) < 2:
        return None
    return next((name for name in ITEM_COLUMNS if all(call.columns.get(name) for call in group.calls)), None)


def _are_lines(by: str, groups: Sequence[CallGroup]) -> bool:
    return by == LINE and any(map(_is_clean, groups))


def _is_clean(group: CallGroup) -> bool:
    return group.calls[0].columns.get(LINE) == CLEAN


def _system(group: CallGroup) -> str | None:
    return group.calls[0].columns.get("system")


def _item_column(a: CallGroup, b: CallGroup) -> str | None:
    """The shared column of two lines' calls: users, or without these trials, which have the same seed on all lines."""
    calls = [*a.calls, *b.calls]
    return next((name for name in (*ITEM_COLUMNS, "trial") if all(call.columns.get(name) for call in calls)), None)


def side(name: str, clusters: Sequence[str]) -> ComparedSide:
    """The name and size of one side. clusters: the cluster of each call."""
    return {"name": name, "calls": len(clusters), "clusters": len({*clusters})}


def tested(compared: Sequence[Matched]) -> list[dict[str, MeasuredDifference]]:
    """The difference of each headline measure in each comparison; together they are one family for Holm's
    correction."""
    found = [(of, name) for of in compared for name in headlines()]
    corrected = iter(with_holm(difference(*of.pools(name)) for of, name in found))
    return [{name: next(corrected) for name in headlines()} for _ in compared]


def group_differences(compared: Sequence[Matched]) -> list[GroupDifference]:
    """The difference of each headline measure between the two groups of each comparison."""
    found = tested(compared)
    return [
        {
            "measure": name,
            "a": of.a.name,
            "b": of.b.name,
            "better": MEASURES[name].better,
            "verdict": verdict(measured[name], MEASURES[name].better),
            "paired_by": of.paired_by,
            **measured[name],
        }
        for name in headlines()
        for of, measured in zip(compared, found, strict=True)
    ]
