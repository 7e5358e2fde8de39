"""The types of the document of agreement on verdicts. They are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from fdbcore.suites.fdb_v3.judging.judging_types import V3AgreementFigure


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
