"""The types of a scores document of the suite. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.endpoints.examiner.agenda import Verdict

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


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
    spoke_first: Annotated[int, Meta(description="calls that the system opened, before the examiner had spoken")]
    measures: dict[str, StagedMean]


class StagedFamiliesMean(TypedDict):
    """The mean over families of their means. ci95: scenarios are resampled within each family."""

    mean: float | None
    ci95: Interval
    families: Annotated[int, Meta(description="that have the measure: daily dialogues have no task score")]


class StagedOverall(TypedDict):
    """A system with one examiner under one pacing, over families: each counts the same."""

    pacing: str
    examiner: str
    system: str
    families: list[str]
    n: Annotated[int, Meta(description="scenarios")]
    measures: dict[str, StagedFamiliesMean]


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
    detectable: float | None


class StagedPassesOfK(TypedDict):
    """Passing in k trials: at least once (pass@k), every time (pass^k). Intervals: over scenarios."""

    k: int
    n: Annotated[int, Meta(description="scenarios with k trials or more of which it is known whether they pass")]
    pass_at_k: float | None
    pass_at_k_ci95: Interval
    pass_all_k: float | None
    pass_all_k_ci95: Interval


class StagedPasses(TypedDict):
    """How often a system passes scenarios by the rule in the settings, over all scenarios or those of one family."""

    pacing: str
    examiner: str
    system: str
    family: Annotated[str | None, Meta(description="null: all families")]
    dialogues: int
    passed: int
    unknown: Annotated[int, Meta(description="dialogues of which it is not known; they are not among the others")]
    by_k: list[StagedPassesOfK]


class StagedGoalJson(TypedDict):
    """What became of a goal. start_s, end_s: from its first wording to the decision."""

    goal: str
    verdict: Verdict
    sayings: Annotated[int, Meta(description="wordings that it took")]
    start_s: float | None
    end_s: float | None
    words: Annotated[str | None, Meta(description="what a recogniser heard of B after the call, if it was asked")]


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
    goals: list[StagedGoalJson]
    measures: Annotated[dict[str, float], Meta(description="by scale; what is not known is left out")]
    events: Annotated[list[dict[str, Any]], Meta(description="those that a judge marked, with its reasons")]
    task: Annotated[dict[str, Any] | None, Meta(description="the judge's score of the dialogue, with its reason")]


class StagedVariantRow(TypedDict):
    """A score of a system by the main setup and by another one, on the scenarios that are scored both ways."""

    pacing: str
    examiner: str
    system: str
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


class StagedJudging(TypedDict):
    """How judges were asked, and what that took, whenever it was."""

    repeats: Annotated[int, Meta(description="how often each question was asked; a mark is the median")]
    rubrics: Annotated[list[int], Meta(description="the wordings, from 1")]
    requests: int
    counts: Annotated[dict[str, float], Meta(description="what vendors counted, by unit")]
    usd: Annotated[float, Meta(description="of the requests with a known price")]
    unpriced: Annotated[int, Meta(description="requests without one")]
    priced_on: Annotated[str | None, Meta(description="the day of the oldest list price")]
    stopped: Annotated[str | None, Meta(description="why not all was asked")]


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
    overall: Annotated[list[StagedOverall], Meta(description="none with one family")]
    comparisons: list[StagedComparison]
    passes: Annotated[list[StagedPasses], Meta(description="of those groups in which it is known of any dialogue")]
    variants: Annotated[list[StagedVariant], Meta(description="by further transcribers, judges and wordings")]
    judging: Annotated[StagedJudging | None, Meta(description="null without a judge")]
    items: list[StagedItem]
    problems: list[StagedProblem]
    warnings: list[str]
