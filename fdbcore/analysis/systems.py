"""The systems of a run side by side: how the calls of each ended, and its measures, pooled over its calls."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.line_effects import PooledLines
from fdbcore.analysis.summaries import Measures, Summary, summarise
from fdbcore.analysis.survey import Survey
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.costs import Cost, HeldCost, total
from fdbcore.measures.quantities import Quantity
from fdbcore.recording.meta import Outcome, PlannedCase
from fdbcore.recording.run import DONE, FAILED, INVALID, WAITING, Decisions
from fdbcore.types.units import Count


class JudgingSpent(TypedDict):
    """Use of judges: how often they were asked, and what that took, whenever it was."""

    repeats: Annotated[int, Meta(description="how often each question was asked; a mark is the median")]
    requests: int
    counts: Annotated[dict[str, float], Meta(description="what vendors counted, by unit")]
    usd: Annotated[float, Meta(description="of the requests with a known price")]
    unpriced: Annotated[int, Meta(description="requests without one")]
    priced_on: Annotated[str | None, Meta(description="the day of the oldest list price")]
    temperatures: Annotated[
        list[float | None],
        Meta(description="that requests were sent; null: the vendor's, also of a model that takes none"),
    ]
    stopped: Annotated[str | None, Meta(description="why not all was asked")]


class CaseCounts(TypedDict):
    """The cases of a system, by how they ended."""

    planned: Count
    done: Count
    declined: Annotated[Count, Meta(description="the system declined to answer")]
    failed: Annotated[Count, Meta(description="the system is to blame")]
    invalid: Annotated[Count, Meta(description="the harness is to blame")]
    left: Count
    again: Annotated[Count, Meta(description="held more than once")]


class SystemSummary(TypedDict):
    """A system of a run."""

    cases: CaseCounts
    reasons: Annotated[dict[str, Count], Meta(description="why cases ended so, and how many did")]
    recordings: Annotated[list[str], Meta(description="that are in the measures")]
    measures: Measures
    lines: NotRequired[Annotated[PooledLines | None, Meta(description="null where no call was examined for it")]]
    cost: NotRequired[Annotated[HeldCost, Meta(description="missing if nothing left one's own network")]]


class EndedCase(PlannedCase):
    """A case, and how it ended."""

    outcome: Annotated[Outcome | None, Meta(description="null where it has not ended")]


class RunSummary(TypedDict):
    """The cases of a run of `fdbcore run`, and the measures of each system. Fields may be added under the same version;
    a field is never given another meaning."""

    schema: Literal["fdbcore.run_summary/2"]
    plan: Decisions
    systems: dict[str, SystemSummary]
    cost: NotRequired[Annotated[HeldCost, Meta(description="of all systems together")]]
    cases: NotRequired[Annotated[list[EndedCase], Meta(description="as they are printed; not in summary.json")]]
    confirmed_unlike: NotRequired[Annotated[list[str], Meta(description="as --like prints it; not in summary.json")]]


OUTCOMES: Final = (DONE, FAILED, INVALID)


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """One of several systems: the number of its calls, how they ended, and its measures, none if no call is scored.

    cost: of its calls; None if nothing of them left one's own network.
    """

    name: str
    calls: int
    ended: Mapping[str, int]
    measures: Measures
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class CutOffAgainstLatency:
    """A system's cutting in on A, and its speed of answering, both as summaries of `score.summarise`.

    share: of A's labelled pauses, those in which B cut in. latency: of the answers, in ms. calls: the scored calls.
    """

    name: str
    share: Summary
    latency: Summary
    calls: int


def systems(run: Survey) -> list[SystemCalls]:
    """The systems of a run, sorted by name; none unless there are several."""
    found = []
    for name in several(run):
        calls = [row.call for row in run.rows if _system(row.call) == name]
        pooled = [own for row, own in zip(run.scored, run.pooled, strict=True) if _system(row.call) == name]
        cost = total(row.cost for row in run.rows if _system(row.call) == name)
        found.append(SystemCalls(name, len(calls), Counter(map(_ended, calls)), summarise(pooled), cost))
    return found


def measures_by_system(run: Survey, found: Sequence[SystemCalls]) -> dict[str, Measures]:
    """The measures to show of a run: those of each system in `found`, or if there are none, of all calls as ""."""
    return {system.name: system.measures for system in found} or {"": run.measures}


def several(run: Survey) -> list[str]:
    """The sorted names of the systems of a run; none unless there are several."""
    names = sorted({_system(row.call) for row in run.rows} - {""})
    return names if len(names) > 1 else []


def cut_off_against_latency(run: Survey) -> list[CutOffAgainstLatency]:
    """One entry per system whose calls have labelled pauses and answers; calls without a system count as one system.

    The answer time is after labelled ends of turns; if the calls of a system have none, after all turns.
    """
    axes = {measure.axis: name for name, measure in MEASURES.items() if measure.axis}
    pooled: dict[str, list[Mapping[str, Quantity]]] = {}
    for row, quantities in zip(run.scored, run.pooled, strict=True):
        needed = {key: quantities[key] for key in axes.values() if key in quantities}
        pooled.setdefault(_system(row.call), []).append(needed)
    found = []
    for name, calls in sorted(pooled.items()):
        measures = summarise(calls)
        share = measures.get(axes["y"])
        times = [measures.get(axes[axis]) for axis in ("x", "x without labels")]
        latency = next((found for found in times if found and found["n"]), None)
        if share and share["n"] and latency:
            found.append(CutOffAgainstLatency(name, share, latency, len(calls)))
    return found


def _system(call: Call) -> str:
    return call.columns.get("system", "")


def _ended(call: Call) -> str:
    """The end of a call; for the replay of a live call, that of the live call."""
    outcome = call.columns.get("outcome")
    return outcome if outcome in (*OUTCOMES, WAITING) else call.status
