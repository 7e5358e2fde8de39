"""The types of the document that compares people's ratings of replies with measures.

They are for type checkers and for the schema: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.suites.dialogue_acts.document_types import AgreementMeasure, Clusters, LeftOut


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
