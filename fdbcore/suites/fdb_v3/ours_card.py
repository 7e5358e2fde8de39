"""Our measures on the scorecard: scales, figures, differences, and what failures and repeated trials come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from fdbcore.suites.fdb_v3.ours_terms import COMPARED, FAILURES, MEASURES, OursMeasure
from fdbcore.types.scorecard import Difference, Figure, Scale

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Document, V3Group
    from fdbcore.suites.fdb_v3.ours_types import OursComparison, OursFigure, OursPasses, OursRow

TEST: Final = (
    "paired differences on the recordings that both have; shares: Newcombe's interval of two of Wilson's, otherwise "
    "cluster bootstrap; p of the mean difference by sign flips of whole clusters; by speaker and by scenario, the "
    "wider interval and the larger p; Holm over all pairs of systems and measures of a condition"
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


def ours_note(row: OursRow) -> str:
    """How many calls failed, by class; empty if none did."""
    counts = ", ".join(f"{count} {FAILURES[kind][0]}" for kind, count in row["failures"].items())
    return f"failures: {counts}" if counts else ""


def ours_differences(groups: Iterable[V3Group]) -> Iterator[Difference]:
    """All comparisons of systems."""
    for group in groups:
        yield from (_difference(group["condition"], one) for one in group["comparisons"])


def _difference(condition: str, one: OursComparison) -> Difference:
    return Difference(
        condition, one["a"], one["b"], one["measure"], one["n"], one["difference"], one["ci95"], one["p"], one["p_holm"]
    )


def least_p_notes(document: V3Document) -> Iterator[str]:
    """A sentence for each condition with so few clusters that no difference can be told from none.

    Of n clusters sign flips give a p of 2 / 2**n or more, and Holm's correction multiplies the least p of m by m.
    """
    limit = 1 - document["settings"]["level"]
    for group in document["groups"]:
        own = [item for item in document["items"] if item["condition"] == group["condition"]]
        speakers, scenarios = ({item[name] for item in own} for name in ("speaker", "scenario"))
        n, kind = min((len(speakers), "speakers"), (len(scenarios), "scenarios"))
        least, m = min(2 / 2**n, 1.0), len(group["comparisons"])
        if m and m * least > limit:
            yield (
                f"{kind.capitalize()} ({group['condition']}): {n}. So p is {least:.2g} at least, and "
                f"{min(m * least, 1.0):.2g} when it is corrected for {m} comparisons: over {limit:.2g}, "
                "so no difference can be told from none by it, however large."
            )


def trial_statements(groups: Iterable[V3Group]) -> Iterator[str]:
    """How often each system passes in the most trials that it has of a recording."""
    for group in groups:
        most: dict[str, OursPasses] = {each["system"]: each for each in group["passes"] if each["k"] > 1}
        for system, each in most.items():
            once, always = (_shown(each[name]) for name in ("pass_at_k", "pass_all_k"))
            yield (
                f"{system} ({group['condition']}): of {each['k']} trials of a recording, one at least passes: {once} "
                f"(pass@{each['k']}); all do: {always} (pass^{each['k']})"
            )


def _shown(figure: OursFigure) -> str:
    if figure["value"] is None:
        return "-"
    interval = "" if figure["ci95"] is None else " [{:.2f}, {:.2f}]".format(*figure["ci95"])
    return f"{figure['value']:.2f}{interval}"
