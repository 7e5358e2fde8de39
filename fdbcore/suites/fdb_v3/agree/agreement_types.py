"""The types of the documents of agreement on disfluencies and on verdicts, for type checkers and for the schemas."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from fdbcore.suites.fdb_v3.document_types import V3AgreementFigure
from fdbcore.suites.fdb_v3.released.released_types import Disfluency


class TagRater(TypedDict):
    """Who tagged recordings."""

    name: str
    recordings: int


class TagAgreement(TypedDict):
    """How far raters agree on whether recordings have a disfluency of one class."""

    kind: Disfluency
    n: Annotated[int, Meta(description="recordings that two raters or more tagged")]
    tagged: Annotated[list[int], Meta(description="of these by each rater with this class, in the order of raters")]
    identical: Annotated[float | None, Meta(description="share on which all of its raters say the same")]
    alpha: Annotated[float | None, Meta(description="Krippendorff's, nominal; null if all say the same throughout")]
    ci95: Annotated[tuple[float, float] | None, Meta(description="of alpha, over recordings; null where there is none")]
    reason: Annotated[str, Meta(description="why alpha, or its interval, is null")]


class DisfluencyAgreement(TypedDict):
    """What `fdbcore agree` says of tags."""

    schema: Literal["fdbcore.disfluency_agreement/1"]
    raters: list[TagRater]
    classes: list[TagAgreement]
    problems: list[dict[str, str]]


class VerdictRaterJson(TypedDict):
    """Who gave verdicts. kind: a judge is a model, the exact matcher, or a measure."""

    name: str
    kind: Literal["person", "judge"]
    calls: int


class VerdictComparison(TypedDict):
    """How far raters agree in one metric."""

    metric: Literal["arguments", "response", "interruption", "turn_take"]
    between: Literal["people", "judge and people", "judges"]
    raters: Annotated[list[str], Meta(description="two, or all people; 'people' is what most of them say")]
    n: Annotated[int, Meta(description="calls on which all, or of more than two raters two, gave a verdict")]
    yes: Annotated[list[int], Meta(description="of these by each rater")]
    identical: Annotated[V3AgreementFigure, Meta(description="share on which all say the same")]
    alpha: Annotated[V3AgreementFigure, Meta(description="Krippendorff's, nominal")]
    kappa: Annotated[V3AgreementFigure | None, Meta(description="Cohen's; null: there are more than two raters")]


class VerdictAgreement(TypedDict):
    """How far people, judges, the exact matcher and measures agree on calls. Intervals are over calls."""

    schema: Literal["fdbcore.verdict_agreement/1"]
    raters: list[VerdictRaterJson]
    comparisons: list[VerdictComparison]
    problems: list[dict[str, str]]
