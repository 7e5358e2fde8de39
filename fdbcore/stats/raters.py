"""How far raters agree beyond chance on the categories that they give to the same items."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fdbcore.stats.bootstrap import Floats

MISSING = -1


def kappa(counts: Floats) -> float:
    """Cohen's kappa (1960) of two raters; NaN where chance alone would agree on all.

    counts: (rows, k * k), pooled over rows: how often each category of the first rater meets each of the second.
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
    """What `alpha` adds up, (units, 1 + categories): each unit's disagreement, then how often it got each category.

    ratings: (units, raters): a category from 0, or MISSING. Units that fewer than two raters rated add nothing.
    """
    counts = np.stack([(ratings == category).sum(axis=1) for category in range(categories)], axis=1).astype(np.float64)
    raters = counts.sum(axis=1)
    counts[raters < 2] = 0.0
    disagreeing = (raters**2 - (counts**2).sum(axis=1)) / np.maximum(raters - 1, 1)
    return np.concatenate([np.where(raters < 2, 0.0, disagreeing)[:, None], counts], axis=1)


def alpha(parts: Floats) -> float:
    """Krippendorff's alpha for nominal categories (2011), of rows of `alpha_parts` or sums of them; NaN where all
    ratings are of one category."""
    disagreeing, *counts = parts.sum(axis=0).tolist()
    n = sum(counts)
    by_chance = n**2 - sum(count**2 for count in counts)
    return 1 - (n - 1) * disagreeing / by_chance if by_chance else math.nan
