"""Differences of systems on the items that both have: value, interval, p, p corrected, and what so many can show.

Where items have clusters, values are pooled as in `fdbcore.results.pooling` on both sides, and the larger p of all
kinds of clusters is given. Without clusters a difference is the mean of the differences of single ids. p is that the
mean difference of ids is 0, by flipping their signs (`fdbcore.stats.significance`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from fdbcore.results.pooling import ScoredItem, by_id, by_system, draws_of_ids, means_of_ids, values_of, widest
from fdbcore.stats.bootstrap import RESAMPLES, Floats, bootstrap_columns
from fdbcore.stats.significance import (
    cluster_sums,
    detectable_difference,
    gatekeeper_p,
    holm,
    pairs_needed,
    sign_flip_p,
    spread_of,
)
from fdbcore.types.scorecard import Difference, Measure


class Pair(NamedTuple):
    """The items of two sides under one condition, each with its name."""

    condition: str
    a: str
    b: str
    items_a: Sequence[ScoredItem]
    items_b: Sequence[ScoredItem]


def every_two(items: Iterable[ScoredItem]) -> Iterator[Pair]:
    """Every two systems of a condition, condition by condition."""
    systems = by_system(items)
    for condition in dict.fromkeys(condition for condition, _ in systems):
        own = [(system, found) for (of, system), found in systems.items() if of == condition]
        for (a, items_a), (b, items_b) in combinations(own, 2):
            yield Pair(condition, a, b, items_a, items_b)


class _Compared(NamedTuple):
    """A difference without its p, and the differences of single ids, by the order of their names."""

    difference: Difference
    of_ids: Mapping[str, float]
    pair: Pair


def differences(pairs: Iterable[Pair], measures: Sequence[Measure]) -> list[Difference]:
    """The differences of these pairs in the measures that are compared; Holm's family is all of them."""
    found = [each for pair in pairs for scale in measures if scale.compared for each in _compared(pair, scale)]
    clusters = [_clusters(each.pair, each.of_ids) for each in found]
    return with_holm(
        [
            _with_p(each.difference, max((p for p in ps if p is not None), default=None))
            for each, kinds in zip(found, clusters, strict=True)
            for values in [np.array([*each.of_ids.values()])[:, None]]
            for ps in [[sign_flip_p(values, own)[0] for own in kinds.values()]]
        ]
    )


def gated_differences(pairs: Iterable[Pair], measures: Sequence[Measure]) -> list[Difference]:
    """Like `differences`, but the first measure that is compared is tested first, for all pairs; the others of a pair
    only where it differs (`gatekeeper_p`). p_corrected is None where that leaves one untested.
    """
    found = [each for pair in pairs for scale in measures if scale.compared for each in _compared(pair, scale)]
    if not found:
        return []
    clusters = [{item.id: tuple(item.clusters.values()) for item in each.pair.items_a} for each in found]
    of_rows = [
        {(name, *own[name]): value for name, value in each.of_ids.items()}
        for each, own in zip(found, clusters, strict=True)
    ]
    rows = sorted({row for own in of_rows for row in own})  # an id may have other clusters under another condition
    columns = np.array([[own.get(row, np.nan) for own in of_rows] for row in rows])
    names, *kinds = zip(*rows, strict=True)
    sides = [each.pair[:3] for each in found]
    return [
        _with_p(each.difference, p, corrected)
        for each, p, corrected in zip(found, *gated_p(columns, sides, kinds or [names]), strict=True)
    ]


def gated_p(
    columns: Floats, sides: Sequence[tuple[str, ...]], clusters: Iterable[Sequence[str]], flips: int = RESAMPLES
) -> tuple[list[float], list[float | None]]:
    """Of each comparison p, and p corrected for all (None: not tested), the larger ones of all kinds of clusters.

    columns: (ids, comparisons), NaN where an id has none. sides: of each comparison what names its pair of systems; the
    first of a pair is the gate of the others. clusters: of each kind the cluster of each id.
    """
    gates, kinds = [sides.index(pair) for pair in sides], list(clusters)
    single = [sign_flip_p(columns, each, flips=flips) for each in kinds]
    corrected = [gatekeeper_p(columns, gates, each, flips=flips) for each in kinds]
    return (
        [max(each or 0.0 for each in own) for own in zip(*single, strict=True)],
        [None if None in own else max(each or 0.0 for each in own) for own in zip(*corrected, strict=True)],
    )


def with_holm(family: Sequence[Difference]) -> list[Difference]:
    """The differences of one family, each with its corrected p; one without p is not a part of it."""
    corrected = iter(holm([each.p for each in family if each.p is not None]))
    return [each if each.p is None else _with_p(each, each.p, next(corrected)) for each in family]


def _with_p(one: Difference, p: float | None, corrected: float | None = None) -> Difference:
    return replace(one, p=p, p_corrected=corrected)


def _compared(pair: Pair, scale: Measure) -> Iterator[_Compared]:
    """The difference of a measure, if both sides have it of any id."""
    means_a, means_b = means_of_ids(pair.items_a, scale.id), means_of_ids(pair.items_b, scale.id)
    of_ids = {name: means_a[name] - means_b[name] for name in means_a if name in means_b}
    if not of_ids:
        return
    sides = [[item for item in own if item.id in of_ids] for own in (pair.items_a, pair.items_b)]
    values, by = np.array([*of_ids.values()]), ""
    if sides[0][0].clusters:
        estimate, by = widest([values_of(own, scale.id) for own in sides], scale.pools)
        value = estimate.value
    else:
        drawn_a, drawn_b = (draws_of_ids(own, scale.id) for own in sides)
        drawn = np.array([drawn_a[name] - drawn_b[name] for name in of_ids])
        value, estimate = float(values.mean()), bootstrap_columns(drawn[..., None])[0]
    least = [detectable(values, own) for own in _clusters(pair, of_ids).values()]
    found = None if None in least else max(each for each in least if each is not None)
    made = Difference(
        pair.condition, pair.a, pair.b, scale.id, len(of_ids), value, estimate.interval, None, None, found,
        pairs_needed(), by=by,
    )  # fmt: skip
    yield _Compared(made, of_ids, pair)


def _clusters(pair: Pair, names: Collection[str]) -> Mapping[str, Sequence[str] | None]:
    """By kind the cluster of each of these ids; None: each is one."""
    first = {name: own[0] for name, own in by_id(pair.items_a).items()}
    kinds = first[next(iter(names))].clusters
    return {kind: [first[name].clusters[kind] for name in names] for kind in kinds} or {"": None}


def detectable(values: Floats, clusters: npt.ArrayLike | None) -> float | None:
    """The least true mean of differences (n,) that so many are likely to show (`detectable_difference`).

    clusters: (n,); None: each difference is one. None where so few cannot reach p < 1 - level, and where all differ by
    the same.
    """
    units = cluster_units(values, clusters)
    return None if len(units) < pairs_needed() else detectable_difference(spread_of(units), len(units))


def cluster_units(values: Floats, clusters: npt.ArrayLike | None) -> Floats:
    """The differences that count: the values (n,) themselves, or one for each cluster, (k,), with their mean.

    A cluster's is mean + k / n * (its sum - its size * mean): the SD of these over the root of k is the standard error
    of a mean over clusters of unequal size, as of a ratio (Cochran 1977, Sampling Techniques).
    """
    if clusters is None or not len(values):
        return values
    sums, sizes = cluster_sums(np.column_stack([values, np.ones_like(values)]), clusters).T
    share = len(sums) / len(values)
    return np.asarray(sums * share - (sizes * share - 1) * values.mean())
