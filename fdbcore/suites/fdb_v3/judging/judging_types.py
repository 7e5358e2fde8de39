"""The types of verdicts of judges in a scores document. They need msgspec, for type checkers and the schema alone."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.judging_types import JudgingSpent


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
