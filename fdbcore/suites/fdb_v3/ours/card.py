"""Our measures on the scorecard: scales, figures, differences, and what failures and repeated trials come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from fdbcore.suites.fdb_v3.ours.terms import COMPARED, FAILURES, MEASURES, OursMeasure
from fdbcore.types.scorecard import Difference, Figure, Scale

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Group
    from fdbcore.suites.fdb_v3.ours.ours_types import OursComparison, OursRow

TEST: Final = (
    "Differences are paired, on the recordings that both systems have. Shares have Newcombe's interval of two of "
    "Wilson's, the others that of the cluster bootstrap. p is by sign flips of whole clusters, of the mean difference. "
    "Clusters are speakers, then scenarios; the wider interval and the larger p are shown. Holm's correction is over "
    "all pairs of systems and all measures of a condition"
)
TERMS: Final[Mapping[str, str]] = {
    **{each.label: f"{each.meaning} Over: {each.over}." for each in MEASURES.values()},
    **{f"failure: {label}": meaning for label, meaning in FAILURES.values()},
    "pass@k": "The chance that at least one of k trials of a recording passes (arXiv 2107.03374).",
    "pass^k": "The chance that all of k trials of a recording pass (arXiv 2406.12045).",
}


def _scale(measure: OursMeasure) -> Scale:
    is_time = measure.unit == "ms"
    return Scale(
        measure.id,
        measure.label,
        measure.direction,
        measure.unit,
        0 if is_time else 3,
        main=measure.id in COMPARED,
        part="" if measure.id in COMPARED else measure.part,
        bounds=None if is_time else (0.0, 1.0),
        pools=measure.pooled,
    )


OURS: Final = (
    *(_scale(MEASURES[name]) for name in COMPARED),
    *(_scale(measure) for measure in MEASURES.values() if measure.id not in COMPARED),
)


def ours_figures(row: OursRow) -> dict[str, Figure]:
    """The figures of a row, by the ids of their scales."""
    return {name: Figure(each["value"], None, each["ci95"], each["n"]) for name, each in row["measures"].items()}


def ours_differences(groups: Iterable[V3Group]) -> Iterator[Difference]:
    """All comparisons of systems."""
    for group in groups:
        yield from (_difference(group["condition"], one) for one in group["comparisons"])


def _difference(condition: str, one: OursComparison) -> Difference:
    return Difference(
        condition, one["a"], one["b"], one["measure"], one["n"], one["difference"], one["ci95"], one["p"], one["p_holm"]
    )
