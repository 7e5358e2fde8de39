"""Where an interval may be too narrow: one place decides it for every screen and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.groups import units_text
from fdbcore.measures.catalogue import headlines
from fdbcore.stats.bootstrap import FEW_CLUSTERS

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures, Summary

TOO_FEW: Final = f"with fewer than {FEW_CLUSTERS} an interval may be too narrow"


def cautions(groups: Mapping[str, Measures], column: str | None = None) -> Iterator[str]:
    """What a reader must know of the intervals of these groups, "" for all calls; nothing where there are none.

    groups: the summaries of each, by name. column: what intervals resample, else the calls.
    """
    sizes = {name: _clusters(measures) for name, measures in groups.items()}
    few = {name: size for name, size in sizes.items() if 1 < size < FEW_CLUSTERS}
    if few:
        (first, size), *others = few.items()
        told = [f"only {size} {units_text(column, size)}{_in(first)}", *(f"{n}{_in(name)}" for name, n in others)]
        yield f"{', '.join(told)}: {TOO_FEW}"
    rare: dict[tuple[str, ...], list[str]] = {}
    for name, label in headlines().items():
        of = tuple(group for group, size in sizes.items() if size >= FEW_CLUSTERS and _is_rare(groups[group].get(name)))
        if of:
            rare.setdefault(of, []).append(label)
    for of, labels in rare.items():
        whose = f"for {_listed(of)}, " if of != ("",) else ""
        units = f"{FEW_CLUSTERS} {units_text(column, FEW_CLUSTERS)}"
        so = f"{whose}these rest on fewer than {units}, so their intervals may be too narrow"
        yield f"few events: {so}: {', '.join(labels)}"


def _clusters(measures: Measures) -> int:
    return max((summary["clusters"] for summary in measures.values()), default=0)


def _is_rare(summary: Summary | None) -> bool:
    """Whether a share's events come in few clusters; not of what never or always happens."""
    return summary is not None and 0 < summary.get("clusters_with_either", 0) < FEW_CLUSTERS


def _in(name: str) -> str:
    return f" in {name}" if name else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*filter(None, [", ".join(names[:-1])]), names[-1]])
