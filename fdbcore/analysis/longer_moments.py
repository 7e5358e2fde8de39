"""Moments that are longer than those of the other side: what got worse too rarely to move a median or a share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.differences import SIGNIFICANT
from fdbcore.analysis.facts import MOMENTS
from fdbcore.analysis.gate_moments import GateMoment, moment
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.matching import ComparedSide, Matched, side
from fdbcore.errors import FdbError
from fdbcore.measures.measure import MomentKind
from fdbcore.measures.moments import KINDS, Moment, limit_ticks
from fdbcore.sources.recorded import settings_of
from fdbcore.stats.largest import Largest
from fdbcore.types import ticks_to_s
from fdbcore.types.units import Count


class Exceeding(TypedDict):
    """The number of a side's calls, or clusters of calls, with a moment that is as long, or longer by as much."""

    clusters: Count
    of: Count


class LongerMoments(TypedDict):
    """A kind of moment that is longer on one side, in more calls than chance explains."""

    kind: MomentKind
    longer_in: Annotated[Literal["a", "b"], Meta(description="the side that has them; a, if b is its baseline")]
    least_s: Annotated[
        float,
        Meta(
            description="paired: by how much they are longer at least than their like in the same calls of the other "
            "side; unpaired: how long they are at least"
        ),
    ]
    moments: Annotated[Count, Meta(description="how many, of the side that has them")]
    a: Exceeding
    b: Exceeding
    p: Annotated[float, Meta(description="corrected for all limits, kinds and comparisons of the document")]
    worst: Annotated[list[GateMoment], Meta(description="what to listen to, the worst first")]


class LongerBetween(TypedDict):
    """Two groups of calls, and the moments that are longer in one of them."""

    title: Annotated[str, Meta(description="which calls; empty for all")]
    a: ComparedSide
    b: ComparedSide
    paired_by: Annotated[str | None, Meta(description="call name, or a column; null where too few have their like")]
    longer: Annotated[list[LongerMoments], Meta(description="what got worse, if too rarely to move a measure")]


RARE: Final = 0.1
"""A limit is one that at most this share of the clusters exceed: what got worse in more of them shows in measures."""
FEWEST: Final = 10
"""Of few clusters, at most this many exceed a limit."""
MOST_MOMENTS: Final = 20

_ByCluster: TypeAlias = Mapping[str, Sequence["_ReadCall"]]
_Pair: TypeAlias = tuple[Sequence["_ReadCall"], Sequence["_ReadCall"]]
"""The calls of A and of B in a cluster."""


@dataclass(frozen=True, slots=True)
class _ReadCall:
    """A call with the moments of its system, and the length in ticks from which each kind is one."""

    call: Call
    moments: Sequence[Moment]
    limits_ticks: Mapping[MomentKind, int]


@dataclass(frozen=True, slots=True)
class _Longer:
    """The excess in ticks of a moment over its like on the other side, or over the limit of its kind."""

    ticks: int
    call: Call
    moment: Moment


@dataclass(frozen=True)
class _Question:
    """A question: does one side of a comparison have longer moments of a kind?

    sizes, is_a: of each cluster that differs, by how many ticks at most, and whether A has the longer moment. longer:
    the moments of A that are longer than their like, or than `from_ticks` if the clusters are no pairs. of: how many
    clusters of A and B are compared. exchanged: A is the side b of the document.
    """

    kind: MomentKind
    sizes: Sequence[int]
    is_a: Sequence[bool]
    longer: Sequence[_Longer]
    of: tuple[int, int]
    is_paired: bool
    from_ticks: int
    exchanged: bool = False

    @cached_property
    def largest(self) -> Largest:
        """The clusters with the largest sizes."""
        most = max(FEWEST, int(RARE * min(self.of)))
        return Largest.of(self.sizes, self.is_a, most, None if self.is_paired else self.of)

    def told(self, p: float) -> LongerMoments:
        """The moments above the limit above which A has the most, as JSON values."""
        n, _ = self.largest.most_uneven()
        least_ticks = sorted(self.sizes, reverse=True)[n - 1]
        above = sorted((each for each in self.longer if each.ticks >= least_ticks), key=lambda each: -each.ticks)
        in_a = sum(self.largest.is_a[:n])
        sides: list[Exceeding] = [{"clusters": in_a, "of": self.of[0]}, {"clusters": n - in_a, "of": self.of[1]}]
        a, b = reversed(sides) if self.exchanged else sides
        return {
            "kind": self.kind,
            "longer_in": "b" if self.exchanged else "a",
            "least_s": ticks_to_s(least_ticks if self.is_paired else least_ticks + self.from_ticks),
            "moments": len(above),
            "a": a,
            "b": b,
            "p": p,
            "worst": [
                moment(each.call, ticks_to_s(each.moment.start_tick), each.moment.text) for each in above[:MOST_MOMENTS]
            ],
        }


def longer_moments(compared: Sequence[Matched]) -> list[list[LongerMoments]]:
    """Of each comparison, the kinds of moments of which side A has more long ones than chance explains.

    Paired sides: of each cluster with as many calls on both sides, the longest moment of a call is compared with the
    longest of the same call, the second with the second, and so on; one without its like with the limit of its kind.
    The cluster counts for the side that is ahead by the most. Otherwise each cluster counts by its longest moment. The
    limit is the one above which A has the most clusters, of all that few exceed (RARE, FEWEST); what may be a limit
    does not depend on which side a moment is of, so the test is exact (see `Largest`). If A is no later than B, B is
    asked for too.

    p is the probability that chance shows as much above any limit, in any kind of any of the comparisons: a sum, in
    which a kind that is too rare to show so much counts nothing (Tarone 1990, A Modified Bonferroni Method for
    Discrete Data). Kinds with p >= 0.05 are left out. At most MOST_MOMENTS are named, the worst first; of paired sides
    only moments that are longer than their like.
    """
    read = _read(compared)
    asked = [
        (number, question)
        for number, matched in enumerate(compared)
        for question in _questions(matched, read)
        if question.largest.above
    ]
    told: list[list[LongerMoments]] = [[] for _ in compared]
    for number, question in asked:
        _, tail = question.largest.most_uneven()
        if tail < SIGNIFICANT and (p := sum(each.largest.chance(tail) for _, each in asked)) < SIGNIFICANT:
            told[number].append(question.told(p))
    return told


def longer_between(compared: Sequence[Matched]) -> list[LongerBetween]:
    """The comparisons in which one side has longer moments; see `longer_moments`."""
    return [
        {
            "title": of.title,
            "a": side(of.a.name, of.clusters_a),
            "b": side(of.b.name, of.clusters_b),
            "paired_by": of.paired_by,
            "longer": longer,
        }
        for of, longer in zip(compared, longer_moments(compared), strict=True)
        if longer
    ]


def _read(compared: Sequence[Matched]) -> Mapping[Path, _ReadCall]:
    """All calls that can be read, each read once."""
    found = {}
    for call in {call.path: call for of in compared for group in (of.a, of.b) for call in group.calls}.values():
        try:
            reading = call.recording
            moments = [each for each in call.fact(MOMENTS, reading) if each.side == "B"]
            limits = {each.id: limit_ticks(each.id, settings_of(reading)) for each in KINDS}
        except FdbError:
            continue
        found[call.path] = _ReadCall(call, moments, limits)
    return found


def _questions(matched: Matched, read: Mapping[Path, _ReadCall]) -> Iterator[_Question]:
    """The questions to a comparison: each kind of moment, of A; of B too if neither side is the later one."""
    a, b = _by_cluster(matched.a, matched.clusters_a, read), _by_cluster(matched.b, matched.clusters_b, read)
    pairs: list[_Pair] = [(a.get(name, ()), b.get(name, ())) for name in dict.fromkeys([*a, *b])]
    if matched.paired_by:  # more calls have more moments, so a cluster with fewer on one side is no pair
        pairs = [(of_a, of_b) for of_a, of_b in pairs if len(of_a) == len(of_b)]
    ask = _of_pairs if matched.paired_by else _of_all
    for kind in (each.id for each in KINDS):
        from_ticks = max((call.limits_ticks[kind] for call in read.values()), default=0)
        yield ask(kind, pairs, from_ticks)
        if not matched.is_later:
            yield replace(ask(kind, [(of_b, of_a) for of_a, of_b in pairs], from_ticks), exchanged=True)


def _by_cluster(group: CallGroup, clusters: Sequence[str], read: Mapping[Path, _ReadCall]) -> _ByCluster:
    found = defaultdict(list)
    for call, cluster in zip(group.calls, clusters, strict=True):
        if call.path in read:
            found[cluster].append(read[call.path])
    return found


def _of_pairs(kind: MomentKind, pairs: Sequence[_Pair], from_ticks: int) -> _Question:
    """The clusters of both sides, each by the largest difference; by none if it is as large in either direction."""
    sizes, is_a, longer = [], [], list[_Longer]()
    for a, b in pairs:
        apart = [each for same in _same_calls(a, b) for each in _differences(kind, *same, from_ticks)]
        up, down = max((ticks for ticks, _ in apart), default=0), -min((ticks for ticks, _ in apart), default=0)
        if up != down:
            sizes.append(max(up, down))
            is_a.append(up > down)
        if up > down:
            longer += [replace(of, ticks=ticks) for ticks, of in apart if of]
    return _Question(kind, sizes, is_a, longer, (len(pairs), len(pairs)), True, from_ticks)


def _same_calls(a: Sequence[_ReadCall], b: Sequence[_ReadCall]) -> Iterator[_Pair]:
    """The calls of a cluster with the same name on both sides; all of them together if the names are others."""
    by_name = {each.call.name: each for each in b}
    if {each.call.name for each in a} == by_name.keys():
        yield from (([each], [by_name[each.call.name]]) for each in a)
    else:
        yield a, b


def _differences(
    kind: MomentKind, a: Sequence[_ReadCall], b: Sequence[_ReadCall], from_ticks: int
) -> Iterator[tuple[int, _Longer | None]]:
    """The longest moment of A less that of B in ticks, then the second, and so on; each with that of A."""
    for mine, other in zip_longest(_of_kind(kind, a, from_ticks), _of_kind(kind, b, from_ticks)):
        yield (mine.ticks if mine else 0) - (other.ticks if other else 0), mine


def _of_all(kind: MomentKind, pairs: Sequence[_Pair], from_ticks: int) -> _Question:
    """The clusters of either side, each by its longest moment."""
    sizes, is_a, longer = [], [], list[_Longer]()
    for a, b in pairs:
        of_a, of_b = _of_kind(kind, a, from_ticks), _of_kind(kind, b, from_ticks)
        longer += of_a
        for found in (of_a, of_b):
            if found:
                sizes.append(found[0].ticks)
                is_a.append(found is of_a)
    of = sum(bool(a) for a, _ in pairs), sum(bool(b) for _, b in pairs)
    return _Question(kind, sizes, is_a, longer, of, False, from_ticks)


def _of_kind(kind: MomentKind, calls: Sequence[_ReadCall], from_ticks: int) -> list[_Longer]:
    """The moments of a kind in some calls, by how much they are longer than `from_ticks`; the longest first."""
    found = [
        _Longer(each.end_tick - each.start_tick - from_ticks, of.call, each)
        for of in calls
        for each in of.moments
        if each.kind == kind and each.end_tick - each.start_tick > from_ticks
    ]
    return sorted(found, key=lambda each: -each.ticks)
