"""The measurements of one side for input health, in one pass: level, mean and peak per tick, holes, audio at 4 kHz."""

cimport cython
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t
from libc.stdlib cimport abs
from libc.string cimport memcpy, memset

from fdbcore._ext.dot cimport fdb_filter

import numpy as np

from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES

cdef enum:
    FRAME = 480
    FACTOR = 12
    LOW_FRAME = FRAME // FACTOR
    MOST_TAPS = 96
    LEAST_RUN = 3
    LARGEST_SMOOTH_STEP = 8  # beside the flat top of a sine
    HOLE = FRAME  # the least length of a hole (digital silence), so that none lies within one tick

assert FRAME == _FRAME_SAMPLES

cdef double FULL_SCALE = 32768.0


@cython.final
cdef class Ear:
    """Measures a stream of whole ticks, and decimates it from 48 to 4 kHz. Use it from one thread at a time.

    taps: the low-pass filter before decimation, float32 (n,), n a multiple of 4 from 12 to 96. The window of sample j
    at 4 kHz ends with sample 12 j + 11 of the stream; before the stream there is silence. FrameError for other taps.
    """

    cdef float[MOST_TAPS] _taps
    cdef float[MOST_TAPS + FRAME] _pending  # what the filter still needs, then the tick
    cdef ptrdiff_t _n_taps
    cdef int64_t _taken, _zeros  # samples so far, and how many of the last of them are 0

    def __cinit__(self, taps):
        self._n_taps = len(taps)
        if not FACTOR <= self._n_taps <= MOST_TAPS or self._n_taps % 4:
            raise FrameError(f"taps: expected a multiple of 4 from {FACTOR} to {MOST_TAPS}, got {self._n_taps}")
        cdef ptrdiff_t tap
        for tap in range(self._n_taps):
            self._taps[tap] = taps[tap]
        memset(self._pending, 0, sizeof(self._pending))
        self._taken = self._zeros = 0

    def hear(self, pcm):
        """Measure the next n ticks, int16 (480 n,); return (powers, means, peaks, flat, low, holes).

        powers, means: the variance and the mean of each tick, with full scale 1, float32 (n,). peaks: its largest
        absolute sample, uint16 (n,). flat: how many of its samples have that value, uint16 (n,), if some of them
        look cut off: three in a row or more, with a step beside them; else 0. low: the stream at
        4 kHz, int16 (40 n,). holes: start and end, in samples of the stream, of each digital silence of 10 ms or more
        that ended in these ticks, int64 (m, 2). FrameError for any other `pcm`.
        """
        cdef const int16_t[::1] samples = _whole_ticks(pcm)
        cdef ptrdiff_t n = samples.shape[0] // FRAME, tick, n_holes = 0
        powers, means = np.empty(n, np.float32), np.empty(n, np.float32)
        peaks, flat = np.empty(n, np.uint16), np.empty(n, np.uint16)
        low, holes = np.empty(n * LOW_FRAME, np.int16), np.empty((n, 2), np.int64)
        cdef float[::1] each_power = powers, each_mean = means
        cdef uint16_t[::1] each_peak = peaks, each_flat = flat
        cdef int16_t[::1] each_low = low
        cdef int64_t[:, ::1] each_hole = holes
        with nogil:
            for tick in range(n):
                _measure(&samples[tick * FRAME], &each_power[tick], &each_mean[tick], &each_peak[tick], &each_flat[tick])
                n_holes += self._end_hole(&samples[tick * FRAME], &each_hole[n_holes, 0])
                self._lower(&samples[tick * FRAME], &each_low[tick * LOW_FRAME])
        return powers, means, peaks, flat, low, holes[:n_holes].copy()

    cdef int _end_hole(self, const int16_t *tick, int64_t *hole) noexcept nogil:
        """Write the hole that ends in this tick to `hole`; return whether there is one."""
        cdef int first = 0, last = FRAME, found = 0
        if self._zeros:
            while first < FRAME and tick[first] == 0:
                first += 1
            if first < FRAME:
                if self._zeros + first >= HOLE:
                    hole[0], hole[1] = self._taken - self._zeros, self._taken + first
                    found = 1
                self._zeros = 0
        while last > first and tick[last - 1] == 0:
            last -= 1
        self._zeros += first if first == FRAME else FRAME - last
        self._taken += FRAME
        return found

    cdef void _lower(self, const int16_t *tick, int16_t *out) noexcept nogil:
        cdef ptrdiff_t before = self._n_taps - FACTOR, i
        for i in range(FRAME):
            self._pending[before + i] = tick[i]
        fdb_filter(self._pending, FACTOR, self._taps, self._n_taps, out, 1, LOW_FRAME, 4)
        memcpy(self._pending, &self._pending[FRAME], before * sizeof(float))


cdef void _measure(const int16_t *tick, float *power, float *mean, uint16_t *peak, uint16_t *flat) noexcept nogil:
    """Measure one tick. The sums are integers, so a large DC offset does not drown a small signal."""
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
    if times < LEAST_RUN or not _is_cut_off(tick, largest):
        times = 0
    power[0] = <float>((<double>(FRAME * squares - <int64_t>total * total)) / (FRAME * FRAME * FULL_SCALE * FULL_SCALE))
    mean[0] = <float>(total / (FRAME * FULL_SCALE))
    peak[0] = <uint16_t>largest
    flat[0] = <uint16_t>times


cdef bint _is_cut_off(const int16_t *tick, int32_t largest) noexcept nogil:
    """True if a run of equal samples at the peak begins or ends with a step, or fills the tick. The top of a sine is
    flat too, if it is low enough, but what surrounds it is at most 5 smaller."""
    cdef int i = 0, first
    cdef int32_t value, step
    while i < FRAME:
        value, first = tick[i], i
        while i < FRAME and tick[i] == value:
            i += 1
        if i - first < LEAST_RUN or (value != largest and value != -largest):
            continue
        if first == 0 and i == FRAME:
            return True
        step = 0
        if first > 0:
            step = abs(<int32_t>(value - tick[first - 1]))
        if i < FRAME:
            step = max(step, abs(<int32_t>(value - tick[i])))
        if step > LARGEST_SMOOTH_STEP:
            return True
    return False


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
