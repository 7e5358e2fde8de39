"""The power that an echo has: the powers of its source in the ticks before, weighted by the response of its path.

Powers have no phase, so a room, a codec or a loudspeaker that clips changes little of this, and a response of a few
weights reaches over half a second. Sums have one order: results have the same bits on every processor.
"""

from libc.math cimport sqrt
from libc.stddef cimport ptrdiff_t

import numpy as np

from fdbcore.errors import FrameError

cdef enum:
    WEIGHTS = 11
    FIRST_STEPS = 5  # are half as long, as the start may be far off
    STEPS = 24

# Weight k is that of source ticks at least EDGES[k] and less than EDGES[k + 1] before the first that may be heard.
cdef ptrdiff_t[WEIGHTS + 1] EDGES = [0, 1, 2, 3, 4, 6, 9, 13, 19, 27, 38, 50]
cdef double LEAST = 1e-30

N_WEIGHTS = WEIGHTS
REACH_TICKS = EDGES[WEIGHTS]


def heard_before(const float[::1] source not None, const int[::1] first not None):
    """The mean power of the source in the ticks of each weight, float64 (n, 11).

    source: its power in each tick, float32 (m,). first: the latest tick of the source that may be heard in each of n
    ticks, int32 (n,). Before and after its ticks the source is silent.
    """
    cdef ptrdiff_t n = first.shape[0], m = source.shape[0], tick, k, start, end
    sums, means = np.zeros(m + 1), np.empty((n, WEIGHTS))
    cdef double[::1] total = sums
    cdef double[:, ::1] mean = means
    with nogil:
        for tick in range(m):
            total[tick + 1] = total[tick] + source[tick]
        for tick in range(n):
            for k in range(WEIGHTS):
                end = min(max(first[tick] + 1 - EDGES[k], 0), m)
                start = min(max(first[tick] + 1 - EDGES[k + 1], 0), m)
                mean[tick, k] = max(total[end] - total[start], 0.0) / (EDGES[k + 1] - EDGES[k])
    return means


def response(const double[:, ::1] before not None, const float[::1] power not None, double noise, double start, double most):
    """The weights with which the source and a steady noise explain the powers of the target best, float64 (11,).

    before: of `heard_before` in n ticks. power: of the target in these, float32 (n,). noise: its power, above 0. start:
    a first guess of each weight. most: ticks with so many times the power that is explained have speech of the target
    itself, and do not count. It divides, again and again, what is there by what is explained (Itakura and Saito's
    distance; Fevotte 2009). FrameError for shapes that differ.
    """
    cdef ptrdiff_t n = power.shape[0], tick, k
    cdef int step
    cdef double explained, share, ratio
    cdef double[WEIGHTS] over, under
    _check(before)
    if before.shape[0] != n:
        raise FrameError(f"power: expected {before.shape[0]} ticks, got {n}")
    weights = np.full(WEIGHTS, start)
    cdef double[::1] weight = weights
    with nogil:
        for step in range(STEPS):
            for k in range(WEIGHTS):
                over[k] = under[k] = 0.0
            for tick in range(n):
                explained = noise
                for k in range(WEIGHTS):
                    explained += before[tick, k] * weight[k]
                if power[tick] >= most * explained:
                    continue
                share = 1.0 / explained
                ratio = power[tick] * share * share
                for k in range(WEIGHTS):
                    over[k] += before[tick, k] * ratio
                    under[k] += before[tick, k] * share
            for k in range(WEIGHTS):
                ratio = over[k] / (under[k] + LEAST)
                weight[k] *= sqrt(ratio) if step < FIRST_STEPS else ratio
    return weights


def explained(const double[:, ::1] before not None, const double[::1] weights not None):
    """The power of the echo in each tick, float64 (n,). before, weights: as in `response`. FrameError for others."""
    cdef ptrdiff_t n = before.shape[0], tick, k
    _check(before)
    if weights.shape[0] != WEIGHTS:
        raise FrameError(f"weights: expected {WEIGHTS}, got {weights.shape[0]}")
    powers = np.zeros(n)
    cdef double[::1] power = powers
    with nogil:
        for tick in range(n):
            for k in range(WEIGHTS):
                power[tick] += before[tick, k] * weights[k]
    return powers


cdef int _check(const double[:, ::1] before) except -1:
    if before.shape[1] != WEIGHTS:
        raise FrameError(f"before: expected (n, {WEIGHTS}), got ({before.shape[0]}, {before.shape[1]})")
    return 0
