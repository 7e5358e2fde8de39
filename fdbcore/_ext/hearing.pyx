"""What input health takes of each tick of one side, in one pass: level, mean, peak, and the side at 4 kHz."""

cimport cython
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t
from libc.string cimport memcpy, memset

import numpy as np

from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES


cdef extern from "dot.h" nogil:
    void fdb_filter(
        const float *window, ptrdiff_t window_step, const float *coefficients, ptrdiff_t taps,
        int16_t *out, ptrdiff_t out_step, ptrdiff_t count,
    )

cdef enum:
    FRAME = 480
    FACTOR = 12
    LOW_FRAME = FRAME // FACTOR
    MOST_TAPS = 96

assert FRAME == _FRAME_SAMPLES

cdef double FULL_SCALE = 32768.0


@cython.final
cdef class Ear:
    """Measures a stream of whole ticks, and takes it from 48 to 4 kHz.

    taps: the low-pass before every twelfth sample is taken, float32 (n,), n a multiple of 4 between 12 and 96; sample j
    at 4 kHz ends with sample 12 j + 11 of the stream. Silence is before its start. FrameError for other taps.
    """

    cdef float[MOST_TAPS] _taps
    cdef float[MOST_TAPS + FRAME] _pending  # what the filter still needs, then the tick
    cdef ptrdiff_t _n_taps

    def __cinit__(self, taps):
        self._n_taps = len(taps)
        if not FACTOR <= self._n_taps <= MOST_TAPS or self._n_taps % 4:
            raise FrameError(f"taps: expected a multiple of 4 from {FACTOR} to {MOST_TAPS}, got {self._n_taps}")
        cdef ptrdiff_t tap
        for tap in range(self._n_taps):
            self._taps[tap] = taps[tap]
        memset(self._pending, 0, sizeof(self._pending))

    def hear(self, pcm):
        """Of each of the next ticks, int16 (480 n,), the arrays (powers, means, peaks, flat), (n,); and low, (40 n,).

        powers: mean square less that of the mean, of full scale 1, float32. means: of full scale 1, float32. peaks: the
        largest absolute sample, uint16. flat: how many samples have it, uint16. low: the stream at 4 kHz, int16.
        FrameError for any other `pcm`.
        """
        cdef const int16_t[::1] samples = _whole_ticks(pcm)
        cdef ptrdiff_t n = samples.shape[0] // FRAME, tick
        powers, means = np.empty(n, np.float32), np.empty(n, np.float32)
        peaks, flat = np.empty(n, np.uint16), np.empty(n, np.uint16)
        low = np.empty(n * LOW_FRAME, np.int16)
        cdef float[::1] each_power = powers, each_mean = means
        cdef uint16_t[::1] each_peak = peaks, each_flat = flat
        cdef int16_t[::1] each_low = low
        with nogil:
            for tick in range(n):
                _measure(&samples[tick * FRAME], &each_power[tick], &each_mean[tick], &each_peak[tick], &each_flat[tick])
                self._lower(&samples[tick * FRAME], &each_low[tick * LOW_FRAME])
        return powers, means, peaks, flat, low

    cdef void _lower(self, const int16_t *tick, int16_t *out) noexcept nogil:
        cdef ptrdiff_t before = self._n_taps - FACTOR, i
        for i in range(FRAME):
            self._pending[before + i] = tick[i]
        fdb_filter(self._pending, FACTOR, self._taps, self._n_taps, out, 1, LOW_FRAME)
        memcpy(self._pending, &self._pending[FRAME], before * sizeof(float))


cdef void _measure(const int16_t *tick, float *power, float *mean, uint16_t *peak, uint16_t *flat) noexcept nogil:
    """Sums are whole numbers: squares of a large constant do not drown what is beside it."""
    cdef int32_t total = 0, largest = 0, magnitude, times = 0
    cdef int64_t squares = 0
    cdef int i
    for i in range(FRAME):
        total += tick[i]
        squares += <int64_t>(<int32_t>tick[i] * tick[i])
        magnitude = tick[i] if tick[i] >= 0 else -<int32_t>tick[i]
        largest = max(largest, magnitude)
    for i in range(FRAME):
        times += (tick[i] == largest) | (tick[i] == -largest)
    power[0] = <float>((<double>(FRAME * squares - <int64_t>total * total)) / (FRAME * FRAME * FULL_SCALE * FULL_SCALE))
    mean[0] = <float>(total / (FRAME * FULL_SCALE))
    peak[0] = <uint16_t>largest
    flat[0] = <uint16_t>times


cdef const int16_t[::1] _whole_ticks(pcm):
    cdef const int16_t[::1] samples = None
    try:
        samples = pcm
    except (TypeError, ValueError, BufferError):
        pass
    if samples is None or samples.shape[0] % FRAME:
        what = f"{pcm.dtype} {pcm.shape}" if hasattr(pcm, "dtype") else type(pcm).__name__
        raise FrameError(f"pcm: expected int16 (n,) of whole ticks of {FRAME}, C-contiguous, got {what}")
    return samples
