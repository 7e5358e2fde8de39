"""The types of a scores document of the suite. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.summary_types import JudgingSpent
from fdbcore.suites.fdb_v3.released.released_types import Difficulty, Disfluency, Domain
from fdbcore.suites.fdb_v3.scenario_types import DataCard, ExpectedCallEntry, LabelKind
from fdbcore.suites.fdb_v3.terms import FailureClass

Label: TypeAlias = Annotated[LabelKind, Meta(description="which of the two labels decides what is expected")]
SpeechSpans: TypeAlias = Annotated[list[tuple[float, float]], Meta(description="stretches of speech, in s")]
SecondsFromStart: TypeAlias = Annotated[float | None, Meta(description="s from the beginning of the recording")]
WiderInterval: TypeAlias = Annotated[
    tuple[float, float] | None, Meta(description="95 %, the wider of both kinds of clusters; null where there is none")
]
ClusterKind: TypeAlias = Annotated[
    Literal["speaker", "scenario"] | None, Meta(description="the clusters of the interval; null without one")
]


class V3Rate(TypedDict):
    """A published share or mean over recordings. n: those that it is taken over; none: it is null."""

    value: float | None
    n: int


class V3Latency(TypedDict):
    """Published figures of latencies from the user's end, in s. upper_median_s: at n // 2 of the sorted ones."""

    n: int
    mean_s: float
    stdev_s: Annotated[float, Meta(description="of a sample; 0 for one")]
    least_s: float
    most_s: float
    upper_median_s: float


class V3Compat(TypedDict):
    """A system by the published measures, with one of the labels. What is not known, for want of words, is null."""

    system: str
    label: Label
    n: Annotated[int, Meta(description="recordings, those without words too")]
    heard: Annotated[int, Meta(description="recordings of whose words something is known; all but Pass@1 is of these")]
    rates: dict[str, V3Rate]
    latencies: dict[str, V3Latency | None]
    failures: Annotated[dict[str, int], Meta(description="recordings that do not pass, by why: wrong_tools, ...")]


class V3Slice(TypedDict):
    """Pass@1 of a system over some recordings: of a domain, a difficulty, a number of calls, a disfluency, ...

    rates: of tool selection, arguments and response, over what was turn-taken and over all.
    """

    system: str
    slice: str
    label: Label
    passed: int
    n: int
    rates: dict[str, V3Rate]


class V3Lost(TypedDict):
    """Calls of a system that are not scored."""

    system: str
    failed: Annotated[int, Meta(description="the system broke off, or could not be reached")]
    invalid: Annotated[int, Meta(description="the harness is to blame")]
    missing: Annotated[int, Meta(description="not held yet, or they cannot be read")]


class OursFigure(TypedDict):
    """A measure over recordings, in its unit."""

    value: Annotated[float | None, Meta(description="a share or mean from 0 to 1, or a median in ms")]
    ci95: WiderInterval
    by: ClusterKind
    n: Annotated[int, Meta(description="calls that have it")]


class OursRow(TypedDict):
    """A system over all recordings, or over those of one slice."""

    system: str
    slice: Annotated[str, Meta(description="empty: all")]
    n: Annotated[int, Meta(description="calls: recordings times trials")]
    recordings: int
    failures: Annotated[dict[FailureClass, int], Meta(description="calls that do not pass, by the first class")]
    measures: dict[str, OursFigure]


class OursComparison(TypedDict):
    """System a less system b, over the recordings that both have."""

    measure: str
    a: str
    b: str
    n: Annotated[int, Meta(description="recordings in which both have the measure")]
    difference: float | None
    ci95: WiderInterval
    by: ClusterKind
    p: float
    p_corrected: Annotated[
        float | None,
        Meta(description="for all comparisons of the group, passed first; null: not tested, as passed does not differ"),
    ]


class OursPasses(TypedDict):
    """How often a system passes at least once in k trials of a recording, and in all of k."""

    system: str
    k: int
    pass_at_k: OursFigure
    pass_all_k: OursFigure


class OursRanks(TypedDict):
    """How alike people and recordings rank systems by a measure, on the scenarios that both have."""

    condition: str
    measure: str
    systems: int
    scenarios: int
    rho: Annotated[float | None, Meta(description="Spearman's; null with fewer than three systems, or equal figures")]


class V3Group(TypedDict):
    """All systems that met the same tools, or whose results were released."""

    condition: Annotated[str, Meta(description="how the tools behave: their latency, faults; or: released results")]
    compat: list[V3Compat]
    slices: Annotated[list[V3Slice], Meta(description="of the published measures")]
    ours: Annotated[list[OursRow], Meta(description="by the repaired label: each system, and its slices")]
    comparisons: Annotated[list[OursComparison], Meta(description="of each two systems, tested together")]
    passes: Annotated[list[OursPasses], Meta(description="for each number of trials; empty if there is one of each")]


class V3Verdict(TypedDict):
    """A verdict of the first judge. Of several answers it is what more than half of them say."""

    right: Annotated[bool | None, Meta(description="null: unscored; the reason says why")]
    reason: str
    repeats: NotRequired[Annotated[list[bool | None], Meta(description="of each answer, if there are several")]]


class V3SaidPart(TypedDict):
    """Words of the system that a judge took for filler, or for the key information."""

    text: str
    start_s: Annotated[float, Meta(description="from the beginning of the user's recording")]
    end_s: float


class V3Verdicts(TypedDict):
    """What the first judge says of a call, by the released label."""

    arguments: Annotated[list[V3Verdict | None], Meta(description="of each expected call; null: it was not made")]
    response: Annotated[V3Verdict | None, Meta(description="null: it was not asked")]
    filler: Annotated[V3SaidPart | None, Meta(description="null: none, or unscored")]
    key: Annotated[V3SaidPart | None, Meta(description="null: none, or unscored")]
    speech_reason: Annotated[str | None, Meta(description="of filler and key; null: it was not asked")]


class V3AgreementFigure(TypedDict):
    """A figure of agreement, with an interval over scenarios. reason: why it, or its interval, is null."""

    value: float | None
    ci95: Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]
    reason: str


class V3JudgeAgreement(TypedDict):
    """How far two judges agree, or a judge and the exact matcher, on what both gave a verdict on."""

    what: Annotated[Literal["arguments", "response", "filler"], Meta(description="arguments: of each pair of calls")]
    system: Annotated[str | None, Meta(description="null: all systems")]
    raters: Annotated[tuple[str, str], Meta(description="judges, or 'exact matcher'")]
    n: int
    both: Annotated[int, Meta(description="yes by both")]
    first_only: int
    second_only: int
    neither: int
    share: Annotated[V3AgreementFigure, Meta(description="on which they agree")]
    kappa: Annotated[V3AgreementFigure, Meta(description="Cohen's")]


class V3PassedBy(TypedDict):
    """Pass@1 as published, released label, by who decides on arguments."""

    system: str
    by: Annotated[str, Meta(description="a judge, or 'exact matcher'")]
    passed: int
    n: Annotated[int, Meta(description="recordings that are scored")]


class V3Judging(JudgingSpent):
    """How judges were asked, what that took, and how far they agree with the exact matcher and with each other."""

    judges: Annotated[list[str], Meta(description="the first one gives the verdicts of all tables")]
    agreement: list[V3JudgeAgreement]
    passed: list[V3PassedBy]


class V3Call(TypedDict):
    """A call of a tool."""

    name: str
    arguments: Any
    status: str
    start_s: Annotated[SecondsFromStart, Meta(description="when its arguments were complete")]
    end_s: Annotated[SecondsFromStart, Meta(description="of its result")]
    result: Annotated[Any, Meta(description="null where there is none, or it is not known")]
    error: str | None


class V3Item(TypedDict):
    """A system on a recording."""

    condition: str
    system: str
    trial: int
    line: Annotated[str | None, Meta(description="what the call goes over; null: clean, or a released result")]
    call: Annotated[str | None, Meta(description="folder of the call; null: a released result")]
    record: str
    scenario: str
    speaker: str
    domain: Domain
    difficulty: Difficulty
    disfluencies: list[Disfluency]
    rollback: bool
    script: str
    length_s: float
    user_end_s: SecondsFromStart
    user_speech: SpeechSpans
    system_speech: SpeechSpans
    transcript: Annotated[str | None, Meta(description="what the system said; null: nobody listened")]
    calls: list[V3Call]
    as_released: list[ExpectedCallEntry]
    repaired: list[ExpectedCallEntry]
    repairs: Annotated[list[str], Meta(description="why the repaired label differs, a line each")]
    state: Annotated[Any, Meta(description="what the calls left in the world")]
    matched: Annotated[list[bool], Meta(description="of each expected call, as released: by the exact matcher")]
    verdicts: Annotated[V3Verdicts | None, Meta(description="of the first judge; null without one")]
    values: Annotated[dict[str, float], Meta(description="by scale; what is not known is left out")]
    compat_failure: Annotated[str | None, Meta(description="by the label as released; null: it passes")]
    failure: Annotated[FailureClass | None, Meta(description="ours, by the repaired label; null: it passes")]


class V3PublishedSystem(TypedDict):
    """A system over all recordings, and its Pass@1 by slice."""

    system: str
    measures: Annotated[dict[str, float], Meta(description="shares, and mean latencies in s, by names of `compat`")]
    passed: Annotated[dict[str, float], Meta(description="Pass@1 of each slice")]


class V3PublishedStudyRow(TypedDict):
    """A system on the recording of a case study. null: the table has none."""

    system: str
    measures: dict[str, float | None]


class V3PublishedStudy(TypedDict):
    """One recording, and what all systems did with it."""

    record: str
    about: str
    rows: list[V3PublishedStudyRow]


class V3Published(TypedDict):
    """The tables of the paper. They have no intervals."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    source: str
    conditions: str
    notes: list[str]
    slices: Annotated[dict[str, int], Meta(description="recordings of each slice, which the rates fit")]
    systems: list[V3PublishedSystem]
    case_studies: list[V3PublishedStudy]


class V3Settings(TypedDict):
    """How the figures were computed."""

    fdbcore: str
    transcriber: str | None
    resamples: int
    seed: int
    level: float


class V3Played(TypedDict):
    """How a run played its recordings."""

    run: str
    clock: str
    vad: str
    max_s: float
    ends: Annotated[
        dict[str, float] | None, Meta(description="quiet_s, most_s; null: calls last as long as the recording and tail")
    ]
    user: Annotated[dict[str, Any], Meta(description="how a recording is played: channel, level_dbov, tail_s, ...")]
    tools: Annotated[dict[str, Any], Meta(description="their settings: list, latency, timeout_s, faults")]


class V3Problem(TypedDict):
    """A call that is not scored, or not in full, and why."""

    where: str
    reason: str


class V3Document(TypedDict):
    """The scores of systems on recordings of disfluent speech, with tools."""

    schema: Literal["fdbcore.fdb_v3/1"]
    settings: V3Settings
    data: Annotated[list[DataCard], Meta(description="of each set of recordings that the scored calls come from")]
    played: Annotated[list[V3Played], Meta(description="of each run; released results say nothing of theirs")]
    groups: list[V3Group]
    people: Annotated[list[OursRanks], Meta(description="people and recordings; empty without calls of both")]
    lost: list[V3Lost]
    judging: Annotated[V3Judging | None, Meta(description="null without a judge")]
    published: Annotated[V3Published | None, Meta(description="null where it was not asked for")]
    items: list[V3Item]
    problems: list[V3Problem]
    warnings: list[str]
