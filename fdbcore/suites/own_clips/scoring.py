"""Scores of systems on recorded users: the measures of their calls, pooled over all and over each value of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from fdbcore._version import __version__
from fdbcore.analysis.cautions import cautions
from fdbcore.analysis.comparison import read
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.facts import TOLD
from fdbcore.analysis.groups import LINE, MOST_GROUPS, CallGroup
from fdbcore.analysis.matching import group_differences, match_every_two
from fdbcore.analysis.order import in_order
from fdbcore.analysis.score import summarise
from fdbcore.errors import InputError
from fdbcore.measures.catalogue import headlines
from fdbcore.measures.labelled import MEASURES as LABELLED
from fdbcore.measures.quantities import Quantity
from fdbcore.protocols import CLEAN
from fdbcore.recording.run import is_planned, read_plan
from fdbcore.report.format import headline
from fdbcore.stats.bootstrap import LEVEL
from fdbcore.suites.own_clips.users import NAME, OF_A_RUN
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.own_clips.document_types import ClipsDocument, ClipsGroup, ClipsItem

LEAST_SLICES: Final = 2


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
    document: ClipsDocument = {
        "schema": "fdbcore.clips/1",
        "settings": {"fdbcore": __version__, "level": LEVEL},
        "groups": [group for line, systems in lines.items() for of in systems.values() for group in _groups(line, of)],
        "comparisons": [
            {"line": line, "differences": differences}
            for line, systems in lines.items()
            if (differences := group_differences(match_every_two(list(systems.values()), "clip")))
        ],
        "items": [_item(call, of) for call, of in zip(scored.calls, scored.quantities, strict=True)],
        "problems": [{"where": call.name, "reason": call.unscored} for call in calls if call.unscored is not None],
        "gaps": [{"where": call.name, "reason": text} for call in scored.calls for text in call.fact(TOLD)["warnings"]],
        "warnings": list(cautions(by_system)),
    }
    return Scored(cast("Mapping[str, Any]", document))


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
    value = calls.name if column else ""
    return {
        "line": line,
        "system": system,
        "column": column,
        "value": value,
        "calls": len(calls.calls),
        "measures": found,
    }


def _shown(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: quantities[name] for name in measures() if name in quantities}


def _item(call: Call, quantities: Mapping[str, Quantity]) -> ClipsItem:
    found = {name: headline(summary) for name, summary in summarise([_shown(quantities)]).items()}
    columns = call.columns
    return {
        "line": columns.get(LINE) or CLEAN,
        "system": columns["system"],
        "clip": columns["clip"],
        "trial": columns["trial"],
        "columns": {name: value for name, value in columns.items() if name not in OF_A_RUN},
        "values": {name: value for name, value in found.items() if value is not None},
        "call": str(call.path),
    }
