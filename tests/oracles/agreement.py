"""Krippendorff's alpha and Cohen's kappa from their definitions, over all pairs of ratings."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations

Metric = Callable[[float, float, Sequence[float]], float]


def nominal(a: float, b: float, pool: Sequence[float]) -> float:
    return float(a != b)


def interval(a: float, b: float, pool: Sequence[float]) -> float:
    return (a - b) ** 2


def ordinal(a: float, b: float, pool: Sequence[float]) -> float:
    """How many ratings lie from one to the other, each of the two counted half, squared."""
    low, high = min(a, b), max(a, b)
    between = sum(low <= each <= high for each in pool)
    return (between - (pool.count(low) + pool.count(high)) / 2) ** 2


def alpha(units: Sequence[Sequence[float]], metric: Metric = nominal) -> float:
    """Krippendorff (2011): one less observed over expected disagreement. units: the ratings that each unit has."""
    rated = [unit for unit in units if len(unit) > 1]
    pool = [rating for unit in rated for rating in unit]
    observed = sum(sum(metric(a, b, pool) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in rated)
    expected = sum(metric(a, b, pool) for a, b in permutations(pool, 2)) / max(len(pool) - 1, 1)
    return 1 - observed / expected if expected else math.nan


def kappa(pairs: Sequence[tuple[object, object]]) -> float:
    """Cohen (1960), of two raters."""
    observed = sum(a == b for a, b in pairs) / len(pairs)
    by_chance = sum(a == b for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    return (observed - by_chance) / (1 - by_chance) if by_chance < 1 else math.nan
