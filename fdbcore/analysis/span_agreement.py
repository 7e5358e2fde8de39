"""Agreement of raters on the same calls: where spans begin and end, and of what kind they are.

- **Boundaries.** At each edge, two spans of the same side and kind are a pair if each one's edge is the nearest to the
  other's, and they are less than PAIRED_WITHIN_S apart. The error is the second minus the first.
- **F1** of spans: spans are matched one to one if their onsets and offsets are both within the tolerance.
- **Kinds.** An item is a stretch of overlapping contributions of one side (interruption, backchannel, side talk,
  noise), whoever labelled them. The kind that a rater gives it is that of its longest label there. Cohen's kappa is
  over items that both raters labelled; items that only one labelled are counted separately. Krippendorff's alpha is
  over items that at least two raters labelled.

Intervals resample calls.
"""

from collections.abc import Sequence
from typing import Annotated, Final, NotRequired, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.analysis.summaries import Interval
from fdbcore.recording.labels import CONTRIBUTIONS, Label, LabelKind
from fdbcore.stats import raters
from fdbcore.stats.bootstrap import MEDIAN, Estimate, Floats, Quantile, bootstrap_ci, mean, ratio_of_sums
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.types import Side
from fdbcore.types.units import Count

PAIRED_WITHIN_S: Final = 1.0
NONE: Final = len(CONTRIBUTIONS)

Call: TypeAlias = Sequence[Sequence[Label]]
"""The labels of one call by each rater."""

Ratings: TypeAlias = npt.NDArray[np.int64]
"""(items, raters): the index of a kind in CONTRIBUTIONS, or raters.MISSING."""


class AgreementEstimate(TypedDict):
    """A statistic with its interval over calls; null where it cannot be given, and why."""

    value: float | None
    ci95: Interval | None
    reason: str


class EdgeErrors(TypedDict):
    """Errors of an edge: its delay in the second behind that in the first, of spans that are each other's nearest."""

    pairs: Count
    median_ms: Annotated[AgreementEstimate, Meta(description="of the size of the errors")]
    p90_ms: Annotated[AgreementEstimate, Meta(description="of the size of the errors")]
    bias_ms: Annotated[AgreementEstimate, Meta(description="their mean")]


class SpanAgreement(TypedDict):
    """Agreement of two raters on the spans of a kind."""

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
    """Agreement of two raters on what contributions are."""

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


def span_agreement(calls: Sequence[Call], kind: LabelKind, sides: Sequence[Side], tolerance_ms: int) -> SpanAgreement:
    """The agreement of two raters on spans of one kind, as JSON values: F1, and the errors at each edge."""
    pairs = [[(spans(call[0], side, kind), spans(call[1], side, kind)) for side in sides] for call in calls]
    counts = np.array([_found_counts(call, tolerance_ms / 1000) for call in pairs])
    found: SpanAgreement = {
        "sides": list(sides),
        "n": [int(sum(len(pair[rater]) for call in pairs for pair in call)) for rater in (0, 1)],
        "f1": _estimate(bootstrap_ci(counts, np.arange(len(counts)), ratio_of_sums)),
    }
    if kind == "turn_end":
        found["moment"] = _errors(pairs, 1)
    else:
        found["onset"], found["offset"] = _errors(pairs, 0), _errors(pairs, 1)
    return found


def spans(labels: Sequence[Label], side: Side, kind: LabelKind) -> Floats:
    """The spans of a side and kind in seconds, (n, 2), sorted by start; overlapping speech is joined."""
    found = sorted((label.start_s, label.end_s) for label in labels if (label.side, label.kind) == (side, kind))
    united: list[list[float]] = []
    for start, end in found:
        if kind == "speech" and united and start < united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        else:
            united.append([start, end])
    return np.array(united, dtype=np.float64).reshape(-1, 2)


def _found_counts(call: Sequence[tuple[Floats, Floats]], tolerance_s: float) -> tuple[int, int]:
    """Numerator and denominator of F1 in one call: twice the matched spans, and all spans of both raters."""
    return (
        sum(2 * found_by_both(first, second, tolerance_s) for first, second in call),
        sum(len(first) + len(second) for first, second in call),
    )


def found_by_both(first: Floats, second: Floats, tolerance_s: float) -> int:
    """The number of spans that match one to one with both edges within the tolerance. The spans must not overlap.

    Matching in order gives the maximum, because two matches that cross can be uncrossed.
    """
    found = row = 0
    for span in first:
        while row < len(second) and (second[row] < span - tolerance_s - 1e-9).any():
            row += 1  # too early by one of its edges for this span, so for all later ones
        if row < len(second) and (second[row] <= span + tolerance_s + 1e-9).all():
            found, row = found + 1, row + 1
    return found


def _errors(calls: Sequence[Sequence[tuple[Floats, Floats]]], column: int) -> EdgeErrors:
    """The errors at one edge in ms: median and p90 of their size, and their mean (bias)."""
    errors = [
        [error for first, second in call for error in edge_errors(first[:, column], second[:, column])]
        for call in calls
    ]
    values = 1000 * np.array([error for of_call in errors for error in of_call])
    clusters = np.repeat(np.arange(len(errors)), [len(of_call) for of_call in errors])
    sizes = np.abs(values)
    return {
        "pairs": len(values),
        "median_ms": _estimate(bootstrap_ci(sizes, clusters, MEDIAN)),
        "p90_ms": _estimate(bootstrap_ci(sizes, clusters, Quantile(0.9))),
        "bias_ms": _estimate(bootstrap_ci(values, clusters, mean)),
    }


def edge_errors(first: Floats, second: Floats) -> list[float]:
    """Second minus first in seconds, for moments that are each other's nearest and less than PAIRED_WITHIN_S apart."""
    if not len(first) or not len(second):
        return []
    apart = second[None, :] - first[:, None]
    nearest_second, nearest_first = np.abs(apart).argmin(axis=1), np.abs(apart).argmin(axis=0)
    pairs = ((a, b) for a, b in enumerate(nearest_second.tolist()) if nearest_first[b] == a)
    return [float(apart[a, b]) for a, b in pairs if abs(apart[a, b]) < PAIRED_WITHIN_S]


def kind_agreement(calls: Sequence[Call], sides: Sequence[Side]) -> KindAgreement | None:
    """Cohen's kappa of two raters, and the items that only one labelled, as JSON values; None without items."""
    items = [_items(call, sides) for call in calls]
    if not sum(map(len, items)):
        return None
    tables = np.array([_table(ratings) for ratings in items])
    both = tables[:, :NONE, :NONE].reshape(len(tables), -1)
    of_call, all_of_call = both.sum(axis=1), tables.sum(axis=(1, 2))
    total = tables.sum(axis=0)
    share = wilson_by_cluster(of_call, all_of_call)
    return {
        "labelled_by_both": int(of_call.sum()),
        "only_first": int(total[:NONE, NONE].sum()),
        "only_second": int(total[NONE, :NONE].sum()),
        "both_share": {"value": float(of_call.sum() / all_of_call.sum()), "ci95": share},
        "kappa": _estimate(bootstrap_ci(both.astype(np.float64), np.arange(len(both)), raters.kappa)),
        "kinds": [*CONTRIBUTIONS, "none"],
        "confusion": total.tolist(),
    }


def _table(ratings: Ratings) -> npt.NDArray[np.int64]:
    """The confusion matrix of two raters: how often kind i (or none) of the first meets kind j of the second."""
    table = np.zeros((NONE + 1, NONE + 1), dtype=np.int64)
    np.add.at(table, tuple(np.where(ratings == raters.MISSING, NONE, ratings).T), 1)
    return table


def alpha(calls: Sequence[Call], sides: Sequence[Side]) -> AlphaEstimate | None:
    """Krippendorff's alpha over all raters, as JSON values; None if no item was labelled by two."""
    items = [_items(call, sides) for call in calls]
    parts = np.array([raters.alpha_parts(raters.nominal(ratings, NONE)).sum(axis=0) for ratings in items])
    n = sum(int(((ratings != raters.MISSING).sum(axis=1) >= 2).sum()) for ratings in items)
    return {**_estimate(bootstrap_ci(parts, np.arange(len(parts)), raters.alpha)), "n": n} if n else None


def _items(call: Call, sides: Sequence[Side]) -> Ratings:
    return np.concatenate([np.zeros((0, len(call)), dtype=np.int64), *(items_of_side(call, side) for side in sides)])


def items_of_side(call: Call, side: Side) -> Ratings:
    """The items of one side: stretches of overlapping contributions, with the kind of each rater's longest label."""
    labels = sorted(
        (label.start_s, label.end_s, CONTRIBUTIONS.index(label.kind), rater)
        for rater, of_rater in enumerate(call)
        for label in of_rater
        if label.side == side and label.kind in CONTRIBUTIONS
    )
    items: list[list[int]] = []
    longest: list[float] = []
    reached = -1.0
    for start, end, kind, rater in labels:
        if start >= reached:
            items.append([raters.MISSING] * len(call))
            longest = [0.0] * len(call)
        if end - start > longest[rater]:
            items[-1][rater], longest[rater] = kind, end - start
        reached = max(reached, end)
    return np.array(items, dtype=np.int64).reshape(-1, len(call))


def _estimate(estimate: Estimate) -> AgreementEstimate:
    return {"value": estimate.value, "ci95": estimate.interval, "reason": estimate.reason}
