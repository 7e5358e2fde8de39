"""Moments that are longer than those of the other side: what got worse too rarely to move a median or a share."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.differences import SIGNIFICANT
from fdbcore.analysis.facts import MOMENTS
from fdbcore.analysis.gate_moments import WORST, GateMoment, moment
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


class LongestMoments(TypedDict):
    """Moments of one kind to listen to, whatever a test says of it: this may be chance."""

    kind: MomentKind
    moments: Annotated[list[GateMoment], Meta(description="of side a, each longer than its like; first what grew most")]


RARE: Final = 0.1
"""A limit is one that at most this share of the clusters exceed: what got worse in more of them shows in measures."""
FEWEST: Final = 10
"""Of few clusters, at most this many exceed a limit."""


MOST_MOMENTS: Final = 20
LEAST_GROWTH_S: Final = 0.1
"""The least growth that anybody hears."""


@dataclass(frozen=True, slots=True)
class _ReadCall:
    """A call with the moments of its system, and the length in ticks from which each kind is one."""

    call: Call
    moments: Sequence[Moment]
    limits_ticks: Mapping[MomentKind, int]


ReadCalls: TypeAlias = Mapping[Path, _ReadCall]
_Pair: TypeAlias = tuple[Sequence[_ReadCall], Sequence[_ReadCall]]
"""The calls of A and of B that are compared with each other."""


@dataclass(frozen=True, slots=True)
class _Longer:
    """By how many ticks a moment is longer than its like on the other side, or than the limit of its kind.

    like: the moment of the same rank, and its call. same: the call itself on the other side, if it is known there.
    """

    ticks: int
    call: Call
    moment: Moment
    like: tuple[Call, Moment] | None = None
    same: Call | None = None

    def told(self) -> GateMoment:
        """As JSON values, beside its like.

        In the same call it is the one in its place, if that has as many of its kind, of any length; else that of its
        rank.
        """
        like = self.like
        if self.same is not None:
            with suppress(FdbError, ValueError):  # ValueError: the files have other moments than the table of the run
                mine, others = (
                    [
                        each
                        for each in call.recording.moments_of_any_length
                        if _is_of_system(each) and each.kind == self.moment.kind
                    ]
                    for call in (self.call, self.same)
                )
                is_alike = len(mine) == len(others)
                for of in (mine, others):
                    of.sort(key=lambda each: each.start_tick if is_alike else each.start_tick - each.end_tick)
                rank = [each.start_tick for each in mine].index(self.moment.start_tick)
                like = (self.same, others[rank]) if rank < len(others) else None
        return {**_told(self.call, self.moment), "was": like and _told(*like)}


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
            "worst": sorted((each.told() for each in above[:MOST_MOMENTS]), key=lambda each: -grown_s(each)),
        }


def longer_moments(compared: Sequence[Matched], read: ReadCalls) -> list[list[LongerMoments]]:
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


def longest_moments(matched: Matched, read: ReadCalls) -> list[LongestMoments]:
    """Of each kind the moments of A that are the most longer than their like, if any is by LEAST_GROWTH_S.

    Paired sides: than the one of the same call. Otherwise the longest is compared with the longest of B, the second
    with the second, and so on.
    """
    pairs = _pairs_of(matched, read) if matched.paired_by else [_together(_pairs_of(matched, read))]
    same = [each for pair in pairs for each in _same_calls(*pair)]
    told: list[LongestMoments] = []
    for kind in (each.id for each in KINDS):
        apart = [each for pair in same for each in _differences(kind, *pair, _common_limit_ticks(kind, read))]
        if matched.paired_by:
            apart.sort(key=lambda pair: -pair[0])
        most = [of for ticks, of in apart if of and ticks > 0][:MOST_MOMENTS]  # what follows opens their calls
        grown = [of.told() for of in most]
        if matched.paired_by:
            grown.sort(key=lambda each: -grown_s(each))
        heard = [each for each in grown if grown_s(each) >= LEAST_GROWTH_S][:WORST]
        told += [{"kind": kind, "moments": heard}] if heard else []
    return told


def grown_s(of: GateMoment) -> float:
    """By how many seconds a moment is longer than its like."""
    return of["length_s"] - (of["was"]["length_s"] if of["was"] else 0)


def read_moments(compared: Sequence[Matched]) -> ReadCalls:
    """All calls that can be read, each read once."""
    found = {}
    for call in {call.path: call for of in compared for group in (of.a, of.b) for call in group.calls}.values():
        try:
            reading = call.recording
            moments = [each for each in call.fact(MOMENTS, reading) if _is_of_system(each)]
            limits = {each.id: limit_ticks(each.id, settings_of(reading)) for each in KINDS}
        except FdbError:
            continue
        found[call.path] = _ReadCall(call, moments, limits)
    return found


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
        for of, longer in zip(compared, longer_moments(compared, read_moments(compared)), strict=True)
        if longer
    ]


def _questions(matched: Matched, read: ReadCalls) -> Iterator[_Question]:
    """Questions to a comparison: each kind of moment, of A; of B too if neither side is the later one."""
    pairs = _pairs_of(matched, read)
    ask = _of_pairs if matched.paired_by else _of_all
    for kind in (each.id for each in KINDS):
        from_ticks = _common_limit_ticks(kind, read)
        yield ask(kind, pairs, from_ticks)
        if not matched.is_later:
            yield replace(ask(kind, [(of_b, of_a) for of_a, of_b in pairs], from_ticks), exchanged=True)


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


def _of_all(kind: MomentKind, pairs: Sequence[_Pair], from_ticks: int) -> _Question:
    """The clusters of either side, each by its longest moment."""
    sizes, is_a = [], []
    for a, b in pairs:
        of_a, of_b = _of_kind(kind, a, from_ticks), _of_kind(kind, b, from_ticks)
        for found in (of_a, of_b):
            if found:
                sizes.append(found[0].ticks)
                is_a.append(found is of_a)
    longer = [of for _, of in _differences(kind, *_together(pairs), from_ticks) if of]
    of = sum(bool(a) for a, _ in pairs), sum(bool(b) for _, b in pairs)
    return _Question(kind, sizes, is_a, longer, of, False, from_ticks)


def _pairs_of(matched: Matched, read: ReadCalls) -> list[_Pair]:
    """The calls of both sides by their clusters."""
    a, b = _by_cluster(matched.a, matched.clusters_a, read), _by_cluster(matched.b, matched.clusters_b, read)
    pairs: list[_Pair] = [(a.get(name, ()), b.get(name, ())) for name in dict.fromkeys([*a, *b])]
    if matched.paired_by:  # more calls have more moments, so a cluster with fewer on one side is no pair
        pairs = [(of_a, of_b) for of_a, of_b in pairs if len(of_a) == len(of_b)]
    return pairs


def _by_cluster(group: CallGroup, clusters: Sequence[str], read: ReadCalls) -> Mapping[str, Sequence[_ReadCall]]:
    found = defaultdict(list)
    for call, cluster in zip(group.calls, clusters, strict=True):
        if call.path in read:
            found[cluster].append(read[call.path])
    return found


def _together(pairs: Sequence[_Pair]) -> _Pair:
    """All calls of A in these pairs, and all of B."""
    return [call for a, _ in pairs for call in a], [call for _, b in pairs for call in b]


def _same_calls(a: Sequence[_ReadCall], b: Sequence[_ReadCall]) -> Iterator[_Pair]:
    """The calls of a cluster with the same name on both sides; all of them together if the names are others."""
    by_name = {each.call.name: each for each in b}
    if {each.call.name for each in a} == by_name.keys():
        yield from (([each], [by_name[each.call.name]]) for each in a)
    else:
        yield a, b


def _common_limit_ticks(kind: MomentKind, read: ReadCalls) -> int:
    """The length beyond which moments of a kind are told in all of these calls."""
    return max((call.limits_ticks[kind] for call in read.values()), default=0)


def _differences(
    kind: MomentKind, a: Sequence[_ReadCall], b: Sequence[_ReadCall], from_ticks: int
) -> Iterator[tuple[int, _Longer | None]]:
    """The longest moment of A less that of B in ticks, then the second, and so on; each with that of A."""
    same = b[0].call if len(a) == len(b) == 1 else None
    for mine, other in zip_longest(_of_kind(kind, a, from_ticks), _of_kind(kind, b, from_ticks)):
        told = mine and replace(mine, like=other and (other.call, other.moment), same=same)
        yield (mine.ticks if mine else 0) - (other.ticks if other else 0), told


def _of_kind(kind: MomentKind, calls: Sequence[_ReadCall], from_ticks: int) -> list[_Longer]:
    """The moments of a kind in some calls, by how much they are longer than `from_ticks`; the longest first."""
    found = [
        _Longer(each.end_tick - each.start_tick - from_ticks, of.call, each)
        for of in calls
        for each in of.moments
        if each.kind == kind and each.end_tick - each.start_tick > from_ticks
    ]
    return sorted(found, key=lambda each: -each.ticks)


def _is_of_system(moment: Moment) -> bool:
    """True if a moment is B's, or of both: B may begin to speak over A, or not stop for it."""
    return moment.side == "B" or moment.kind == "talk_over"


def _told(call: Call, of: Moment) -> GateMoment:
    return {**moment(call, ticks_to_s(of.start_tick), of.text), "length_s": ticks_to_s(of.end_tick - of.start_tick)}
