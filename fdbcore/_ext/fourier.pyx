"""Fourier transforms of real rows, with the same bits in any batch and on every instruction set."""

cimport cython
from libc.stddef cimport ptrdiff_t

cdef extern from "fourier.h" nogil:
    enum:
        FDB_MOST_ROWS
        FDB_MOST_RADICES
    ctypedef struct fdb_fourier:
        int n
        int *radices
        const float *cosines
        const float *sines
        const float *window
    ctypedef void (*fdb_transform)(
        const fdb_fourier *plan, const float *rows, ptrdiff_t row_step, ptrdiff_t samples, ptrdiff_t count, int powers,
        float *out, float *work
    ) noexcept nogil
    fdb_transform fdb_transform_fastest(int most_lanes)

import numpy as np

from fdbcore.errors import FrameError


@cython.final
cdef class RealFourier:
    """The transform of rows of n samples, even and otherwise a product of 2, 3 and 5.

    window: rows are multiplied by it, float32 (n,). most_lanes: floats of a vector register, 4 or 8, to use less of the
    processor than it has; the result does not depend on it. FrameError for any other n or window.
    """

    cdef fdb_fourier _plan
    cdef fdb_transform _transform
    cdef object _kept

    def __cinit__(self, int n, window=None, int most_lanes=8):
        self._plan.n = n
        cdef int left = n // 2, found = 0
        if n >= 2 and n % 2 == 0:
            for radix in (4, 2, 3, 5):
                while left % radix == 0 and found < FDB_MOST_RADICES:
                    self._plan.radices[found] = radix
                    left //= radix
                    found += 1
        if left != 1 or n < 2 or n % 2:
            raise FrameError(f"n: expected an even product of 2, 3 and 5, got {n}")
        self._plan.radices[found] = 0
        angles = 2 * np.pi * np.arange(n) / n
        window = np.ones(n, np.float32) if window is None else np.ascontiguousarray(window)
        if window.shape != (n,) or window.dtype != np.float32:
            raise FrameError(f"window: expected float32 {(n,)}, got {window.dtype} {window.shape}")
        self._kept = [np.cos(angles).astype(np.float32), (-np.sin(angles)).astype(np.float32), window]
        self._plan.cosines = _floats(self._kept[0])
        self._plan.sines = _floats(self._kept[1])
        self._plan.window = _floats(self._kept[2])
        self._transform = fdb_transform_fastest(most_lanes)

    def lines(self, const float[:, :] rows not None):
        """The lines of each row, complex64 (m, n / 2 + 1).

        rows: float32 (m, k), k at most n; samples from k to n are 0. The samples of a row lie beside each other.
        FrameError for others.
        """
        lines = np.empty((rows.shape[0], self._plan.n // 2 + 1), np.complex64)
        self._into(lines.view(np.float32).reshape(-1), rows, False)
        return lines

    def powers(self, const float[:, :] rows not None):
        """The powers of the lines of each row, float32 (m, n / 2 + 1). See `lines`."""
        powers = np.empty((rows.shape[0], self._plan.n // 2 + 1), np.float32)
        self._into(powers.reshape(-1), rows, True)
        return powers

    cdef _into(self, float[::1] out, const float[:, :] rows, bint powers):
        cdef ptrdiff_t m = rows.shape[0], k = rows.shape[1], row_step = rows.strides[0] // <ptrdiff_t>sizeof(float)
        cdef float[::1] work = np.empty(2 * self._plan.n * FDB_MOST_ROWS, np.float32)
        if k > self._plan.n or (k > 1 and rows.strides[1] != sizeof(float)) or rows.strides[0] % sizeof(float):
            raise FrameError(
                f"rows: expected (m, k) with k at most {self._plan.n} samples beside each other, got ({m}, {k})"
            )
        if not m or not k:
            out[:] = 0
            return
        with nogil:
            self._transform(&self._plan, &rows[0, 0], row_step, k, m, powers, &out[0], &work[0])


cdef const float *_floats(const float[::1] values) noexcept:
    return &values[0]
