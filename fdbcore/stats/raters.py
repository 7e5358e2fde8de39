"""Agreement of raters: Cohen's kappa, Krippendorff's alpha, and correlations.

Alpha is that of Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), for nominal, ordinal and interval
scales. What takes `times` computes many resamples at once, for `bootstrap.bootstrap_times`.
"""

import math

import numpy as np
import numpy.typing as npt

from fdbcore.stats.bootstrap import Estimate, Floats, bootstrap_times
from fdbcore.stats.significance import cluster_sums

MISSING = -1


def kappa(counts: Floats) -> float:
    """Cohen's kappa (1960) of two raters; NaN without counts, or if chance alone would make them always agree.

    counts: (rows, k * k), summed over rows: how often category i of the first rater meets category j of the second.
    """
    return float(kappas(counts.sum(axis=0)))


def kappas(tables: Floats) -> Floats:
    """The same of many tables at once: (..., k * k) gives (...)."""
    k = math.isqrt(tables.shape[-1])
    square = tables.reshape(*tables.shape[:-1], k, k)
    totals = square.sum(axis=(-2, -1))
    shares = square / np.where(totals, totals, np.nan)[..., None, None]
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-2) * shares.sum(axis=-1)).sum(axis=-1)
    return _ratio(observed - expected, 1 - expected, np.ones_like(expected))


def agreement(counts: Floats, clusters: npt.ArrayLike) -> tuple[Estimate, Estimate]:
    """The share of items that two raters put alike, and Cohen's kappa, with intervals over clusters.

    counts: (items, k * k) as of `kappa`. clusters: the name of each item's.
    """
    tables = cluster_sums(counts, clusters)
    tables = tables[tables.any(axis=1)]
    alike, all_ = tables[:, :: math.isqrt(tables.shape[1]) + 1].sum(axis=1), tables.sum(axis=1)
    share = bootstrap_times(lambda times: (times @ alike) / (times @ all_), len(tables))
    return share, bootstrap_times(lambda times: kappas(times @ tables), len(tables))


def nominal(ratings: npt.NDArray[np.int64], categories: int) -> Floats:
    """Categories as what `alpha_parts` takes, (units, raters, categories): any two differ by 1.

    ratings: (units, raters), each a category from 0, or MISSING.
    """
    given = np.concatenate([np.eye(categories), np.full((1, categories), np.nan)])
    return given[ratings]  # MISSING is the last row


def alpha_parts(ratings: Floats) -> Floats:
    """The summands of `alpha`, (units, 3 + n): the disagreement on each unit, its ratings, their squares, their sums.

    ratings: (units, raters, n), NaN where a rating is missing. How much two ratings differ is their squared distance,
    times a constant: that is Krippendorff's metric of an interval scale where n is 1, and his nominal one for what
    `nominal` makes. Units with fewer than two ratings are all zeros.
    """
    there = ~np.isnan(ratings[..., 0])
    there &= (there.sum(axis=1) >= 2)[:, None]
    known = np.where(there[..., None], ratings, 0.0)
    counts, squares, sums = there.sum(axis=1), (known**2).sum(axis=(1, 2)), known.sum(axis=1)
    disagreeing = (counts * squares - (sums**2).sum(axis=1)) / np.maximum(counts - 1, 1)
    return np.concatenate([np.stack([disagreeing, counts, squares], axis=1), sums], axis=1)


def alpha(parts: Floats) -> float:
    """Krippendorff's alpha (2011); NaN if all ratings are the same.

    parts: rows of `alpha_parts`, or sums of such rows.
    """
    return float(_alpha_of_sums(parts.sum(axis=0)))


def _alpha_of_sums(sums: Floats) -> Floats:
    """Alpha of (..., 3 + n), the sums of rows of `alpha_parts`."""
    disagreeing, n, squares = (sums[..., column] for column in range(3))
    by_chance = n * squares - (sums[..., 3:] ** 2).sum(axis=-1)
    return 1 - _ratio((n - 1) * disagreeing, by_chance, n * squares)


def _ratio(numerators: Floats, denominators: Floats, scale: Floats) -> Floats:
    """NaN where a denominator, which is a difference of two numbers of this scale, is nothing but rounding."""
    there = denominators > 1e-12 * scale
    found: Floats = np.divide(numerators, denominators, out=np.full(np.shape(denominators), np.nan), where=there)
    return found


def interval_alpha(ratings: Floats, times: Floats) -> Floats:
    """Krippendorff's alpha of an interval scale in each resample, (resamples,); NaN if all ratings are the same.

    ratings: (units, raters), NaN where one is missing. times: (resamples, units), how often each resample has a unit;
    a row of ones gives the alpha of the units as they are.
    """
    return _alpha_of_sums(times @ alpha_parts(ratings[..., None]))


def ordinal_alpha(ratings: Floats, times: Floats) -> Floats:
    """Krippendorff's alpha of an ordinal scale; else as `interval_alpha`.

    His metric of two ratings, the square of how many ratings lie from one to the other, each of the two counted half
    (2011, section D), is the squared difference of their ranks among all ratings.
    """
    there = ~np.isnan(ratings)
    there &= (there.sum(axis=1) >= 2)[:, None]
    ranks = _ranks(np.where(there, ratings, np.nan), times)
    counts, squares, sums = there.sum(axis=1), (ranks**2).sum(axis=2), ranks.sum(axis=2)
    disagreeing = (counts * squares - sums**2) / np.maximum(counts - 1, 1)
    parts = np.stack([disagreeing, np.broadcast_to(counts, sums.shape), squares, sums], axis=2)
    return _alpha_of_sums((times[..., None] * parts).sum(axis=1))


def pearson(ratings: Floats, times: Floats) -> Floats:
    """Pearson's correlation of two raters, (resamples,); NaN if all ratings of one of them are the same.

    ratings: (units, 2), finite. times: as for `interval_alpha`.
    """
    return _correlation(np.broadcast_to(ratings - ratings.mean(axis=0), (len(times), *ratings.shape)), times)


def spearman(ratings: Floats, times: Floats) -> Floats:
    """Spearman's correlation, of ranks; equal ratings share their mean rank. Else as `pearson`."""
    ranks = [_ranks(ratings[:, [rater]], times) for rater in (0, 1)]
    return _correlation(np.concatenate(ranks, axis=2), times)


def _correlation(ratings: Floats, times: Floats) -> Floats:
    """Pearson's correlation in each resample. ratings: (resamples, units, 2)."""
    n = times.sum(axis=1)
    means = (times[..., None] * ratings).sum(axis=1) / n[:, None]
    first, second = np.moveaxis(ratings - means[:, None], 2, 0)
    both, *own = ((times * product).sum(axis=1) for product in (first * second, first**2, second**2))
    return _ratio(both, np.sqrt(own[0] * own[1]), n * (ratings**2).max(initial=0.0))


def _ranks(ratings: Floats, times: Floats) -> Floats:
    """The rank of each rating among all ratings of its resample, equal ones sharing their mean, from its middle.

    ratings: (units, raters), NaN where one is missing, whose rank is 0. Returns (resamples, units, raters). Ranks are
    counted from the middle one, so that sums of their squares stay small.
    """
    there = ~np.isnan(ratings)
    values, places = np.unique(ratings[there], return_inverse=True)
    counts = np.zeros((len(ratings), len(values)))
    np.add.at(counts, (np.nonzero(there)[0], places), 1.0)
    counts = times @ counts
    middles = counts.cumsum(axis=1) - counts / 2 - counts.sum(axis=1, keepdims=True) / 2
    found = np.zeros((len(times), *ratings.shape))
    found[:, there] = middles[:, places]
    return found
