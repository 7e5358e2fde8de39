"""Student's t for any degrees of freedom, and how many clusters of one size unequal ones are worth."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES: Final = 64
_MOST_STEPS: Final = 100


def t_quantile(p: float, freedom: float) -> float:
    """Quantile p (0.5 to 0.9999) of Student's t with so many degrees of freedom (1 to infinity), within 0.1 %.

    With x = sqrt(freedom) tan(a) the density is proportional to cos(a) ** (freedom - 1): its integral from 0 by
    Gauss-Legendre quadrature, solved for p by Newton's method. That never oversteps, as the integral is concave.
    """
    start = NormalDist().inv_cdf(p)
    if math.isinf(freedom) or start <= 0:
        return max(start, 0.0)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = math.atan(start / math.sqrt(freedom))
    nodes, weights = _quadrature()
    for _ in range(_MOST_STEPS):
        below = 0.5 + scale * angle / 2 * float(weights @ np.cos(angle / 2 * (nodes + 1)) ** (freedom - 1))
        step = (p - below) / (scale * math.cos(angle) ** (freedom - 1))
        angle += step
        if abs(step) < 1e-12 * angle:
            break
    return math.sqrt(freedom) * math.tan(angle)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def effective_number(parts: npt.ArrayLike) -> float:
    """How many clusters of one size are worth as much as clusters with these parts of the whole: (sum n)^2 / sum n^2.

    parts: (k,), not negative, in any unit. As many as there are where all are of one size, and 0 without any.
    """
    sizes = np.asarray(parts, dtype=np.float64)
    return float(sizes.sum() ** 2 / squares) if (squares := float(sizes @ sizes)) else 0.0


def reach(clusters: float, level: float) -> float:
    """How many standard deviations of its resamples the limits of an interval of so many clusters of one size are out;
    of fewer than two as of two."""
    clusters = max(clusters, 2.0)
    return t_quantile((1 + level) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1))
