"""The types of the documents of the suite: scored responses, the agreement of two annotators, and people's ratings.

They need msgspec, and are for type checkers: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.summary_types import JudgingSpent, Measures
from fdbcore.suites.dialogue_acts.act_types import ActJson, Interval, LiveReplyJson, TurnsJson
from fdbcore.suites.dialogue_acts.scoring.alignment import Operation
from fdbcore.suites.dialogue_acts.tag_sets import TagSetJson

Kind: TypeAlias = Literal["system", "ceiling", "baseline"]
Weights: TypeAlias = Literal["given", "uniform"]
Clusters: TypeAlias = Annotated[
    int, Meta(description="of turns: the recorded users that were resampled, each with all its turns")
]


class LeftOut(TypedDict):
    """What was left out, and why."""

    where: str
    reason: str


class AnnotatedWith(TypedDict):
    """By what a model annotated the replies to a set, and what that took, be it asked now or earlier."""

    set: str
    annotator: str
    locale: str
    acts: Annotated[str, Meta(description="hash of the rules of the acts")]
    rules: Annotated[str, Meta(description="hash of all that the model was told beside what it annotates")]
    server: str | None
    sdk: str | None
    models: Annotated[dict[str, int], Meta(description="answers by exact version")]
    answers: int
    refusals: int
    tokens_in: int
    tokens_out: int
    usd: Annotated[float | None, Meta(description="at list prices; null where they are not known")]


class HeardWith(TypedDict):
    """What a recogniser was sent for this scoring; what it had heard before was not sent again."""

    asr: str
    pieces: int
    seconds: float
    usd: Annotated[float | None, Meta(description="at list prices; null where they are not known")]


class ScoredWith(TypedDict):
    """How the figures were computed."""

    fdbcore: str
    annotators: list[str]
    repeats: Annotated[int, Meta(description="annotations of each reply")]
    annotated_with: Annotated[list[AnnotatedWith], Meta(description="one for each set and model that was to annotate")]
    as_given: Annotated[bool, Meta(description="importances were used as they are, whatever they sum to")]
    merged: Annotated[bool, Meta(description="neighbours of one act were one step")]
    first_reference: Annotated[bool, Meta(description="only the first reference of a record counted")]
    partial_credit: NotRequired[Annotated[bool, Meta(description="swaps of related acts cost their factor")]]
    resamples: int
    seed: int
    level: float
    power: float
    sd_ddof: int
    family: Annotated[int, Meta(description="how many comparisons p_holm is corrected for")]


class ScoredSet(TypedDict):
    """A set of records."""

    name: str
    n: int
    locale: str
    generators: list[str]
    topics: Annotated[dict[str, int], Meta(description="records by topic")]


class MeanJson(TypedDict):
    """The mean of a measure. sd: of single replies."""

    mean: float | None
    sd: NotRequired[float | None]
    ci95: NotRequired[Interval]


class RowJson(TypedDict):
    """A system, the ceiling or a baseline on one set."""

    set: str
    system: str
    annotator: Annotated[str | None, Meta(description="null for a baseline, which nobody annotates")]
    kind: Kind
    weights: Weights
    n: int
    clusters: NotRequired[Clusters]
    no_reply: Annotated[int, Meta(description="replies that were not given; they score as replies without acts")]
    unscored: int
    note: NotRequired[Annotated[str, Meta(description="of a baseline: what it replies, and what it ties with")]]
    pairs: NotRequired[Annotated[int, Meta(description="of the shuffled references: how many were scored")]]
    measures: dict[str, MeanJson]


class PublishedRow(TypedDict):
    """A row of the paper's Table 1."""

    set: str
    system: str
    measures: dict[str, MeanJson]


class ComparisonJson(TypedDict):
    """A paired difference of two systems, a - b."""

    set: str
    annotator: str | None
    measure: str
    a: str
    b: str
    n: int
    clusters: NotRequired[Clusters]
    difference: float | None
    ci95: Interval
    p: float | None
    sd: Annotated[float | None, Meta(description="of the differences; of turns, those of recorded users")]
    differing: NotRequired[Annotated[int, Meta(description="in how many of the n the two differ")]]
    smallest_detectable: Annotated[float | None, Meta(description="null where all differences are the same")]
    p_holm: float | None


class ReferenceJson(TypedDict):
    """The reference that counts."""

    text: str
    steps: list[ActJson]
    index: int


class ContentVerdict(TypedDict):
    """What a judge says of the content of a reply."""

    right: Annotated[bool | None, Meta(description="null: unscored; the reason says why")]
    reason: str
    repeats: NotRequired[Annotated[list[bool | None], Meta(description="of each answer, if there are several")]]


class ResponseJson(TypedDict):
    """A reply. reason: why there is none."""

    text: str | None
    steps: list[ActJson]
    reason: NotRequired[str]
    live: NotRequired[Annotated[LiveReplyJson, Meta(description="of a reply that was given in a call")]]
    verdict: NotRequired[Annotated[ContentVerdict, Meta(description="of a judge on its content, with --judge")]]


class StepJson(TypedDict):
    """A step of the alignment; an index is null where the step takes no act."""

    operation: Operation
    reference_index: int | None
    prediction_index: int | None
    cost: float


class ItemJson(TypedDict):
    """A reply with its scores."""

    set: str
    id: str
    topic: str
    system: str
    annotator: str
    kind: Kind
    repeat: int
    trial: NotRequired[Annotated[int, Meta(description="of a system with several replies to a record, from 1")]]
    recorded_user: NotRequired[
        Annotated[str, Meta(description="of a turn: who was recorded; intervals resample these")]
    ]
    background: str
    user: str
    reference: ReferenceJson
    response: ResponseJson
    scores: dict[str, float]
    path: list[StepJson]


class CaseJson(TypedDict):
    """An example. item: its place in `items`."""

    case: str
    item: int


class SwapJson(TypedDict):
    """One act in the place of another, as weight per reply."""

    reference: str
    predicted: str
    weight: float


class TopicScores(TypedDict):
    """The scores of one topic."""

    topic: str
    n: int
    wlcs: float
    wed: float


class Diagnosis(TypedDict):
    """The errors of one system, as one annotator labels its replies."""

    acts: list[str]
    matrix: Annotated[list[list[float]], Meta(description="[act of the reference][act of the reply]; the last is none")]
    missing: dict[str, float]
    redundant: dict[str, float]
    swapped: list[SwapJson]
    topics: list[TopicScores]
    set: str
    system: str
    annotator: str
    kind: Kind


class ContentRow(TypedDict):
    """In how many replies to a set a judge finds the content of a system right; a reply that was not given is not."""

    set: str
    system: str
    n: Annotated[int, Meta(description="replies with a verdict")]
    right: int
    unscored: int
    share: Annotated[float | None, Meta(description="null without a verdict")]
    ci95: Interval
    clusters: NotRequired[Clusters]


class JudgedBy(JudgingSpent):
    """Who judged the content of replies, and what that took."""

    judge: str


class ContentJudging(JudgedBy):
    """What a judge says of the content of replies."""

    rows: list[ContentRow]
    comparisons: NotRequired[
        Annotated[list[ComparisonJson], Meta(description="of shares; p_holm is corrected together with that of acts")]
    ]


class LiveTiming(TypedDict):
    """The timing measures of a system, pooled over the calls in which its replies were given."""

    system: str
    calls: int
    measures: Measures


class ActsDocument(TypedDict):
    """The scores of responses on sets of records."""

    schema: Literal["fdbcore.dialogue_acts/1"]
    settings: ScoredWith
    tag_set: NotRequired[Annotated[TagSetJson, Meta(description="the acts; without it, the seven of the paper")]]
    sets: list[ScoredSet]
    rows: list[RowJson]
    comparisons: list[ComparisonJson]
    items: list[ItemJson]
    cases: list[CaseJson]
    diagnosis: list[Diagnosis]
    published: list[PublishedRow]
    problems: list[LeftOut]
    warnings: list[str]
    page_language: NotRequired[Annotated[str, Meta(description="of the page; without it, English")]]
    variance: NotRequired[
        Annotated[
            dict[str, dict[str, list[float]]],
            Meta(
                description="of WED of single replies, by set and annotator: "
                "the share of each part, then its 95 % interval; with one trial, record x system holds what that adds"
            ),
        ]
    ]
    notes: NotRequired[Annotated[list[str], Meta(description="what a choice does to the figures")]]
    judging: NotRequired[Annotated[ContentJudging, Meta(description="of the content of replies, with --judge")]]
    heard_with: NotRequired[Annotated[HeardWith, Meta(description="with --asr")]]
    timing: NotRequired[Annotated[list[LiveTiming], Meta(description="of live parties")]]
    turns: NotRequired[Annotated[TurnsJson, Meta(description="of calls of any kind, with --turns")]]


class AgreementMeasure(TypedDict):
    """How far two annotators agree. reason: why there is no value or no interval."""

    value: float | None
    ci95: Interval
    reason: str


class ActsAgreement(TypedDict):
    """How far two annotators agree on the acts of the same replies."""

    schema: Literal["fdbcore.agreement/1"]
    annotators: list[str]
    n: int
    replies: int
    records: int
    measures: dict[str, AgreementMeasure]
    acts: list[str]
    confusion: list[list[int]]
    problems: list[LeftOut]


class ReplyRaterJson(TypedDict):
    """A person."""

    name: str
    replies: Annotated[int, Meta(description="that were rated, and are scored")]


class ReplyComparison(TypedDict):
    """How well a measure goes with ratings, or ratings go with each other."""

    set: str
    annotator: Annotated[str | None, Meta(description="by whom the measure is; null: people alone are compared")]
    system: Annotated[str | None, Meta(description="whose replies; null: those of all systems")]
    measure: Annotated[Literal["wlcs", "wed", "f1"] | None, Meta(description="null: people alone are compared")]
    raters: Annotated[list[str], Meta(description="'people' is the mean of all who rated a reply")]
    n: Annotated[int, Meta(description="replies that have both; of more than two people, that two have rated")]
    records: int
    clusters: NotRequired[Clusters]
    pearson: Annotated[AgreementMeasure | None, Meta(description="null: there are more than two raters")]
    spearman: AgreementMeasure | None
    alpha: Annotated[AgreementMeasure | None, Meta(description="Krippendorff's, interval scale; null for a measure")]


class RepliesRated(TypedDict):
    """How well WLCS, WED and F1 go with people's ratings of the same replies.

    Intervals resample records; of turns, recorded users.
    """

    schema: Literal["fdbcore.acts_ratings/1"]
    raters: list[ReplyRaterJson]
    comparisons: list[ReplyComparison]
    problems: list[LeftOut]
