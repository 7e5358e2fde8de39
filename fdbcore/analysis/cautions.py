"""Warnings that intervals may be too narrow: one place decides this for every screen and page."""

from collections.abc import Iterator, Mapping
from typing import Final

from fdbcore.analysis.groups import units_text
from fdbcore.analysis.summaries import Measures, Summary
from fdbcore.measures.catalogue import headlines
from fdbcore.stats.bootstrap import FEW_CLUSTERS

TOO_FEW: Final = f"with fewer than {FEW_CLUSTERS} an interval may be too narrow"


def cautions_of(groups: Mapping[str, Measures], column: str | None = None) -> Iterator[str]:
    """The warnings about the intervals of these groups.

    groups: the summaries of each group, by its name; "" for all calls. column: the column that intervals resample; None
    for the calls.
    """
    sizes = {
        name: max((summary["clusters"] for summary in measures.values()), default=0)
        for name, measures in groups.items()
    }
    few = {name: size for name, size in sizes.items() if 1 < size < FEW_CLUSTERS}
    if few:
        (first, size), *others = few.items()
        parts = [f"only {size} {units_text(column, size)}{_in(first)}", *(f"{n}{_in(name)}" for name, n in others)]
        yield f"{', '.join(parts)}: {TOO_FEW}"
    rare: dict[tuple[str, ...], list[str]] = {}
    for name, label in headlines().items():
        having = tuple(
            group for group, size in sizes.items() if size >= FEW_CLUSTERS and _is_rare(groups[group].get(name))
        )
        if having:
            rare.setdefault(having, []).append(label)
    for having, labels in rare.items():
        listed = " and ".join([*filter(None, [", ".join(having[:-1])]), having[-1]])
        prefix = f"for {listed}, " if having != ("",) else ""
        units = f"{FEW_CLUSTERS} {units_text(column, FEW_CLUSTERS)}"
        yield f"{prefix}{', '.join(labels)}: fewer than {units} decide this, so its interval may be too narrow"


def _is_rare(summary: Summary | None) -> bool:
    """True if a share's events come in few clusters; not of what never or always happens."""
    return summary is not None and 0 < summary.get("clusters_with_either", 0) < FEW_CLUSTERS


def _in(name: str) -> str:
    return f" in {name}" if name else ""
