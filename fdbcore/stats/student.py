"""Student's t for any degrees of freedom, and how many clusters of one size unequal ones are worth."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def t_quantile(p: float, freedom: float) -> float:
    """Quantile p (between 0 and 1) of Student's t with so many degrees of freedom; of infinitely many, of the normal
    distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def effective_number(parts: npt.ArrayLike) -> float:
    """How many clusters of one size are worth as much as clusters with these parts of the whole: (sum n)^2 / sum n^2.

    parts: (k,), not negative, in any unit. As many as there are where all are of one size, and 0 without any.
    """
    sizes = np.asarray(parts, dtype=np.float64)
    return float(sizes.sum() ** 2 / squares) if (squares := float(sizes @ sizes)) else 0.0


def tail(clusters: float, level: float) -> float:
    """The share of the resamples beyond each limit of an interval of so many clusters of one size; of fewer than two as
    of two."""
    from scipy.special import ndtr

    clusters = max(clusters, 2.0)
    return float(ndtr(-t_quantile((1 + level) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1))))
