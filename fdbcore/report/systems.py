"""Several systems of a run side by side: how the calls of each have ended, and its measures, pooled over its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from fdbcore.corpus import DONE, FAILED, INVALID, WAITING, Call
from fdbcore.report.layout import laid_out
from fdbcore.report.survey import Survey
from fdbcore.report.tables import table
from fdbcore.report.words import seconds_text
from fdbcore.score import summarise

OUTCOMES: Final = (DONE, FAILED, INVALID)
COLUMNS: Final = (
    "system", "calls", *OUTCOMES, "answered", "median", "[95 %]", "early", "none", "stopped", "lapses"
)  # fmt: skip
NOTE: Final = "early: cut off by B | none: no answer | stopped: B, when A spoke over it | lapses: long silences"


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
    return laid_out([COLUMNS, *map(_cells, found)], width)


def section(found: Sequence[System]) -> str:
    """The same as HTML."""
    rows = ((escape(name), [escape(cell) for cell in cells]) for name, *cells in map(_cells, found))
    return f'{table(COLUMNS, rows)}<p class="note">{escape(NOTE)}</p>'


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


def _cells(system: System) -> list[str]:
    cells = [system.name, f"{system.calls:,}", *(f"{system.ended.get(kind, 0):,}" for kind in OUTCOMES)]
    m = system.measures
    if not m:
        return [*cells, *[""] * (len(COLUMNS) - len(cells))]
    latency, lapses = m["response_latency_ms"], m["lapse_s"]
    limits = f"[{', '.join(f'{ms / 1000:.2f}' for ms in latency['ci95'])}]" if latency["ci95"] else ""
    shares = ("premature_per_turn", "no_response_per_turn", "b_stopped_within_2s_per_long_a_onset")
    answers = [_share(m["answered_per_turn"]), seconds_text(latency["median"]), limits]
    return [*cells, *answers, *(_share(m[name]) for name in shares), f"{lapses['n']:,}x"]


def _share(found: Mapping[str, Any]) -> str:
    return f"{found['count']}/{found['n']}"
