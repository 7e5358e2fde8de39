"""Student's t for any degrees of freedom, and the effective number of clusters of unequal size."""

import math

import numpy as np
import numpy.typing as npt


def t_quantile(p: float, freedom: float) -> float:
    """Quantile p (0 < p < 1) of Student's t with `freedom` degrees of freedom; infinity gives the normal
    distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def effective_number(parts: npt.ArrayLike) -> float:
    """The number of equal clusters that carry as much information as these: (sum n)^2 / sum n^2 (Kish 1965).

    parts: (k,), the size of each cluster, not negative, in any unit. The result is k if all sizes are equal, and 0
    without clusters.
    """
    sizes = np.asarray(parts, dtype=np.float64)
    return float(sizes.sum() ** 2 / squares) if (squares := float(sizes @ sizes)) else 0.0


def tail(clusters: float, level: float) -> float:
    """The share of resamples beyond each limit of an expanded percentile interval (Hesterberg 2015).

    clusters: the effective number; fewer than two count as two. level: the confidence level, in (0, 1).
    """
    from scipy.special import ndtr

    clusters = max(clusters, 2.0)
    return float(ndtr(-t_quantile((1 + level) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1))))
