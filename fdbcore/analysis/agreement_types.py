"""The types of the document of `fdbcore agree` of labels of calls, `fdbcore.label_agreement/1`.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.summary_types import Interval
from fdbcore.recording.labels import LabelKind
from fdbcore.recording.meta_types import Count
from fdbcore.types import Side


class AgreementEstimate(TypedDict):
    """A statistic with its interval over calls; null where it cannot be given, and why."""

    value: float | None
    ci95: Interval | None
    reason: str


class EdgeErrors(TypedDict):
    """How far an edge of the second is behind that of the first, of spans that are each other's nearest."""

    pairs: Count
    median_ms: Annotated[AgreementEstimate, Meta(description="of the size of the errors")]
    p90_ms: Annotated[AgreementEstimate, Meta(description="of the size of the errors")]
    bias_ms: Annotated[AgreementEstimate, Meta(description="their mean")]


class SpanAgreement(TypedDict):
    """How far two raters agree on the spans of a kind."""

    sides: list[Side]
    n: Annotated[list[Count], Meta(min_length=2, max_length=2, description="spans of the first, and of the second")]
    f1: Annotated[AgreementEstimate, Meta(description="a span is found if both edges are within the tolerance")]
    moment: NotRequired[Annotated[EdgeErrors, Meta(description="of a kind that has no length")]]
    onset: NotRequired[EdgeErrors]
    offset: NotRequired[EdgeErrors]


class ShareOfItems(TypedDict):
    """A share with its interval."""

    value: float
    ci95: Interval | None


class KindAgreement(TypedDict):
    """How far two raters agree on what contributions are."""

    labelled_by_both: Count
    only_first: Count
    only_second: Count
    both_share: Annotated[ShareOfItems, Meta(description="of all items, those that both have labelled")]
    kappa: Annotated[AgreementEstimate, Meta(description="Cohen's, over the items that both have labelled")]
    kinds: Annotated[list[str], Meta(description="the rows and columns of the table, none the last")]
    confusion: Annotated[list[list[Count]], Meta(description="rows: the first; columns: the second")]


class AlphaEstimate(AgreementEstimate):
    """Krippendorff's alpha over all raters."""

    n: Annotated[Count, Meta(description="items that at least two have labelled")]


class RaterPair(TypedDict):
    """Two raters compared."""

    first: str
    second: str
    spans: Annotated[dict[LabelKind, SpanAgreement], Meta(description="by kind, of those that both have looked for")]
    kinds: KindAgreement | None


class LabelAgreement(TypedDict):
    """How far raters agree on the same calls. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.label_agreement/1"]
    raters: Annotated[list[str], Meta(description="their files, or runs")]
    calls: Annotated[list[str], Meta(description="that all have labelled")]
    calls_not_labelled_by_all: Count
    tolerance_ms: Count
    paired_within_ms: Count
    pairs: list[RaterPair]
    alpha: AlphaEstimate | None
    problems: Annotated[dict[str, list[str]], Meta(description="what was left out, and of which calls")]
