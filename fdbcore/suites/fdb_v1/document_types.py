"""The types of a scores document of the suite. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.summary_types import JudgingSpent

RangeBy: TypeAlias = Literal["transcriber", "detector", "judge"]
Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class V1Figure(TypedDict):
    """A measure over samples: a share, a mean, or for what is compared before and after a trimmed mean."""

    value: float | None
    sd: Annotated[float | None, Meta(description="of its items; null of a share")]
    ci95: Interval
    n: Annotated[int, Meta(description="items: opportunities of a share, values of a mean")]


class V1Row(TypedDict):
    """A system in one task, over all samples or those of one group."""

    condition: Annotated[str, Meta(description="the task; of v1.5 whether the user was disturbed, too")]
    group: Annotated[str | None, Meta(description="the folder of the samples; null: all of them")]
    system: str
    n: Annotated[int, Meta(description="samples that are scored, each trial counted")]
    measures: dict[str, V1Figure]


class V1Range(TypedDict):
    """What a figure is by several recognisers, detectors, or judges and wordings of their rubric, over the samples that
    all of them have it of; the first is the one of the tables, which may be of more samples."""

    condition: str
    system: str
    measure: str
    by: RangeBy
    n: Annotated[int, Meta(description="samples, each trial counted, that all of them have the figure of")]
    values: dict[str, float]
    low: float
    high: float


class V1Comparison(TypedDict):
    """System a minus system b in one task, on the samples that both have."""

    condition: str
    a: str
    b: str
    measure: str
    n: int
    difference: float
    ci95: Interval
    p: float | None
    p_holm: float | None
    detectable: float | None


class V1PairedTest(TypedDict):
    """How the system sounds after an overlap, against before it or against the clean sample.

    The t-test is the published one: of samples judged "respond" that have words on each side, against all of the clean
    sample, without outliers, Holm over the tests of one task and system. ours: all samples, from the end of the overlap
    on, nothing left out, by sign flips, Holm over all tests of the document.
    """

    condition: str
    system: str
    feature: str
    against: Literal["before", "clean"]
    n: int
    outliers: int
    difference: float | None
    ci95: Interval
    t: float | None
    p: float | None
    p_holm: float | None
    d_z: float | None
    ours_n: int
    ours_difference: float | None
    ours_ci95: Interval
    ours_p: float | None
    ours_p_holm: float | None


class V1Item(TypedDict):
    """One sample with one system. Times are in s; spans are from start to end."""

    call: str
    condition: str
    group: str
    sample: str
    system: str
    trial: int
    length_s: float
    labels: list[tuple[float, float]]
    user: Annotated[list[tuple[float, float]], Meta(description="where the user speaks, by voice activity")]
    system_speech: list[tuple[float, float]]
    words: Annotated[str | None, Meta(description="of the system; null if they are not known")]
    marks: Annotated[dict[str, Any] | None, Meta(description="of the judge; did: by our rubric of behaviours")]
    figures: dict[str, list[float]]
    before: NotRequired[Annotated[dict[str, float], Meta(description="as published; v1.5, disturbed")]]
    after: NotRequired[dict[str, float]]
    whole: NotRequired[Annotated[dict[str, float], Meta(description="as published; v1.5, clean")]]


class V1Agreement(TypedDict):
    """How far another judge, or another wording, agrees with the first one, on samples that both have marks of."""

    rubric: Annotated[str, Meta(description="rating; behaviour: as published; did: ours")]
    first: str
    second: str
    agree: Annotated[V1Figure, Meta(description="the share of equal answers")]
    kappa: Annotated[V1Figure, Meta(description="Cohen's; null if all answers are the same")]


class V1Settings(TypedDict):
    """What scored."""

    fdbcore: str
    transcribers: list[str]
    detectors: Annotated[list[str], Meta(description="the first is that of the recordings")]
    judge: str | None
    human: Annotated[str | None, Meta(description="the file with the backchannels of people")]
    utmos: str | None
    resamples: int
    seed: int
    level: float
    power: float
    family: Annotated[int, Meta(description="comparisons that p is corrected for")]


class V1Problem(TypedDict):
    """What was left out, and why."""

    where: str
    reason: str


class V1Document(TypedDict):
    """The scores of recorded users of v1 or v1.5."""

    schema: Literal["fdbcore.fdb_v1/1"]
    version: Literal["fdb-v1", "fdb-v1.5"]
    settings: V1Settings
    rows: list[V1Row]
    comparisons: list[V1Comparison]
    ranges: list[V1Range]
    tests: list[V1PairedTest]
    published: Annotated[list[V1Row], Meta(description="figures of the published table; empty unless asked for")]
    judging: JudgingSpent | None
    agreement: list[V1Agreement]
    items: list[V1Item]
    problems: list[V1Problem]
    warnings: list[str]
