"""What a run lets one say: its measures with intervals over the right unit, and how groups of its calls differ."""

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
"""Of a live run: what all its systems are asked."""


def units_text(column: str | None, n: int = 2) -> str:
    """What so many units of a column are called, or of None, where each call is one: "calls", "value of speaker"."""
    return ("call" if column is None else "value") + "s" * (n != 1) + ("" if column is None else f" of {column}")


@dataclass(frozen=True, slots=True)
class Unit:
    """What intervals resample: the calls, or the values of a column.

    own: calls without a value in that column, each of which is a unit of its own.
    """

    column: str | None = None
    own: Sequence[str] = ()

    @property
    def name(self) -> str:
        """In the plural."""
        return units_text(self.column)

    def of(self, call: Call) -> str:
        """The unit that a call is part of; no value is like a call's name."""
        value = call.columns.get(self.column, "") if self.column is not None else ""
        return f"={value}" if value else call.name


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls that have the same value of a column, with their quantities; all calls of a run where name is ""."""

    name: str
    calls: Sequence[Call]
    quantities: Sequence[Mapping[str, Quantity]] = field(repr=False)

    def clusters(self, unit: Unit) -> list[str]:
        """The cluster of each call."""
        return [unit.of(call) for call in self.calls]


def rescored(
    corpus: Run, jobs: int, on_call: Callable[[], None] = lambda: None, keep: bool = True
) -> tuple[CallGroup, dict[str, str]]:
    """Score all calls of a run that can be scored anew, on so many processes; and why of those that could not.

    on_call: told of each call that was scored. keep: write the scores into the run, too.
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
    """The quantities of a recording, kept with it, or why there are none."""
    try:
        reading = Reading(path)
        score(reading)
        return read_quantities(reading)[0]
    except FdbError as error:
        return str(error)


def _computed(path: Path) -> Mapping[str, Quantity] | str:
    """The quantities of a recording, or why there are none; nothing is written."""
    try:
        return quantities_of(Reading(path))
    except FdbError as error:
        return str(error)


def unit(calls: Sequence[Call], column: str | None) -> Unit:
    """The unit of `column`, or the call. InputError for a column that no call has, with those that are alike."""
    if column is None:
        return Unit()
    check_column(calls, column, "--cluster")
    return Unit(column, [call.name for call in calls if not call.columns.get(column)])


def groups(run: CallGroup, column: str) -> list[CallGroup]:
    """The calls of a run by their value of `column`, in the order of these. InputError for more than MOST_GROUPS."""
    check_column(run.calls, column, "--by")
    numbers: dict[str, list[int]] = {}
    for number, call in enumerate(run.calls):
        numbers.setdefault(call.columns.get(column) or NO_VALUE, []).append(number)
    if len(numbers) > MOST_GROUPS:
        raise InputError(f"--by {column}: expected a column of at most {MOST_GROUPS} values, got {len(numbers):,}")
    return [
        CallGroup(name, [run.calls[n] for n in of], [run.quantities[n] for n in of])
        for name, of in sorted(numbers.items())
    ]


def check_column(calls: Sequence[Call], column: str, option: str) -> None:
    """InputError, for the option that names it, for a column that no call has; with those that are alike."""
    columns = list(dict.fromkeys(name for call in calls for name in call.columns))
    if column not in columns:
        known = f"one of {', '.join(columns)}" if columns else "columns (replay --meta gives a run some)"
        raise InputError(f"{option} {column}: expected {known}{nearest(column, columns)}")


def paired_by(of: Sequence[CallGroup], chosen: Unit, columns: Sequence[str] = ITEM_COLUMNS) -> Unit:
    """The unit that differences resample: the one that was chosen, or else the first of the columns by which every call
    has an item."""
    if chosen.column is None:
        for column in columns:
            asked = [{call.columns.get(column, "") for call in group.calls} for group in of]
            if all("" not in values for values in asked) and len(set.intersection(*asked)) > 1:
                return Unit(column)
    return chosen


def differences(of: Sequence[CallGroup], chosen: Unit) -> list[GroupDifference]:
    """Every headline of every pair of groups, one family for Holm's correction: {"measure", "a", "b", ...} each."""
    compared: list[tuple[str, str, str, PooledDifference]] = []
    for name in headlines():
        pools = {group.name: pool(name, group.quantities, group.clusters(chosen)) for group in of}
        compared += [(name, a, b, difference(pools[a], pools[b])) for a, b in combinations(pools, 2)]
    corrected = with_holm([each for *_, each in compared])
    return [
        {"measure": name, "a": a, "b": b, **each.to_json()}
        for (name, a, b, _), each in zip(compared, corrected, strict=True)
    ]


def statements(run: CallGroup, chosen: Unit, by: Sequence[CallGroup] = ()) -> StatedGroups:
    """The pooled measures of a run, of its groups, and the differences between these, as JSON values.

    Keys: calls, unit {column, clusters, own}, measures, groups [{name, calls, clusters, measures}], paired_by (the
    column whose values groups have in common, or None), differences.
    """
    pairing = paired_by(by, chosen) if by else chosen
    told = differences(by, pairing)
    of_all = _group(run, chosen)
    return {
        "name": of_all["name"],
        "calls": of_all["calls"],
        "clusters": of_all["clusters"],
        "measures": of_all["measures"],
        "unit": {"column": chosen.column, "own": list(chosen.own)},
        "groups": [_group(group, chosen) for group in by],
        "paired_by": pairing.column if any(each["shared"] for each in told) else None,
        "differences": told,
    }


def _group(group: CallGroup, chosen: Unit) -> StatedGroup:
    clusters = group.clusters(chosen)
    measures = summarise(group.quantities, None if chosen.column is None else clusters)  # as every table of calls
    return {"name": group.name, "calls": len(group.calls), "clusters": len(set(clusters)), "measures": measures}
