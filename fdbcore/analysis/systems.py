"""Several systems of a run side by side: how the calls of each have ended, and its measures, pooled over its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.score import summarise
from fdbcore.analysis.survey import Survey
from fdbcore.measures.quantities import Quantity
from fdbcore.recording.run import DONE, FAILED, INVALID, WAITING

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures, Summary

OUTCOMES: Final = (DONE, FAILED, INVALID)
FALSE_CUT_OFFS: Final = "cut_off_per_labelled_a_pause"
LATENCIES: Final = ("response_latency_ms_per_labelled_turn_end", "response_latency_ms")
"""The better first: that after labelled ends of turns, and that after all turns."""


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """One of several systems: its calls counted by how they ended, and its measures, none where no call could be
    scored."""

    name: str
    calls: int
    ended: Mapping[str, int]
    measures: Measures


@dataclass(frozen=True, slots=True)
class CutOffAgainstLatency:
    """How often a system cuts A off, and how soon it answers, each as `score.summarise` sums it up.

    share: of A's labelled pauses in which B cut in. latency: of the answers, in ms. calls: how many are scored.
    """

    name: str
    share: Summary
    latency: Summary
    calls: int


def systems(run: Survey) -> list[SystemCalls]:
    """The systems of a run by name; none unless there are several."""
    return [_of(name, run) for name in several(run)]


def measures_by_system(run: Survey, found: Sequence[SystemCalls]) -> dict[str, Measures]:
    """The measures that are told of a run: those of each of its several systems `found`, or those of all, as ""."""
    return {system.name: system.measures for system in found} or {"": run.measures}


def several(run: Survey) -> list[str]:
    """The names of its systems; none unless there are several."""
    names = sorted({_system(row.call) for row in run.rows} - {""})
    return names if len(names) > 1 else []


def cut_off_against_latency(run: Survey) -> list[CutOffAgainstLatency]:
    """For each system (of calls without that column: one) whose calls have labelled pauses and any answer.

    The answer time is that after labelled ends of turns; where a system's calls have none, that after all turns.
    """
    pooled: dict[str, list[Mapping[str, Quantity]]] = {}
    for row, quantities in zip(run.scored, run.pooled, strict=True):
        needed = {key: quantities[key] for key in (FALSE_CUT_OFFS, *LATENCIES) if key in quantities}
        pooled.setdefault(_system(row.call), []).append(needed)
    found = []
    for name, calls in sorted(pooled.items()):
        measures = summarise(calls)
        share = measures.get(FALSE_CUT_OFFS)
        latency = next((measures[key] for key in LATENCIES if key in measures and measures[key]["n"]), None)
        if share and share["n"] and latency:
            found.append(CutOffAgainstLatency(name, share, latency, len(calls)))
    return found


def _of(name: str, run: Survey) -> SystemCalls:
    calls = [row.call for row in run.rows if _system(row.call) == name]
    pooled = [found for row, found in zip(run.scored, run.pooled, strict=True) if _system(row.call) == name]
    return SystemCalls(name, len(calls), Counter(map(_ended, calls)), summarise(pooled))


def _system(call: Call) -> str:
    return call.columns.get("system", "")


def _ended(call: Call) -> str:
    """How a live call has ended, also where this is the replay of one."""
    outcome = call.columns.get("outcome")
    return outcome if outcome in (*OUTCOMES, WAITING) else call.status
