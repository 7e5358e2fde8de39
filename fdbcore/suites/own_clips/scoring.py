"""Scores of systems on recorded users: the measures of their calls, pooled over all and over each value of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from fdbcore.analysis import (
    FEWEST_ITEMS,
    LINE,
    MOST_GROUPS,
    TOLD,
    Call,
    CallGroup,
    Measures,
    Run,
    cautions_of,
    group_differences,
    in_order,
    match_every_two,
    read,
    summarise,
)
from fdbcore.errors import InputError
from fdbcore.measures import MEASURES, Quantity, headlines
from fdbcore.measures.labelled import MEASURES as LABELLED
from fdbcore.protocols import CLEAN
from fdbcore.recording import is_planned, read_plan
from fdbcore.report import headline, scaled
from fdbcore.results import PooledWith, ProblemEntry, Scores, problem_entries
from fdbcore.suites.own_clips.users import NAME, OF_A_RUN
from fdbcore.types import Problem
from fdbcore.types.scorecard import Difference, Figure, Scored, ScoreRow

LEAST_SLICES: Final = 2
SCHEMA: Final = "fdbcore.clips/2"


class ClipsGroup(Struct, frozen=True):
    """The calls of one system over one line: all, or those with a value in a column."""

    line: str
    system: str
    column: Annotated[str, Meta(description="of the table of labels; empty for all calls")]
    value: str
    calls: int
    measures: Measures

    def row(self) -> ScoreRow:
        """Its figures as a scorecard shows them, in the units of its scales."""
        subset = f"{self.column} = {self.value}" if self.column else ""
        return ScoreRow(self.line, "system", self.system, self.calls, dict(self._figures()), subset=subset)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        for name, summary in self.measures.items():
            value, unit, interval = headline(summary), summary["unit"], summary["ci95"]
            if value is not None:
                limits = None if interval is None else (scaled(interval[0], unit), scaled(interval[1], unit))
                of_items = MEASURES[name].quantity != "ratio"  # a ratio counts its events: its n is not over these
                yield name, Figure(scaled(value, unit), None, limits, summary["n"] if of_items else None)


class ClipsItem(Struct, frozen=True):
    """A call."""

    line: str
    system: str
    clip: str
    trial: str
    columns: dict[str, str]
    values: Annotated[dict[str, float], Meta(description="its measures, by id")]
    call: Annotated[str, Meta(description="the folder of its recording")]


class ClipsDocument(Scores, frozen=True, kw_only=True):
    """Scores of systems on recorded users of one's own. Fields may be added under the same version; a field is never
    given another meaning."""

    schema: Literal["fdbcore.clips/2"] = SCHEMA
    settings: PooledWith
    groups: Annotated[list[ClipsGroup], Meta(description="the measures of each row in full")]
    items: list[ClipsItem]
    gaps: Annotated[list[ProblemEntry], Meta(description="what is missing of scored calls, such as a clip's end")]


def measures() -> list[str]:
    """The ids of the measures of the scorecard: those that runs are compared by, and those that need labels."""
    return list(dict.fromkeys([*headlines(), *(measure.id for measure in LABELLED)]))


def score(paths: Sequence[Path], show: Callable[[str], None]) -> Scored:
    """The document of the calls of runs; see `Suite.score`."""
    if not paths:
        raise InputError(f"expected RUNs, got none: fdbcore run --suite {NAME} --data DIR --system ADDRESS makes one")
    calls: list[Call] = []
    scored = CallGroup("", [], [])
    for path in paths:
        show(str(path))
        suite = read_plan(path)["plan"].get("suite") if is_planned(path) else None
        if suite is None or suite["name"] != NAME:
            raise InputError(f"{path}: expected a run of --suite {NAME}, got something else")
        run, found = read(Run(path))
        calls += run.calls
        scored = CallGroup("", [*scored.calls, *found.calls], [*scored.quantities, *found.quantities])
    lines = {line: _by(group, "system") for line, group in _by(scored, LINE, CLEAN).items()}
    several = len({system for systems in lines.values() for system in systems}) > 1
    by_system = {
        ", ".join(filter(None, [system if several else "", line if len(lines) > 1 else ""])): summarise(of.quantities)
        for line, systems in lines.items()
        for system, of in systems.items()
    }
    groups = [group for line, systems in lines.items() for of in systems.values() for group in _groups(line, of)]
    differences = list(_differences(lines))
    document = ClipsDocument(
        settings=PooledWith(family=sum(one.p is not None for one in differences)),
        rows=[group.row() for group in groups],
        differences=differences,
        groups=groups,
        items=[_item(call, of) for call, of in zip(scored.calls, scored.quantities, strict=True)],
        problems=[ProblemEntry(call.name, call.unscored) for call in calls if call.unscored is not None],
        gaps=problem_entries(Problem(call.name, text) for call in scored.calls for text in call.fact(TOLD)["warnings"]),
        warnings=list(cautions_of(by_system)),
    )
    return Scored(msgspec.to_builtins(document))


def _by(calls: CallGroup, column: str, without: str = "") -> dict[str, CallGroup]:
    """The calls by their values of a column, in order; `without` stands for no value."""
    values = [call.columns.get(column) or without for call in calls.calls]
    numbers = range(len(values))
    return {name: calls.only([n for n in numbers if values[n] == name], name) for name in in_order({*values})}


def _groups(line: str, of_system: CallGroup) -> Iterator[ClipsGroup]:
    """All calls of a system, and those with each value of each column that groups them."""
    yield _group(line, of_system.name, "", of_system)
    columns = dict.fromkeys(name for call in of_system.calls for name in call.columns if name not in OF_A_RUN)
    for column in columns:
        slices = _by(of_system, column)
        if LEAST_SLICES <= len(slices) <= MOST_GROUPS:
            yield from (_group(line, of_system.name, column, of_slice) for value, of_slice in slices.items() if value)


def _group(line: str, system: str, column: str, calls: CallGroup) -> ClipsGroup:
    found = summarise([_shown(quantities) for quantities in calls.quantities])
    return ClipsGroup(line, system, column, calls.name if column else "", len(calls.calls), found)


def _differences(lines: Mapping[str, Mapping[str, CallGroup]]) -> Iterator[Difference]:
    """Every two systems over each line, in the units of the scales; p is corrected for all of them."""
    pairs = [(line, pair) for line, own in lines.items() for pair in match_every_two(list(own.values()), "clip")]
    found = group_differences([pair for _, pair in pairs])
    for (line, _), one in zip(pairs * len(headlines()), found, strict=True):
        if one["value"] is None:
            continue
        unit, limits, detectable = MEASURES[one["measure"]].unit, one["interval"], one["detectable"]
        yield Difference(
            line,
            one["a"],
            one["b"],
            one["measure"],
            one["shared"] or one["clusters"],
            scaled(one["value"], unit),
            (scaled(limits[0], unit), scaled(limits[1], unit)) if limits else None,
            one["p"],
            one["p_holm"],
            scaled(detectable, unit) if detectable else None,
            FEWEST_ITEMS if one["shared"] else 0,
        )


def _shown(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: quantities[name] for name in measures() if name in quantities}


def _item(call: Call, quantities: Mapping[str, Quantity]) -> ClipsItem:
    found = {name: headline(summary) for name, summary in summarise([_shown(quantities)]).items()}
    columns = call.columns
    return ClipsItem(
        columns.get(LINE) or CLEAN,
        columns["system"],
        columns["clip"],
        columns["trial"],
        {name: value for name, value in columns.items() if name not in OF_A_RUN},
        {name: value for name, value in found.items() if value is not None},
        str(call.path),
    )
