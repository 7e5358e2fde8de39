"""Dot products of filters between sample rates."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t

cdef extern from "dot.h" nogil:
    void fdb_filter(
        const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
        int16_t *out, ptrdiff_t out_step, ptrdiff_t count, int most_lanes,
    )
