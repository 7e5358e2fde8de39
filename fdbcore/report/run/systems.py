"""Several systems of a run side by side: how the calls of each have ended, and its measures, pooled over its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.score import summarise
from fdbcore.analysis.survey import Survey
from fdbcore.recording.run import DONE, FAILED, INVALID, WAITING
from fdbcore.report import columns
from fdbcore.report.terminal import laid_out

OUTCOMES: Final = (DONE, FAILED, INVALID)


@dataclass(frozen=True, slots=True)
class System:
    """One of several: its calls counted by how they ended, and its measures, none where no call could be scored."""

    name: str
    calls: int
    ended: Mapping[str, int]
    measures: Mapping[str, Mapping[str, Any]]


def systems(run: Survey) -> list[System]:
    """The systems of a run by name; none unless there are several."""
    return [_of(name, run) for name in several(run)]


def told(run: Survey, found: Sequence[System]) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """The measures that are told of a run: those of each of its several systems `found`, or those of all, as ""."""
    return {system.name: system.measures for system in found} or {"": run.measures}


def several(run: Survey) -> list[str]:
    """The names of its systems; none unless there are several."""
    names = sorted({_system(row.call) for row in run.rows} - {""})
    return names if len(names) > 1 else []


def screen(found: Sequence[System], width: int) -> list[str]:
    """A line for each system, of at most `width` columns; of a narrow screen the last columns are left out."""
    return laid_out([_titles(), *map(_cells, found)], width)


def section(found: Sequence[System]) -> dict[str, Any]:
    """The same for the page."""
    rows = [(name, cells) for name, *cells in map(_cells, found)]
    return {"columns": _titles(), "rows": rows, "note": columns.note()}


def _of(name: str, run: Survey) -> System:
    calls = [row.call for row in run.rows if _system(row.call) == name]
    pooled = [found for row, found in zip(run.scored, run.pooled, strict=True) if _system(row.call) == name]
    return System(name, len(calls), Counter(map(_ended, calls)), summarise(pooled))


def _system(call: Call) -> str:
    return call.columns.get("system", "")


def _ended(call: Call) -> str:
    """How a live call has ended, also where this is the replay of one."""
    outcome = call.columns.get("outcome")
    return outcome if outcome in (*OUTCOMES, WAITING) else call.status


def _titles() -> list[str]:
    return ["system", "calls", *OUTCOMES, *columns.titles(with_intervals=True)]


def _cells(system: System) -> list[str]:
    ended = (f"{system.ended.get(kind, 0):,}" for kind in OUTCOMES)
    return [system.name, f"{system.calls:,}", *ended, *columns.cells(system.measures, with_intervals=True)]
