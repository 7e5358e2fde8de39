"""The difference of a pooled measure between two groups of sessions: interval, p value, detectable difference."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal, TypeAlias, TypedDict, cast

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fdbcore.analysis.summaries import Interval, share_by_cluster
from fdbcore.measures.measure import Direction
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.stats import bootstrap as stats
from fdbcore.stats.bootstrap import ALL_ALIKE, LEVEL, ONE_CLUSTER, Estimate, Statistic
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference
from fdbcore.stats.significance import POWER, holm, permutation_p
from fdbcore.stats.student import t_quantile
from fdbcore.types.units import Count

Verdict: TypeAlias = Literal["better", "worse", "different", "no difference found", "undecided"]
VerdictOfA: TypeAlias = Annotated[
    Verdict,
    Meta(
        description="whether a is better than b, for a user of the system: if p_holm is below 0.05, better, worse, or "
        "different for a measure without such a direction; undecided: it could not be tested, or not with so few"
    ),
]

BetterWhen: TypeAlias = Annotated[
    Direction | None, Meta(description="what a user would rather have; null where that depends")
]


class MeasuredDifference(TypedDict):
    """A pooled measure of one group less that of another, in the unit of the measure."""

    value: float | None
    interval: Annotated[Interval | None, Meta(description="of 95 %, for this difference alone")]
    clusters: Annotated[Count, Meta(description="that were resampled, of both groups")]
    shared: Annotated[Count, Meta(description="how many of them have sessions of both, which pairs them")]
    p: float | None
    p_holm: Annotated[float | None, Meta(description="corrected for all differences of the document (Holm 1979)")]
    detectable: Annotated[
        float | None, Meta(description="the smallest true difference that would be found 8 times in 10")
    ]
    reason: Annotated[str, Meta(description="why there is no value or no interval")]


Pool: TypeAlias = tuple[Sequence[Quantity], Sequence[str]]
"""The quantities of one measure, one per session, and the cluster of each; see `score.pool`."""

ALIKE_ON_A_SIDE: Final = "no interval: all clusters of one side have the same value"
TOO_FEW_TO_TELL: Final = "so few clusters that no test could find a difference"
SIGNIFICANT: Final = 0.05
FEWEST_CLUSTERS: Final = 4
"""With fewer clusters there is no detectable difference."""


def difference(
    a: Pool, b: Pool, *, statistic: Statistic | None = None, times: float = 1.0, level: float = LEVEL
) -> MeasuredDifference:
    """The measure pooled over the sessions of `a`, minus `times` the measure pooled over those of `b`.

    It is paired if some clusters (such as clips) have sessions of both: a resample then draws them for both. Shares
    have the square-and-add interval with the design effect of clusters, everything else a bootstrap interval. Without
    sessions of one side there is no value. If all clusters of a side agree, there is no interval, and p is that of
    `permutation_p`; p_holm comes later. statistic: of the items of Values; None for their median.
    """
    clusters, shared = len({*a[1], *b[1]}), len({*a[1]} & {*b[1]})
    if not a[0] or not b[0]:
        found = Estimate(None, None, clusters, "no items")
    elif isinstance(a[0][0], Share):
        names = sorted({*a[1], *b[1]})
        (successes_a, n_a), (successes_b, n_b) = (
            share_by_cluster(cast(Sequence[Share], pooled), clusters_of, names) for pooled, clusters_of in (a, b)
        )
        found = wilson_difference(successes_a, n_a, successes_b, n_b, level, times)
    else:
        found = _bootstrapped(a, b, statistic, times, level)
    # An interval of very few clusters is too narrow. Where even an exact test could not exclude chance, it must not.
    smallest = _smallest_p(_clusters_with_items(a), _clusters_with_items(b))
    is_told = found.p is None or smallest <= 1 - level
    return {
        "value": found.value,
        "interval": found.interval,
        "clusters": clusters,
        "shared": shared,
        "p": found.p if is_told or found.p is None else max(found.p, smallest),
        "p_holm": None,
        "detectable": _detectable(found, a, b, shared, level),
        "reason": found.reason if is_told else TOO_FEW_TO_TELL,
    }


def estimate(pool: Pool, statistic: Statistic | None = None, *, level: float = LEVEL) -> Estimate:
    """The measure pooled over sessions, with its interval; no value without sessions. statistic: see `difference`."""
    if not pool[0]:
        return Estimate(None, None, 0, "no items")
    if not isinstance(pool[0][0], Share):
        return stats.bootstrap_ci(*_items(pool), _statistic(pool, statistic), level=level)
    successes, n = share_by_cluster(cast(Sequence[Share], pool[0]), pool[1], names := sorted({*pool[1]}))
    if not n.sum():
        return Estimate(None, None, len(names), "no items")
    interval = wilson_by_cluster(successes, n, level)
    return Estimate(float(successes.sum() / n.sum()), interval, int((n > 0).sum()), "" if interval else ONE_CLUSTER)


def pooled_value(pool: Pool, statistic: Statistic | None = None) -> float | None:
    """The measure pooled over sessions; None without items. statistic: see `difference`."""
    if not pool[0]:
        return None
    if isinstance(pool[0][0], Share):
        shares = cast(Sequence[Share], pool[0])
        return sum(q.count for q in shares) / n if (n := sum(q.n for q in shares)) else None
    items, _ = _items(pool)
    value = _statistic(pool, statistic)(items) if len(items) else math.nan
    return None if math.isnan(value) else value


def with_holm(family: Iterable[MeasuredDifference]) -> list[MeasuredDifference]:
    """The differences of one family with corrected p values. One without a p value is not a part of the family."""
    members = list(family)
    corrected = iter(holm([p for each in members if (p := each["p"]) is not None]))
    return [each if each["p"] is None else {**each, "p_holm": next(corrected)} for each in members]


def verdict(found: MeasuredDifference, better: Direction | None) -> Verdict:
    """ "better", "worse", or without a direction "different", if the difference is significant after Holm's correction.

    Otherwise "no difference found"; "undecided" if it could not be tested, or if no test of so few clusters could find
    a difference. better: which direction users prefer.
    """
    if found["value"] is None or found["p_holm"] is None or found["reason"] == TOO_FEW_TO_TELL:
        return "undecided"
    if found["p_holm"] >= SIGNIFICANT:
        return "no difference found"
    if better is None:
        return "different"
    return "better" if (found["value"] < 0) == (better == "less") else "worse"


def _bootstrapped(a: Pool, b: Pool, statistic: Statistic | None, times: float, level: float) -> Estimate:
    items, clusters = _items(b)
    # All statistics scale with their items, so scale the items (or totals) of `b` by `times`.
    scaled = items * times if items.ndim == 1 else items * (times, 1.0)
    paired, function = bool({*a[1]} & {*b[1]}), _statistic(a, statistic)
    found = stats.difference_ci(*_items(a), scaled, clusters, function, paired=paired, level=level)
    if found.reason != ALL_ALIKE:
        return found
    p = permutation_p(*_items(a), scaled, clusters, function)  # it needs no spread on either side
    return replace(found, p=p, reason=ALIKE_ON_A_SIDE)


def _statistic(pool: Pool, statistic: Statistic | None) -> Statistic:
    return (statistic or stats.MEDIAN) if isinstance(pool[0][0], Values) else stats.ratio_of_sums


def _items(pool: Pool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """The items of a pool, and the cluster of each."""
    pooled, clusters = pool
    if isinstance(pooled[0], Values):
        values = [cast(Values, q).values for q in pooled]
        items = np.array([value for of_session in values for value in of_session])
        return items, np.repeat(np.asarray(clusters, np.str_), list(map(len, values)))
    ratios = [cast(Ratio, q) for q in pooled]
    return np.array([(q.total, q.exposure) for q in ratios]), np.asarray(clusters, np.str_)


def _clusters_with_items(pool: Pool) -> set[str]:
    """The clusters of a pool that have anything to count."""
    counts = [_n_items(quantity) for quantity in pool[0]]
    return {cluster for cluster, n in zip(pool[1], counts, strict=True) if n}


def _n_items(quantity: Quantity) -> float:
    match quantity:
        case Values():
            return len(quantity.values)
        case Ratio():
            return quantity.exposure
    return quantity.n


def _smallest_p(a: set[str], b: set[str]) -> float:
    """The smallest p of an exact two-sided permutation test: 2 by the number of ways in which chance could fall.

    Chance exchanges the two sides of each cluster that both groups have, and deals the other clusters to the groups
    (Good 2005, Permutation, Parametric and Bootstrap Tests of Hypotheses). With 3 against 2 calls, p is 0.2 or
    more, whatever the calls say.
    """
    ways: int = 2 ** len(a & b) * math.comb(len(a ^ b), len(a - b))
    return min(1.0, 2 / ways)


def _detectable(found: Estimate, a: Pool, b: Pool, shared: int, level: float) -> float | None:
    """The detectable difference, from half the width of the interval, which is t standard errors.

    None for an interval without width, and for fewer than FEWEST_CLUSTERS clusters.
    """
    clusters = shared or min(len({*a[1]}), len({*b[1]}))
    if found.interval is None or clusters < FEWEST_CLUSTERS or found.interval.low == found.interval.high:
        return None
    t = t_quantile((1 + level) / 2, clusters - 1)
    return (found.interval.high - found.interval.low) / 2 * (1 + t_quantile(POWER, clusters - 1) / t)
