"""Agreement of raters beyond chance: Cohen's kappa and Krippendorff's alpha."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fdbcore.stats.bootstrap import Floats

MISSING = -1


def kappa(counts: Floats) -> float:
    """Cohen's kappa (1960) of two raters; NaN without counts, or if chance alone would make them always agree.

    counts: (rows, k * k), summed over rows: how often category i of the first rater meets category j of the second.
    """
    table = counts.sum(axis=0)
    table = table.reshape(math.isqrt(len(table)), -1)
    total = table.sum()
    if not total:
        return math.nan
    observed = float(np.trace(table) / total)
    expected = float(table.sum(axis=0) @ table.sum(axis=1) / total**2)
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


def alpha_parts(ratings: npt.NDArray[np.int64], categories: int) -> Floats:
    """The summands of `alpha`, (units, 1 + categories): the disagreement on each unit, then its count of each category.

    ratings: (units, raters), each a category from 0, or MISSING. Units with fewer than two ratings are all zeros.
    """
    counts = np.stack([(ratings == category).sum(axis=1) for category in range(categories)], axis=1).astype(np.float64)
    raters = counts.sum(axis=1)
    counts[raters < 2] = 0.0
    disagreeing = (raters**2 - (counts**2).sum(axis=1)) / np.maximum(raters - 1, 1)
    return np.concatenate([np.where(raters < 2, 0.0, disagreeing)[:, None], counts], axis=1)


def alpha(parts: Floats) -> float:
    """Krippendorff's alpha for nominal categories (2011); NaN if all ratings are of one category.

    parts: rows of `alpha_parts`, or sums of such rows.
    """
    disagreeing, *counts = parts.sum(axis=0).tolist()
    n = sum(counts)
    by_chance = n**2 - sum(count**2 for count in counts)
    return 1 - (n - 1) * disagreeing / by_chance if by_chance else math.nan
