"""Moments that are longer than nearly all of the other side: what got worse too rarely to move a median or a share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.differences import SIGNIFICANT
from fdbcore.analysis.gate_moments import Worst
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.matching import Matched
from fdbcore.errors import FdbError
from fdbcore.measures.measure import MomentKind
from fdbcore.measures.moments import KINDS, Moment
from fdbcore.stats.significance import exceedance_p, holm
from fdbcore.types import ticks_to_s

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import LongerMoments

RARE: Final = 0.01
"""The share of the other side's clusters that may have a longer moment of the kind."""
MOST_MOMENTS: Final = 20

_Found: TypeAlias = Sequence[tuple[int, str, Call, Moment]]
"""Moments of one kind: the length in ticks, the cluster of the call, the call, and the moment."""


def longer_moments(matched: Matched) -> list[LongerMoments]:
    """The kinds of moments of which the system of side A has more long ones than chance explains.

    Of each kind, the limit is the length that at most 1 % of the other side's clusters exceed; of fewer than 100, their
    longest. p is that of `exceedance_p`, corrected for all kinds that so few could show at all (Holm; Tarone 1990);
    kinds with p >= 0.05 are left out. At most MOST_MOMENTS of each are named, the longest first; of paired sides those
    in clusters that did not exceed the limit on the other side.
    """
    of_a, of_b = len({*matched.clusters_a}), len({*matched.clusters_b})
    found_a, found_b = _moments(matched.a, matched.clusters_a), _moments(matched.b, matched.clusters_b)
    told: list[LongerMoments] = []
    for kind in (each.id for each in KINDS):
        limit_ticks = _exceeded_by(found_b[kind], int(RARE * of_b))
        longer = sorted((each for each in found_a[kind] if each[0] > limit_ticks), key=lambda each: -each[0])
        above_a = {cluster for _, cluster, _, _ in longer}
        above_b = {cluster for ticks, cluster, _, _ in found_b[kind] if ticks > limit_ticks}
        if exceedance_p(len(above_a) + len(above_b), of_a, 0, of_b) >= SIGNIFICANT:
            continue  # all of them on side A would show nothing
        if matched.paired_by:
            longer = [each for each in longer if each[1] not in above_b]
        moments = [Worst(call, ticks_to_s(moment.start_tick), moment.text) for _, _, call, moment in longer]
        told.append(
            {
                "kind": kind,
                "longer_than_s": ticks_to_s(limit_ticks) if limit_ticks else None,
                "moments": len(longer),
                "a": {"clusters": len(above_a), "of": of_a},
                "b": {"clusters": len(above_b), "of": of_b},
                "p_holm": exceedance_p(len(above_a), of_a, len(above_b), of_b),
                "worst": [each.to_json() for each in moments[:MOST_MOMENTS]],
            }
        )
    for each, p_holm in zip(told, holm([each["p_holm"] for each in told]), strict=True):
        each["p_holm"] = p_holm
    return [each for each in told if each["p_holm"] < SIGNIFICANT]


def _moments(group: CallGroup, clusters: Sequence[str]) -> Mapping[MomentKind, _Found]:
    """The moments of the system in all calls that can be read."""
    found = defaultdict(list)
    for call, cluster in zip(group.calls, clusters, strict=True):
        try:
            moments = call.recording.moments
        except FdbError:
            continue
        for each in moments:
            if each.side == "B":
                found[each.kind].append((each.end_tick - each.start_tick, cluster, call, each))
    return found


def _exceeded_by(found: _Found, clusters: int) -> int:
    """The least length in ticks that at most so many clusters exceed; 0 if no more of them have a moment at all."""
    longest: dict[str, int] = {}
    for ticks, cluster, _, _ in found:
        longest[cluster] = max(ticks, longest.get(cluster, 0))
    return next(iter(sorted(longest.values(), reverse=True)[clusters:]), 0)
