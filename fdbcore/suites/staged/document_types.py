"""The types of a scores document of the suite. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.summary_types import JudgingSpent
from fdbcore.endpoints.examiner.agenda import Verdict

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class StagedPlace(TypedDict):
    """Whose figures they are: those of a system with one examiner under one pacing."""

    pacing: str
    examiner: str
    system: str


class StagedMean(TypedDict):
    """The mean over dialogues. sd: of the dialogues. ci95: bootstrap over scenarios, and over the trials of each."""

    mean: float | None
    sd: float | None
    ci95: Interval
    n: Annotated[int, Meta(description="dialogues in which it is known")]


class StagedRow(TypedDict):
    """A system with one examiner under one pacing, over all scenarios or those of one family."""

    pacing: str
    examiner: Annotated[str, Meta(description="who plays side A; different ones are never put together")]
    system: str
    family: Annotated[str | None, Meta(description="null: all families")]
    n: Annotated[int, Meta(description="scenarios")]
    dialogues: Annotated[int, Meta(description="that are scored")]
    silent: Annotated[int, Meta(description="dialogues in which the system said nothing; they count")]
    failed: Annotated[int, Meta(description="calls that are not scored: the system broke off or could not be reached")]
    invalid: Annotated[int, Meta(description="calls that are not scored: the harness or the examiner is to blame")]
    missing: Annotated[int, Meta(description="calls that are not scored: not held yet, or they cannot be read")]
    only_echo: Annotated[int, Meta(description="dialogues in which all that the system said is echo; they count")]
    spoke_first: Annotated[int, Meta(description="calls that the system opened, before the examiner had spoken")]
    goals: Annotated[int, Meta(description="of its scenarios")]
    recited: Annotated[int, Meta(description="of them, those that a reciter meets; they are not in goals_met")]
    measures: dict[str, StagedMean]


class StagedFloor(TypedDict):
    """What goals that words decide would be met without being understood, of the scenarios of an examiner."""

    pacing: str
    examiner: str
    floor: Annotated[str, Meta(description="parrot, reciter or refusal")]
    family: Annotated[str | None, Meta(description="null: all families")]
    n: Annotated[int, Meta(description="scenarios")]
    goals: int
    met: Annotated[int, Meta(description="of all goals; goals_met leaves out those that a reciter meets")]
    measures: dict[str, StagedMean]


class StagedFamiliesMean(TypedDict):
    """The mean over families of their means. ci95: scenarios are resampled within each family."""

    mean: float | None
    ci95: Interval
    families: Annotated[int, Meta(description="that have the measure: daily dialogues have no task score")]


class StagedOverall(StagedPlace):
    """A system with one examiner under one pacing, over families: each counts the same."""

    families: list[str]
    n: Annotated[int, Meta(description="scenarios")]
    measures: dict[str, StagedFamiliesMean]


class StagedEventMean(TypedDict):
    """The mean over all events, each with the same weight. ci95: scenarios are resampled. n: events with the mark."""

    mean: float
    ci95: Interval
    n: int


class StagedEventMeans(StagedPlace):
    """The marks of a system with one examiner under one pacing, over events: a long dialogue weighs more."""

    family: Annotated[str | None, Meta(description="null: all families")]
    measures: dict[str, StagedEventMean]


class StagedPublishedRow(TypedDict):
    """Published figures of a system; they have no interval, and no n."""

    pacing: str
    system: str
    family: Annotated[str | None, Meta(description="null: the mean over families")]
    measures: dict[str, float]


class StagedPublished(TypedDict):
    """What Full-Duplex-Bench v2 published, to be seen beside. Nothing is tested against it."""

    label: str
    conditions: Annotated[str, Meta(description="how it was measured")]
    sources: list[str]
    rows: list[StagedPublishedRow]


class StagedComparison(TypedDict):
    """A paired difference, a minus b, on the scenarios that both have, with the same examiner."""

    between: Literal["systems", "pacings"]
    pacing: Annotated[str, Meta(description="of both, or of a between pacings")]
    examiner: str
    measure: str
    a: str
    b: str
    n: int
    difference: float | None
    ci95: Interval
    p: float | None
    p_holm: float | None
    detectable: Annotated[
        float | None,
        Meta(description="null where so few pairs cannot reach p < 0.05, and where all differ by the same"),
    ]


class StagedPassesOfK(TypedDict):
    """Passing in k trials: at least once (pass@k), every time (pass^k). Intervals: over scenarios."""

    k: int
    n: Annotated[int, Meta(description="scenarios with k trials or more of which it is known whether they pass")]
    pass_at_k: float | None
    pass_at_k_ci95: Interval
    pass_all_k: float | None
    pass_all_k_ci95: Interval


class StagedPasses(StagedPlace):
    """How often a system passes scenarios by the rule in the settings, over all scenarios or those of one family."""

    family: Annotated[str | None, Meta(description="null: all families")]
    dialogues: int
    passed: int
    unknown: Annotated[int, Meta(description="dialogues of which it is not known; they are not among the others")]
    by_k: list[StagedPassesOfK]


class StagedCurvePoint(TypedDict):
    """A place of a curve: the mean over dialogues with its interval over scenarios."""

    at: Annotated[float, Meta(description="seconds where the bin of 15 s begins, or the number of the goal, from 1")]
    n: Annotated[int, Meta(description="dialogues with a score there")]
    mean: float | None
    ci95: Interval


class StagedCurve(StagedPlace):
    """How a measure moves in the course of dialogues. slope_per_min: of the line through the bins of all dialogues."""

    measure: str
    slope_per_min: float | None
    slope_ci95: Interval
    bins: list[StagedCurvePoint]
    goals: Annotated[list[StagedCurvePoint], Meta(description="with the effects of scenarios taken out")]


class StagedContrast(TypedDict):
    """A difference of means, or of slopes, with its interval over scenarios. n: the scenarios."""

    value: float | None
    ci95: Interval
    n: int


class StagedFinding(TypedDict):
    """What a slow examiner wins back of a system's scores, and what stays low all the same."""

    system: str
    examiner: str
    slow: Annotated[str, Meta(description="pacing")]
    fast: Annotated[str, Meta(description="pacing that it is compared with")]
    won_back: Annotated[dict[str, StagedContrast], Meta(description="slow less fast on the same scenarios, by measure")]
    measure: Annotated[str, Meta(description="of memory")]
    memory: Annotated[
        StagedContrast | None, Meta(description="slow: entity tracking less the mean of the other families")
    ]
    slope: Annotated[StagedContrast | None, Meta(description="slow, a minute: instruction following less turn-taking")]


class StagedGoalJson(TypedDict):
    """What became of a goal. start_s, end_s: from its first wording to the decision."""

    goal: str
    verdict: Verdict
    sayings: Annotated[int, Meta(description="wordings that it took")]
    probes: Annotated[int | None, Meta(description="of them, those that ask for what is missing; null: not known")]
    start_s: float | None
    end_s: float | None
    words: Annotated[str | None, Meta(description="what a recogniser heard of B after the call, if it was asked")]
    floors: Annotated[
        list[str] | None, Meta(description="which of parrot, reciter, refusal meet it; null: words do not decide it")
    ]


class StagedProof(TypedDict):
    """Where something shows in a recording. what: the event, in words."""

    tick: int
    what: str


class StagedExamined(TypedDict):
    """What the examiner of a dialogue did."""

    opened: Annotated[bool | None, Meta(description="it spoke before the system; null if neither spoke")]
    sayings: Annotated[int, Meta(description="what it said for goals, and its closing statement")]
    reactions_ms: list[int]
    fault: Annotated[str | None, Meta(description="why the call is invalid by the rule, if it is not held to it")]
    proofs: Annotated[dict[str, list[StagedProof]], Meta(description="by what is counted of an examiner")]


class StagedReactions(TypedDict):
    """From the end of the system's speech to the first sound of the examiner that answers it."""

    n: int
    median_ms: float | None
    p95_ms: Annotated[float | None, Meta(description="from n = 100 on")]
    promised_ms: Annotated[tuple[float, float] | None, Meta(description="the shortest and longest of its pacing")]


class StagedExaminer(TypedDict):
    """An examiner under one pacing, over its calls."""

    pacing: str
    examiner: str
    calls: Annotated[int, Meta(description="that are scored")]
    invalid: Annotated[int, Meta(description="calls that are invalid for its own fault, and not counted further")]
    not_opened: Annotated[int, Meta(description="calls in which the system spoke before it")]
    goals: int
    sayings: int
    told: Annotated[int, Meta(description="sayings whose words it tells")]
    counts: Annotated[dict[str, int], Meta(description="of left_role, off_script, unstated, closed_early, cut_in, ...")]
    reactions: StagedReactions


class StagedShare(TypedDict):
    """A share of the variance. ci95: bootstrap over scenarios."""

    share: float | None
    ci95: Interval


class StagedVariance(TypedDict):
    """Whose the variance of a measure is: an analysis of variance of the scenarios that have all seeds and trials."""

    pacing: str
    measure: str
    scenarios: int
    left_out: Annotated[int, Meta(description="scenarios in which seeds or trials are missing")]
    systems: list[str]
    examiners: list[str]
    seeds: int
    trials: Annotated[int, Meta(description="with one a seed, the examiner's share holds what the system varies by")]
    shares: Annotated[dict[str, StagedShare], Meta(description="scenario, system, scenario x system, examiner, rest")]


class StagedItem(TypedDict):
    """A dialogue."""

    call: Annotated[str, Meta(description="folder of its recording")]
    system: str
    trial: int
    scenario: str
    family: str
    class_: str
    pacing: str
    examiner: str
    language: str
    reason: str | None
    spoke_first: bool
    only_echo: bool
    goals: list[StagedGoalJson]
    measures: Annotated[dict[str, float], Meta(description="by scale; what is not known is left out")]
    events: Annotated[list[dict[str, Any]], Meta(description="those that a judge marked, with its reasons")]
    examined: Annotated[StagedExamined | None, Meta(description="null: it cannot be told")]
    task: Annotated[dict[str, Any] | None, Meta(description="the judge's score of the dialogue, with its reason")]


class StagedVariantRow(StagedPlace):
    """A score of a system by the main setup and by another one, on the scenarios that are scored both ways."""

    measure: str
    n: int
    main: float
    other: float
    difference: Annotated[float, Meta(description="other minus main, paired by scenario")]
    ci95: Interval
    moves: Annotated[bool, Meta(description="whether the interval excludes 0")]


class StagedOrder(TypedDict):
    """The systems by one score, the best first."""

    pacing: str
    examiner: str
    measure: str
    main: list[str]
    other: list[str]
    changes: bool


class StagedVariant(TypedDict):
    """What another transcriber, judge or wording of the rubrics moves; all else is as in the main tables."""

    aspect: Literal["transcriber", "judge", "rubrics"]
    main: str
    other: str
    rows: list[StagedVariantRow]
    orders: list[StagedOrder]


class StagedJudging(JudgingSpent):
    """How judges were asked, and what that took, whenever it was."""

    rubrics: Annotated[list[int], Meta(description="the wordings, from 1")]
    reasons: Annotated[int, Meta(description="of marks in the main tables")]
    unquoted: Annotated[int, Meta(description="reasons that quote neither words nor a time; their marks are scored")]


class StagedSettings(TypedDict):
    """How the figures were computed."""

    fdbcore: str
    transcriber: Annotated[str | None, Meta(description="judged goals that nobody heard during the call")]
    judge: str | None
    resamples: int
    seed: int
    level: float
    power: float
    passes: Annotated[dict[str, float], Meta(description="the least of each measure that a dialogue needs to pass")]
    family: Annotated[int, Meta(description="how many comparisons p_holm is corrected for")]


class StagedProblem(TypedDict):
    """A call that is not scored, and why."""

    where: str
    reason: str


class StagedDocument(TypedDict):
    """The scores of staged dialogues."""

    schema: Literal["fdbcore.staged/1"]
    settings: StagedSettings
    rows: list[StagedRow]
    floors: list[StagedFloor]
    overall: Annotated[list[StagedOverall], Meta(description="none with one family")]
    event_means: Annotated[list[StagedEventMeans], Meta(description="of groups with a judge")]
    published: Annotated[StagedPublished | None, Meta(description="null unless asked for")]
    comparisons: list[StagedComparison]
    passes: Annotated[list[StagedPasses], Meta(description="of those groups in which it is known of any dialogue")]
    curves: Annotated[list[StagedCurve], Meta(description="over time and by goal")]
    findings: Annotated[list[StagedFinding], Meta(description="of systems with a slow examiner")]
    variants: Annotated[list[StagedVariant], Meta(description="by further transcribers, judges and wordings")]
    judging: Annotated[StagedJudging | None, Meta(description="null without a judge")]
    examiners: Annotated[list[StagedExaminer], Meta(description="the examiners, measured themselves")]
    variance: list[StagedVariance]
    items: list[StagedItem]
    problems: list[StagedProblem]
    warnings: list[str]
