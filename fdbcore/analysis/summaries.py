"""Summaries of measures over sessions, with intervals, counts and exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.measures.catalogue import differences
from fdbcore.measures.measure import Unit
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.stats import bootstrap as stats
from fdbcore.stats.bootstrap import Estimate, quantile
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference
from fdbcore.types.units import Count

Interval: TypeAlias = tuple[float, float]


class Summary(TypedDict):
    """The summary of a measure; its id carries the unit and the denominator."""

    n: Annotated[Count, Meta(description="items; of a share its denominator; of a rate the events counted")]
    count: NotRequired[Annotated[Count, Meta(description="of a share: its numerator")]]
    median: float | None
    p90: float | None
    p95: NotRequired[float | None]
    p95_ci95: NotRequired[Interval | None]
    mean: Annotated[float | None, Meta(description="of a share or a rate: its value")]
    max: NotRequired[float | None]
    ci95: Annotated[Interval | None, Meta(description="of the median, or of a share or a rate itself")]
    unit: Unit
    excluded: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="items left out, by reason")]
    of: NotRequired[
        Annotated[
            tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]],
            Meta(description="of a difference of two shares: their denominators"),
        ]
    ]
    by_chance: NotRequired[
        Annotated[float | None, Meta(description="the share to expect if the sides did not hear each other")]
    ]
    clusters: NotRequired[Annotated[Count, Meta(description="that have the measure; the interval resamples them")]]
    clusters_with_either: NotRequired[
        Annotated[Count, Meta(description="of a share: that have the event, or lack it, whichever are fewer")]
    ]
    with_echo: NotRequired[Annotated[Summary, Meta(description="with the suspect events, where that differs")]]


Measures: TypeAlias = Annotated[dict[str, Summary], Meta(description="by id")]
Quantities = Mapping[str, Quantity]


def summarise_beside(sessions: Sequence[Quantities], with_echo: Sequence[Quantities]) -> Measures:
    """`summarise`, and in each summary that echo would change: that, as "with_echo".

    with_echo: per session, the quantities that differ if echo counts as speech.
    """
    names = {name for session in with_echo for name in session}
    names.update(*(ids for ids in differences().values() if names & set(ids)))
    whole = [{**session, **other} for session, other in zip(sessions, with_echo, strict=True)] if names else []
    beside = summarise([{name: session[name] for name in names if name in session} for session in whole])
    measures = summarise(sessions)
    for name, found in measures.items():
        if beside.get(name, found) != found:
            found["with_echo"] = beside[name]
    return measures


def summarise(sessions: Sequence[Quantities], clusters: Sequence[str] | None = None) -> Measures:
    """One summary an id over all sessions. clusters: of each session, the unit that intervals resample; else itself.

    clusters: per session, the unit that intervals resample; None for the sessions themselves. With one cluster there is
    no interval. "clusters" is the number of clusters that have the measure; for a share, "clusters_with_either" is the
    number of clusters that have the event, or that lack it, whichever is smaller.
    """
    units = [f"{number:09}" for number in range(len(sessions))] if clusters is None else clusters
    ids = dict.fromkeys(name for session in sessions for name in session)
    return {name: _summary(*pool(name, sessions, units)) for name in ids} | _differences(sessions, units)


def _differences(sessions: Sequence[Quantities], clusters: Sequence[str]) -> Measures:
    names = sorted(set(clusters))
    found: Measures = {}
    for difference, ids in differences().items():
        pools = [pool(name, sessions, clusters) for name in ids]
        counts = [
            share_by_cluster([quantity for quantity in pooled if isinstance(quantity, Share)], clusters_of, names)
            for pooled, clusters_of in pools
        ]
        if all(trials.sum() for _, trials in counts):
            found[difference] = _difference(*counts)
    return found


def _difference(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> Summary:
    """The summary of the difference of two shares. a, b: counts and trials by cluster, (2, k) each."""
    estimate = wilson_difference(*a, *b)
    n_a, n_b = (int(trials.sum()) for _, trials in (a, b))
    found = _without_median(n_a + n_b, estimate, "share")
    found["of"], found["clusters"] = (n_a, n_b), estimate.clusters
    return found


def _without_median(n: int, estimate: Estimate, unit: Unit) -> Summary:
    """The summary of a figure that is no median of items."""
    return {
        "n": n,
        "median": None,
        "p90": None,
        "mean": estimate.value,
        "ci95": estimate.interval,
        "unit": unit,
        "excluded": {},
    }


def pool(name: str, sessions: Sequence[Quantities], clusters: Sequence[str]) -> tuple[list[Quantity], list[str]]:
    """The quantities of the measure `name`, from the sessions that have it, and the cluster of each."""
    found = [(s[name], cluster) for s, cluster in zip(sessions, clusters, strict=True) if name in s]
    return [quantity for quantity, _ in found], [cluster for _, cluster in found]


def _summary(pooled: Sequence[Quantity], clusters: Sequence[str]) -> Summary:
    if isinstance(pooled[0], Share):
        found = _share([q for q in pooled if isinstance(q, Share)], clusters)
    elif isinstance(pooled[0], Ratio):
        found = _ratio([q for q in pooled if isinstance(q, Ratio)], clusters)
    else:
        found = _values([q for q in pooled if isinstance(q, Values)], clusters)
    found["clusters"] = len(set(clusters))
    return found


def _excluded(pooled: Sequence[Values | Share]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for quantity in pooled:
        counts.update(quantity.excluded)
    return {reason: count for reason, count in counts.items() if count}


def _values(pooled: Sequence[Values], clusters: Sequence[str]) -> Summary:
    values = np.array([value for q in pooled for value in q.values])
    of_values = np.repeat(clusters, [len(q.values) for q in pooled])
    median = stats.bootstrap_ci(values, of_values, stats.MEDIAN)
    p95 = stats.bootstrap_ci(values, of_values, stats.Quantile(0.95))
    return {
        "n": len(values),
        "median": median.value,
        "p90": stats.quantile(values, 0.9),
        "p95": p95.value,
        "p95_ci95": p95.interval,
        "mean": float(values.mean()) if len(values) else None,
        "max": float(values.max()) if len(values) else None,
        "ci95": median.interval,
        "unit": pooled[0].unit,
        "excluded": _excluded(pooled),
    }


def _share(pooled: Sequence[Share], clusters: Sequence[str]) -> Summary:
    count, n = sum(q.count for q in pooled), sum(q.n for q in pooled)
    counts, trials = share_by_cluster(pooled, clusters, sorted(set(clusters)))
    chances = [(q.chance, q.n) for q in pooled if q.chance is not None and q.n]
    weight = sum(weight for _, weight in chances)
    summary: Summary = {
        "n": n,
        "count": count,
        "median": None,
        "p90": None,
        "mean": count / n if n else None,
        "ci95": wilson_by_cluster(counts, trials),
        "unit": "share",
        "excluded": _excluded(pooled),
    }
    if n:
        summary["clusters_with_either"] = min(int((counts > 0).sum()), int((counts < trials).sum()))
    if chances:
        summary["by_chance"] = sum(chance * weight for chance, weight in chances) / weight
    return summary


def share_by_cluster(pooled: Sequence[Share], clusters: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.float64]:
    """The counts and trials of k clusters, (2, k). names: the sorted names of the clusters (k,)."""
    numbers = np.searchsorted(names, clusters)
    columns = ([q.count for q in pooled], [q.n for q in pooled])
    return np.array([np.bincount(numbers, weights=column, minlength=len(names)) for column in columns])


def _ratio(pooled: Sequence[Ratio], clusters: Sequence[str]) -> Summary:
    rows = np.array([(q.total, q.exposure) for q in pooled])
    ratio = stats.bootstrap_ci(rows, clusters, stats.ratio_of_sums)
    return _without_median(sum(q.n for q in pooled), ratio, pooled[0].unit)


def headline(quantity: Quantity) -> tuple[float | None, int]:
    """The value of a quantity of one call, its median, share or rate, and its n."""
    if isinstance(quantity, Values):
        return quantile(quantity.values, 0.5) if quantity.values else None, len(quantity.values)
    if isinstance(quantity, Share):
        return quantity.count / quantity.n if quantity.n else None, quantity.n
    return quantity.total / quantity.exposure if quantity.exposure else None, quantity.n
