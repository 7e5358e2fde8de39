"""The types of the key of a sample and of the document of agreement. They are for type checkers and for the schemas."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypedDict

from msgspec import Meta

Interval: TypeAlias = Annotated[tuple[float, float] | None, Meta(description="95 %; null where there is none")]


class KeyedDialogue(TypedDict):
    """Which dialogue stands behind a name that says nothing."""

    dialogue: Annotated[str, Meta(description="its name on the page and in ratings: D001")]
    call: Annotated[str, Meta(description="folder of its recording, absolute")]
    system: str
    pacing: str
    family: str
    scenario: str
    trial: int


class RatingKey(TypedDict):
    """The key of a sample. Raters do not get it."""

    schema: Literal["fdbcore.rating_key/1"]
    suite: Literal["staged"]
    sample: Annotated[str, Meta(description="tells samples apart, and says nothing")]
    seed: int
    dialogues: Annotated[list[KeyedDialogue], Meta(description="in the order of the page")]


class RatedBy(TypedDict):
    """A person or a judge."""

    name: str
    kind: Literal["person", "judge"]
    dialogues: Annotated[int, Meta(description="of which there is a rating, or a mark of an event")]


class RatingEstimate(TypedDict):
    """A statistic. reason: why it, or its interval, is null."""

    value: float | None
    ci95: Interval
    reason: str


class RatingComparison(TypedDict):
    """How far raters agree in one metric. Intervals resample dialogues."""

    metric: Literal["turn_taking", "instruction_following", "task_score"]
    family: Annotated[str | None, Meta(description="of a task score, whose rubric is that of a family; else null")]
    between: Literal["people", "judge and people", "judges"]
    raters: Annotated[list[str], Meta(description="two, or all people; 'people' is the mean of all who rated")]
    n: Annotated[int, Meta(description="dialogues that all, or of more than two raters two, have rated")]
    cannot_tell: Annotated[int, Meta(description="dialogues left out because one could not tell")]
    not_rated: Annotated[int, Meta(description="dialogues left out because one has not rated them")]
    means: Annotated[list[float | None], Meta(description="of each rater, over the n dialogues")]
    alpha_interval: RatingEstimate
    alpha_ordinal: RatingEstimate
    pearson: Annotated[RatingEstimate | None, Meta(description="null: there are more than two raters")]
    spearman: RatingEstimate | None


class RatingProblem(TypedDict):
    """What was left out, and why."""

    where: str
    reason: str


class RatingAgreement(TypedDict):
    """How far people and judges agree on dialogues."""

    schema: Literal["fdbcore.rating_agreement/1"]
    raters: list[RatedBy]
    comparisons: list[RatingComparison]
    problems: list[RatingProblem]
