"""The types of what is pooled over sessions, as JSON values: the summary of a measure, the scores of a recording, and
what judging took.

They are for type checkers and the schemas, and the forms by which the files of a run are checked as they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.measures.costs import HeldCost
from fdbcore.measures.findings import Finding
from fdbcore.measures.measure import Unit
from fdbcore.recording.meta_types import Count, Settings
from fdbcore.recording.run_types import Decisions, Outcome, PlannedCase

Interval: TypeAlias = tuple[float, float]


class Summary(TypedDict):
    """The summary of a measure; its id carries the unit and the denominator."""

    n: Annotated[Count, Meta(description="items; of a share its denominator; of a rate the events counted")]
    count: NotRequired[Annotated[Count, Meta(description="of a share: its numerator")]]
    median: float | None
    p90: float | None
    p95: NotRequired[float | None]
    p95_ci95: NotRequired[Interval | None]
    mean: Annotated[float | None, Meta(description="of a share or a rate: its value")]
    max: NotRequired[float | None]
    ci95: Annotated[Interval | None, Meta(description="of the median, or of a share or a rate itself")]
    unit: Unit
    excluded: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="items left out, by reason")]
    of: NotRequired[
        Annotated[
            tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]],
            Meta(description="of a difference of two shares: their denominators"),
        ]
    ]
    by_chance: NotRequired[
        Annotated[float | None, Meta(description="the share to expect if the sides did not hear each other")]
    ]
    clusters: NotRequired[Annotated[Count, Meta(description="that have the measure; the interval resamples them")]]
    clusters_with_either: NotRequired[
        Annotated[Count, Meta(description="of a share: that have the event, or lack it, whichever are fewer")]
    ]
    with_echo: NotRequired[Annotated[Summary, Meta(description="with the suspect events, where that differs")]]


Measures: TypeAlias = Annotated[dict[str, Summary], Meta(description="by id")]


class ResponseCurve(TypedDict):
    """The share of its opportunities that B has begun to answer after x ms: the latencies of at most x over all."""

    latency_ms: list[int]
    eligible: Count


class Curves(TypedDict):
    """Curves, for drawing."""

    response: ResponseCurve


class KeptQuantities(TypedDict):
    """The quantities of a call by name, as `measures.quantities.to_json` writes them."""

    schema: Literal["fdbcore.quantities/2"]
    fdbcore: NotRequired[str]
    made_from: NotRequired[Annotated[dict[str, str | None], Meta(description="of each file that they rest on: a hash")]]
    quantities: dict[str, dict[str, Any]]
    with_echo: Annotated[dict[str, dict[str, Any]], Meta(description="those that differ if echo counts as speech")]
    sealed: NotRequired[Annotated[str, Meta(description="the hash of what stands before it, and of scores.json")]]


class Scores(TypedDict):
    """The scores of a recording, as they are kept with it."""

    schema: Literal["fdbcore.scores/2"]
    settings: Settings
    measures: Measures
    curves: Curves
    findings: list[Finding]
    warnings: list[str]
    unscored: NotRequired[Annotated[str, Meta(description="why there are no measures")]]


class PooledLines(TypedDict):
    """What the lines of calls do to B's answer times, by lines like them that were measured."""

    calls: Annotated[Count, Meta(description="that were examined for it")]
    answers_ms: Annotated[
        tuple[float, float, float] | None,
        Meta(description="B's answer times, found less true: median, least and most; null where it is not known"),
    ]
    answers_of: Annotated[Count, Meta(description="the calls of which it is known")]
    not_placed: Annotated[
        dict[str, list[str]],
        Meta(description="calls with a side that is unlike all measured lines, not measured or not known"),
    ]


class ReplaySummary(TypedDict):
    """The calls of a run of `fdbcore replay`, pooled. Fields may be added under the same version; a field is never
    given another meaning."""

    schema: Literal["fdbcore.summary/2"]
    recordings: list[str]
    unscored: Annotated[dict[str, str], Meta(description="those of them that are in no measure: why")]
    measures: Measures
    findings: Annotated[dict[str, list[str]], Meta(description="what must be known first, and of which calls")]
    warnings: Annotated[dict[str, list[str]], Meta(description="what must be known beside, and of which calls")]
    failed: Annotated[list[str], Meta(description="of each call that failed or is damaged: why")]
    lines: NotRequired[Annotated[PooledLines | None, Meta(description="null where no call was examined for it")]]


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


class JudgingSpent(TypedDict):
    """How often judges were asked, and what that took, whenever it was."""

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
