"""The types of the document of agreement on disfluencies. They are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

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
