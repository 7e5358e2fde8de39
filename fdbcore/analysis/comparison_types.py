"""The types of the document of a comparison, `fdbcore.comparison/2`, and of the gates in it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.gate_file import CannotTell
from fdbcore.analysis.summary_types import Interval, Summary
from fdbcore.measures.measure import Direction, MomentKind
from fdbcore.recording.meta_types import Count, Seconds, Settings

Verdict: TypeAlias = Literal["better", "worse", "different", "no difference found", "undecided"]
VerdictOfA: TypeAlias = Annotated[
    Verdict,
    Meta(
        description="whether a is better than b, for a user of the system: if p_holm is below 0.05, better, worse, or "
        "different for a measure without such a direction; undecided: it could not be tested, or not with so few"
    ),
]
BetterWhen: TypeAlias = Annotated[
    Direction | None, Meta(description="what a user would rather have; null where that depends")
]
Status: TypeAlias = Literal["passed", "failed", "cannot tell", "not measured"]
ExitCode: TypeAlias = Literal[0, 1, 3]


class MeasuredDifference(TypedDict):
    """A pooled measure of one group less that of another, in the unit of the measure."""

    value: float | None
    interval: Annotated[Interval | None, Meta(description="of 95 %, for this difference alone")]
    clusters: Annotated[Count, Meta(description="that were resampled, of both groups")]
    shared: Annotated[Count, Meta(description="how many of them have sessions of both, which pairs them")]
    p: float | None
    p_holm: Annotated[float | None, Meta(description="corrected for all differences of the document (Holm 1979)")]
    detectable: Annotated[
        float | None, Meta(description="the smallest true difference that would be found 8 times in 10")
    ]
    reason: Annotated[str, Meta(description="why there is no value or no interval")]


class ComparedMeasure(MeasuredDifference):
    """A measure of both sides, and a less b."""

    measure: str
    better: BetterWhen
    verdict: VerdictOfA
    a: Annotated[Summary | None, Meta(description="null where no call has the measure")]
    b: Annotated[Summary | None, Meta(description="null where no call has the measure")]
    worst: Annotated[list[GateMoment], Meta(description="of a measure that is worse, what to listen to in a")]


class GroupDifference(MeasuredDifference):
    """A measure of group a less that of group b."""

    measure: str
    a: str
    b: str
    better: BetterWhen
    verdict: VerdictOfA
    paired_by: Annotated[str | None, Meta(description="a column; null where too few calls have their like")]


class Exceeding(TypedDict):
    """How many calls of a side, or clusters of calls, have a moment that is as long, or longer by as much."""

    clusters: Count
    of: Count


class LongerMoments(TypedDict):
    """A kind of moment that is longer on one side, in more calls than chance explains."""

    kind: MomentKind
    longer_in: Annotated[Literal["a", "b"], Meta(description="the side that has them; a, if b is its baseline")]
    least_s: Annotated[
        float,
        Meta(
            description="paired: by how much they are longer at least than their like in the same calls of the other "
            "side; unpaired: how long they are at least"
        ),
    ]
    moments: Annotated[Count, Meta(description="how many, of the side that has them")]
    a: Exceeding
    b: Exceeding
    p: Annotated[float, Meta(description="corrected for all limits, kinds and comparisons of the document")]
    worst: Annotated[list[GateMoment], Meta(description="what to listen to, the worst first")]


class ComparedSide(TypedDict):
    """One side of a comparison."""

    name: str
    calls: Count
    clusters: Count


class LongerBetween(TypedDict):
    """Two groups of calls, and the moments that are longer in one of them."""

    title: Annotated[str, Meta(description="which calls; empty for all")]
    a: ComparedSide
    b: ComparedSide
    paired_by: Annotated[str | None, Meta(description="call name, or a column; null where too few have their like")]
    longer: Annotated[list[LongerMoments], Meta(description="what got worse, if too rarely to move a measure")]


class ComparedCalls(LongerBetween):
    """Two groups of calls, measure by measure."""

    items: Annotated[Count, Meta(description="that either side has")]
    shared: Annotated[Count, Meta(description="that both sides have")]
    measures: list[ComparedMeasure]


class DescribedRun(TypedDict):
    """What was compared, and what made it."""

    path: str
    calls: Count
    unscored: Annotated[dict[str, str], Meta(description="calls that are in no figure: why")]
    settings: Annotated[Settings | None, Meta(description="those of most calls")]
    settings_sha256s: Annotated[dict[str, Count], Meta(description="how many calls have each settings")]
    versions: Annotated[dict[str, list[str]], Meta(description="of each package, the most common first")]


class GateSide(TypedDict):
    """One side of a gate: its statistic, of how many items, calls and clusters."""

    value: float | None
    n: Count
    calls: Count
    clusters: Count
    unit: str


class GateMoment(TypedDict):
    """What to listen to where a gate failed: a moment of a call, or the whole call."""

    call: str
    file: Annotated[str, Meta(description="its audio, from the folder of the run")]
    start_s: Seconds
    text: str
    page: Annotated[str, Meta(description="the address of that moment on the page of the call")]


class GateResult(TypedDict):
    """What became of a gate."""

    gate: Annotated[str, Meta(description="its line")]
    where: Annotated[dict[str, str], Meta(description="the calls that it is about: columns and their values")]
    source: Annotated[str, Meta(description="where the limit comes from, as its file says")]
    measure: str
    status: Status
    unit: str
    value: Annotated[float | None, Meta(description="the run's, or what it exceeds `times` the baseline's by")]
    interval: Interval | None
    level: Annotated[float, Meta(description="of the interval, so that all gates together hold at theirs")]
    limit: float
    times: Annotated[float, Meta(description="0 where the limit is a number")]
    run: GateSide
    baseline: GateSide | None
    paired_by: str | None
    calls_needed: Annotated[Count | None, Meta(description="about how many of each side would decide it")]
    calls_range: Annotated[
        tuple[Count, Count | None] | None,
        Meta(description="what that lies between in four of five such runs; the second null: no end"),
    ]
    reason: Annotated[str, Meta(description="why there is no value or no interval")]
    worst: Annotated[list[GateMoment], Meta(description="of a gate that failed, the worst first")]
    lines: NotRequired[
        Annotated[str, Meta(description="of a gate that allows less than the lines of its calls do to its measure")]
    ]
    but: NotRequired[
        Annotated[
            list[str],
            Meta(
                description="of a gate that passed, what is wrong with its calls: a side that was not heard, bad input"
            ),
        ]
    ]


class GatedCall(TypedDict):
    """What the gates say of one call: its own figures against the limits."""

    call: str
    status: Annotated[Status, Meta(description="failed: beyond a limit by more than chance explains")]
    failed: Annotated[list[str], Meta(description="the gates that it fails")]
    cannot_tell: Annotated[list[str], Meta(description="the gates that it is beyond, as chance may explain")]


class DecidedGates(TypedDict):
    """The gates of a file, decided."""

    file: str
    level: Annotated[float, Meta(description="at which all of them together hold")]
    cannot_tell: Annotated[CannotTell, Meta(description="what a gate that cannot be decided does to the exit code")]
    exit_code: Annotated[
        ExitCode, Meta(description="0: all passed, 1: one failed, 3: one could not be decided or measured")
    ]
    results: list[GateResult]
    calls: Annotated[list[GatedCall], Meta(description="every scored call")]


class Comparison(TypedDict):
    """Two runs, or groups of calls, compared measure by measure. Fields may be added under the same version; a field is
    never given another meaning."""

    schema: Literal["fdbcore.comparison/2"]
    run: DescribedRun
    baseline: DescribedRun | None
    by: Annotated[str | None, Meta(description="the column whose values are compared")]
    notes: Annotated[list[str], Meta(description="what must be known before any figure")]
    comparisons: list[ComparedCalls]
    gates: NotRequired[DecidedGates]
    made: NotRequired[Annotated[str, Meta(description="when, in UTC; where it is kept with its run")]]
    scores_sha256: NotRequired[Annotated[str, Meta(description="of the scores that it holds for; where it is kept")]]
