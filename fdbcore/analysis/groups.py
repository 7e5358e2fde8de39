"""Groups of calls by the values of a column, and the unit that intervals resample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.facts import IS_CURRENT
from fdbcore.analysis.order import by_day, in_order
from fdbcore.analysis.score import check, current_quantities, read_quantities, score
from fdbcore.analysis.score import quantities as quantities_of
from fdbcore.analysis.summaries import Measures, summarise
from fdbcore.errors import FdbError, InputError, nearest
from fdbcore.measures.catalogue import headlines
from fdbcore.measures.quantities import Quantity
from fdbcore.measures.reading import Reading
from fdbcore.protocols import CLEAN
from fdbcore.recording.form import one_call
from fdbcore.runtime.executor import Executor, results_in_order
from fdbcore.types.units import Count

MOST_GROUPS: Final = 20
LINE: Final = "line"
"""The column of the lines that live calls went over: what one costs is a matter of each system by itself."""
NO_VALUE: Final = "(none)"


class StatedUnit(TypedDict):
    """The units that intervals resample."""

    column: Annotated[str | None, Meta(description="its values; null: the calls")]
    own: Annotated[list[str], Meta(description="calls without a value there, each a unit of its own")]


class StatedGroup(TypedDict):
    """Calls and their measures."""

    name: Annotated[str, Meta(description="the value of the column; empty for all calls")]
    calls: Count
    clusters: Annotated[Count, Meta(description="how many units the intervals resample")]
    measures: Measures


def units_text(column: str | None, n: int = 2) -> str:
    """The name of `n` units of a column, such as "values of speaker"; of None, where each call is a unit, "calls"."""
    return ("call" if column is None else "value") + "s" * (n != 1) + ("" if column is None else f" of {column}")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that intervals resample: the call, or the value of a column.

    own: the calls without a value in that column; each of them is a unit by itself.
    """

    column: str | None = None
    own: Sequence[str] = ()

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

    def only(self, numbers: Sequence[int], name: str = "") -> "CallGroup":
        """The calls of these numbers as a group of this name."""
        return CallGroup(name, [self.calls[n] for n in numbers], [self.quantities[n] for n in numbers])


def rescored(
    corpus: Run, executor: Executor, on_call: Callable[[], None] = lambda: None, keep: bool = True
) -> tuple[CallGroup, dict[str, str]]:
    """Score all calls of a run again; also returns the reasons for calls that failed.

    Calls whose scores are those of this version of fdbcore, and newer than their files, are only read. on_call: called
    after each call. keep: also write the scores into the run.
    """
    calls, quantities, unread = [], [], dict[str, str]()
    current = [call.is_in_table and call.fact(IS_CURRENT) for call in corpus.scored]
    others = [call.path for call, is_current in zip(corpus.scored, current, strict=True) if not is_current]
    read = results_in_order(executor, partial(_rescored, keep=keep), others)
    for call, is_current in zip(corpus.scored, current, strict=True):
        found = call.quantities if is_current else next(read)
        on_call()
        if isinstance(found, str):
            unread[call.name] = found
        else:
            calls.append(call)
            quantities.append(found)
    return CallGroup("", calls, quantities), unread


def _rescored(path: Path, keep: bool) -> Mapping[str, Quantity] | str:
    """The quantities of a recording that is scored again if it must be, or the error. keep: also write its scores."""
    try:
        with one_call(path):
            reading = Reading(path)
            check(reading)
            if (kept := current_quantities(reading)) is not None:
                return kept
            if not keep:
                return quantities_of(reading)
            score(reading)
            return read_quantities(reading)[0]
    except FdbError as error:
        return str(error)


def unit(calls: Sequence[Call], column: str | None) -> Unit:
    """The unit of `column`, or the call. Raises InputError for a column that no call has, with similar names."""
    if column is None:
        return Unit()
    check_column(calls, column, "--cluster")
    return Unit(column, [call.name for call in calls if not call.columns.get(column)])


def groups(run: CallGroup, column: str, most: int = MOST_GROUPS) -> list[CallGroup]:
    """The calls of a run grouped by their value of `column`, in the order of `order.in_order`.

    Values that are times are grouped by day, or by month if there are more than `most` days. Calls without a value come
    last. Lines are grouped for each system by itself, if there are several: "SYSTEM, LINE". Raises InputError for more
    than `most` groups.
    """
    check_column(run.calls, column, "--by")
    values = [call.columns.get(column) or "" for call in run.calls]
    if column == LINE and CLEAN in values and len({call.columns.get("system", "") for call in run.calls}) > 1:
        values = [f"{call.columns.get('system', '')}, {value}" for call, value in zip(run.calls, values, strict=True)]
    names = by_day({*values} - {""}, most)
    members: dict[str, list[int]] = {name: [] for name in in_order({*names.values()})}
    for number, value in enumerate(values):
        members.setdefault(names.get(value, NO_VALUE), []).append(number)
    if len(members) > most:
        raise InputError(f"--by {column}: expected a column of at most {most} values, got {len(members):,}")
    return [run.only(numbers, name) for name, numbers in members.items()]


def stated(group: CallGroup, chosen: Unit) -> StatedGroup:
    """A group of calls and its measures, as JSON values."""
    clusters = group.clusters(chosen)
    measures = summarise(group.quantities, None if chosen.column is None else clusters)  # as in all tables of calls
    return {"name": group.name, "calls": len(group.calls), "clusters": len(set(clusters)), "measures": measures}


def stated_headlines(group: CallGroup, chosen: Unit) -> StatedGroup:
    """The same with the headline measures alone."""
    quantities = [{name: found[name] for name in headlines() if name in found} for found in group.quantities]
    return stated(CallGroup(group.name, group.calls, quantities), chosen)


def check_column(calls: Sequence[Call], column: str, option: str) -> None:
    """Raise InputError for a column that no call has, with similar names. option: the option that names the column."""
    columns = list(dict.fromkeys(name for call in calls for name in call.columns))
    if column not in columns:
        known = f"one of {', '.join(columns)}" if columns else "columns (replay --meta gives a run some)"
        raise InputError(f"{option} {column}: expected {known}{nearest(column, columns)}")
