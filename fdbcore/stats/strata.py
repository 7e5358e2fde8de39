"""Means of means over strata, such as families of scenarios that each count the same, and contrasts of them.

Each stratum is resampled for itself, so that the interval shows which items happened to be in it, and not which strata
there are. The interval is that of `fdbcore.stats.bootstrap`; its degrees of freedom are those of a sum of variances
(Satterthwaite 1946).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fdbcore._ext import batch
from fdbcore.stats.bootstrap import (
    ALL_ALIKE,
    CLUSTERS_TO_TRUST_SAMENESS,
    LEVEL,
    RESAMPLES,
    SEED,
    Estimate,
    Floats,
    expanded_limits,
    repeated_cells,
)


def mean_of_means(strata: Sequence[npt.ArrayLike], *, resamples: int = RESAMPLES) -> list[Estimate]:
    """For each column the mean, over the strata that have it, of its mean in each; see `contrast_of_means`.

    strata: (items, columns) or (items, repeats, columns) each, with the same columns; NaN means not measured.
    """
    cells = [repeated_cells("strata", stratum) for stratum in strata]
    drawn = _drawn(cells, resamples)
    found = []
    for column in range(cells[0].shape[2]):
        there = [number for number, each in enumerate(cells) if not np.isnan(each[..., column]).all()]
        columns = [cells[number][..., column] for number in there]
        own = [drawn[number][:, column] for number in there]
        found.append(_estimate(columns, own, [1 / len(there) for _ in there]))
    return found


def contrast_of_means(strata: Sequence[npt.ArrayLike], weights: Sequence[float]) -> Estimate:
    """The weighted sum of the means of strata, with its interval; weights such as 1, -1/2, -1/2 compare one with two.

    strata: (items,) or (items, repeats) each; NaN means not measured. A resample draws the items of each stratum anew,
    as `bootstrap_columns` does. There is no interval if a stratum has one item, if it is undefined in some resample, or
    if few items all agree; no value if a stratum has no item. `clusters` counts the items of all strata.
    """
    cells = [repeated_cells("strata", np.asarray(stratum, np.float64)[..., None]) for stratum in strata]
    drawn = _drawn(cells, RESAMPLES)
    return _estimate([each[..., 0] for each in cells], [each[:, 0] for each in drawn], weights)


def _drawn(cells: Sequence[Floats], resamples: int) -> list[Floats]:
    """The means of each stratum in each resample, (resamples, columns)."""
    return [
        batch.bootstrap_columns(each, np.arange(len(each)), len(each), resamples, SEED + number)
        for number, each in enumerate(cells)
    ]


def _estimate(cells: Sequence[Floats], drawn: Sequence[Floats], weights: Sequence[float]) -> Estimate:
    """Of one column. cells: (items, repeats) of each stratum. drawn: (resamples,) of each."""
    counts = np.array([(~np.isnan(each)).any(axis=1).sum() for each in cells], np.float64)
    items = int(counts.sum())
    if not items or not counts.all():
        return Estimate(None, None, items, "no items")
    means = np.array([np.nanmean(each) for each in cells])
    value = float(np.dot(weights, means))
    if counts.min() < 2:
        return Estimate(value, None, items, "no interval: one item cannot show how items differ")
    if undefined := int(np.isnan(drawn).any(axis=0).sum()):
        return Estimate(value, None, items, f"no interval: undefined in {undefined} of {len(drawn[0])} resamples")
    # Resamples of n items vary by (n - 1) / n too little, in each stratum by its own n.
    wide = np.sqrt(counts / (counts - 1)) * np.asarray(weights)
    apart = (np.stack(drawn) - means[:, None]) * wide[:, None]
    variances = apart.var(axis=1)
    if not variances.any():
        same = None if items < CLUSTERS_TO_TRUST_SAMENESS else expanded_limits(np.full(2, value), items, LEVEL)
        return Estimate(value, same, items, "" if same else ALL_ALIKE)
    clusters = 1 + float(variances.sum() ** 2 / (variances**2 / (counts - 1)).sum())
    summed = value + np.sqrt((clusters - 1) / clusters) * apart.sum(axis=0)  # `expanded_limits` widens by this again
    return Estimate(value, expanded_limits(np.sort(summed), clusters, LEVEL), items)
