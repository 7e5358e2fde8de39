"""The measures of a run with intervals over the right unit, and the differences between groups of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.differences import PooledDifference, difference, with_holm
from fdbcore.analysis.score import pool, read_quantities, score, summarise
from fdbcore.analysis.score import quantities as quantities_of
from fdbcore.errors import FdbError, InputError, nearest
from fdbcore.measures.catalogue import headlines
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.runtime.parallel import spread

if TYPE_CHECKING:
    from fdbcore.analysis.statement_types import GroupDifference, StatedGroup, StatedGroups

MOST_GROUPS: Final = 20
NO_VALUE: Final = "(none)"
ITEM_COLUMNS: Final = ("clip",)
"""Columns of a live run that name the item which all systems were given."""


def units_text(column: str | None, n: int = 2) -> str:
    """What to call `n` units of a column, such as "values of speaker"; of None, where each call is a unit, "calls"."""
    return ("call" if column is None else "value") + "s" * (n != 1) + ("" if column is None else f" of {column}")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that intervals resample: the call, or the value of a column.

    own: the calls without a value in that column; each of them is a unit by itself.
    """

    column: str | None = None
    own: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the unit, in the plural."""
        return units_text(self.column)

    def of(self, call: Call) -> str:
        """The unit that a call belongs to. "=" keeps values apart from names of calls."""
        value = call.columns.get(self.column, "") if self.column is not None else ""
        return f"={value}" if value else call.name


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls with the same value `name` of a column, and the quantities of each; all calls of a run if name is ""."""

    name: str
    calls: Sequence[Call]
    quantities: Sequence[Mapping[str, Quantity]] = field(repr=False)

    def clusters(self, unit: Unit) -> list[str]:
        """The cluster of each call."""
        return [unit.of(call) for call in self.calls]


def rescored(
    corpus: Run, jobs: int, on_call: Callable[[], None] = lambda: None, keep: bool = True
) -> tuple[CallGroup, dict[str, str]]:
    """Score all calls of a run again, in `jobs` processes; also returns the reasons for calls that failed.

    on_call: called after each call. keep: also write the scores into the run.
    """
    calls, quantities, unread = [], [], dict[str, str]()
    work = _rescored if keep else _computed
    for call, found in zip(corpus.scored, spread(work, [call.path for call in corpus.scored], jobs), strict=True):
        on_call()
        if isinstance(found, str):
            unread[call.name] = found
        else:
            calls.append(call)
            quantities.append(found)
    return CallGroup("", calls, quantities), unread


def _rescored(path: Path) -> Mapping[str, Quantity] | str:
    """Score a recording, write its scores, and return its quantities; or the error."""
    try:
        reading = Reading(path)
        score(reading)
        return read_quantities(reading)[0]
    except FdbError as error:
        return str(error)


def _computed(path: Path) -> Mapping[str, Quantity] | str:
    """The quantities of a recording, or the error; writes nothing."""
    try:
        return quantities_of(Reading(path))
    except FdbError as error:
        return str(error)


def unit(calls: Sequence[Call], column: str | None) -> Unit:
    """The unit of `column`, or the call. Raises InputError for a column that no call has, with similar names."""
    if column is None:
        return Unit()
    check_column(calls, column, "--cluster")
    return Unit(column, [call.name for call in calls if not call.columns.get(column)])


def groups(run: CallGroup, column: str) -> list[CallGroup]:
    """The calls of a run grouped by their value of `column`, sorted. Raises InputError for more than MOST_GROUPS."""
    check_column(run.calls, column, "--by")
    numbers: dict[str, list[int]] = {}
    for number, call in enumerate(run.calls):
        numbers.setdefault(call.columns.get(column) or NO_VALUE, []).append(number)
    if len(numbers) > MOST_GROUPS:
        raise InputError(f"--by {column}: expected a column of at most {MOST_GROUPS} values, got {len(numbers):,}")
    return [
        CallGroup(name, [run.calls[n] for n in members], [run.quantities[n] for n in members])
        for name, members in sorted(numbers.items())
    ]


def check_column(calls: Sequence[Call], column: str, option: str) -> None:
    """Raise InputError for a column that no call has, with similar names. option: the option that names the column."""
    columns = list(dict.fromkeys(name for call in calls for name in call.columns))
    if column not in columns:
        known = f"one of {', '.join(columns)}" if columns else "columns (replay --meta gives a run some)"
        raise InputError(f"{option} {column}: expected {known}{nearest(column, columns)}")


def paired_by(compared_groups: Sequence[CallGroup], chosen: Unit, columns: Sequence[str] = ITEM_COLUMNS) -> Unit:
    """The unit that differences between the groups resample.

    It is the chosen column, or else the first of `columns` in which every call has a value and the groups share several
    values; otherwise the call.
    """
    if chosen.column is None:
        for column in columns:
            items = [{call.columns.get(column, "") for call in group.calls} for group in compared_groups]
            if all("" not in values for values in items) and len(set.intersection(*items)) > 1:
                return Unit(column)
    return chosen


def differences(compared_groups: Sequence[CallGroup], chosen: Unit) -> list[GroupDifference]:
    """The difference of every headline measure between every two groups: [{"measure", "a", "b", ...}].

    All of them are one family for Holm's correction.
    """
    compared: list[tuple[str, str, str, PooledDifference]] = []
    for name in headlines():
        pools = {group.name: pool(name, group.quantities, group.clusters(chosen)) for group in compared_groups}
        compared += [(name, a, b, difference(pools[a], pools[b])) for a, b in combinations(pools, 2)]
    corrected = with_holm([each for *_, each in compared])
    return [
        {"measure": name, "a": a, "b": b, **each.to_json()}
        for (name, a, b, _), each in zip(compared, corrected, strict=True)
    ]


def statements(run: CallGroup, chosen: Unit, by: Sequence[CallGroup] = ()) -> StatedGroups:
    """The pooled measures of a run and of its groups, and the differences between groups, as JSON values.

    Keys: calls, clusters, unit {column, own}, measures, groups [{name, calls, clusters, measures}], paired_by (the
    column whose values the groups share, or None), differences.
    """
    pairing = paired_by(by, chosen) if by else chosen
    found = differences(by, pairing)
    of_all = _group(run, chosen)
    return {
        "name": of_all["name"],
        "calls": of_all["calls"],
        "clusters": of_all["clusters"],
        "measures": of_all["measures"],
        "unit": {"column": chosen.column, "own": list(chosen.own)},
        "groups": [_group(group, chosen) for group in by],
        "paired_by": pairing.column if any(each["shared"] for each in found) else None,
        "differences": found,
    }


def _group(group: CallGroup, chosen: Unit) -> StatedGroup:
    clusters = group.clusters(chosen)
    measures = summarise(group.quantities, None if chosen.column is None else clusters)  # as in all tables of calls
    return {"name": group.name, "calls": len(group.calls), "clusters": len(set(clusters)), "measures": measures}
