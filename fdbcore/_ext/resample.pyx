"""Streaming sample-rate conversion of int16 audio by a linear-phase polyphase filter."""

cimport cython
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t
from libc.string cimport memmove, memset

from fdbcore._ext.dot cimport fdb_filter

import numpy as np

from fdbcore._ext.filters import filter_bank
from fdbcore.errors import FrameError

cdef enum:
    CHUNK_SAMPLES = 2048
    # Shorter blocks take microseconds, but a busy thread may keep a released GIL for 5 ms.
    RELEASE_GIL_SAMPLES = 9600


@cython.final
cdef class Resampler:
    """Converts a stream of int16 samples from `rate_in_hz` to `rate_out_hz`.

    It converts 8, 16, 22.05, 24, 32, 44.1, 48 and 96 kHz to 48 kHz, and 48 kHz to 8, 16 and 24 kHz (48 to 48 copies).
    quality: the filter, a low-pass with its edges at 0.9 and 1.1 of the Nyquist frequency of the lower rate. "best"
    (files) has 0.012 dB of ripple and rejects by 102 dB; it looks 24 samples of the lower rate ahead (3 ms at 8 kHz).
    "fast" (live) has 0.063 dB of ripple and rejects by 71 dB; it looks 16 samples ahead (2 ms at 8 kHz). Sums are
    float32, rounded half to even and saturated, without dither.

    The output does not depend on how the input is cut into blocks. Output sample j is the input at second
    j / rate_out_hz: the delay is compensated. So the output is short by up to `delay_samples` (of the output) until
    `flush` gives the rest; a player that must never wait starts with that much silence. Use it from one thread at a
    time. Blocks of more than 9,600 samples release the GIL.

    most_lanes: floats of a vector register, to use less of the processor than it has: 4 or 8. Both give the same bits.

    SettingsError for other rates or another quality.
    """

    cdef readonly int rate_in_hz
    cdef readonly int rate_out_hz
    cdef readonly str quality
    cdef readonly int delay_samples

    cdef float[:, ::1] _bank  # (phases, taps)
    cdef float[::1] _pending  # input from the first tap of the next output on
    cdef ptrdiff_t _filled  # samples in _pending
    cdef ptrdiff_t _phase, _step, _lookahead
    cdef int _most_lanes
    cdef long long _taken, _made  # samples of the stream so far

    def __cinit__(self, rate_in_hz, rate_out_hz, quality="best", int most_lanes=8):
        self._bank, self._step, self._lookahead = filter_bank(rate_in_hz, rate_out_hz, quality)
        self._pending = np.empty(self._bank.shape[1] + CHUNK_SAMPLES, np.float32)
        self.rate_in_hz, self.rate_out_hz, self.quality = rate_in_hz, rate_out_hz, quality
        self.delay_samples = self._length(self._lookahead)
        self._most_lanes = most_lanes
        self._start()

    @cython.critical_section
    def process(self, pcm):
        """Take `pcm`, int16 (n,), and return the output that is now complete, int16 (m,). FrameError otherwise."""
        cdef const int16_t[::1] block = _readable(pcm)
        out = np.empty(self._due(block.shape[0]), np.int16)
        self._convert(block, out)
        return out

    @cython.critical_section
    def process_into(self, pcm, out):
        """Write what `process` would return to the start of `out`, int16 (m,), and return its length.

        This allocates no array. The two must not overlap. If an array is of another kind or `out` is too short,
        FrameError is raised and nothing is taken.
        """
        cdef const int16_t[::1] block = _readable(pcm)
        cdef int16_t[::1] place = _writable(out)
        cdef ptrdiff_t due = self._due(block.shape[0])
        if place.shape[0] < due:
            raise FrameError(f"out: expected room for {due} samples, got {place.shape[0]}")
        self._convert(block, place[:due])
        return due

    @cython.critical_section
    def flush(self):
        """The rest of the output, int16 (m,), as if silence followed. The next input begins a new stream.

        Over all calls, n input samples give floor((2 n rate_out_hz + rate_in_hz) / (2 rate_in_hz)) output samples.
        """
        out = np.empty(self._length(self._taken) - self._made, np.int16)
        self._convert(np.zeros(self._bank.shape[1], np.int16), out)
        self._start()
        return out

    cdef void _start(self) noexcept nogil:
        """Begin a stream, as if silence came before it."""
        self._filled = self._bank.shape[1] - 1 - self._lookahead
        memset(&self._pending[0], 0, self._filled * sizeof(float))
        self._phase = self._taken = self._made = 0

    cdef long long _length(self, long long samples) noexcept nogil:
        """A number of input samples as a number of output samples, rounded half up."""
        return (2 * samples * self.rate_out_hz + self.rate_in_hz) // (2 * self.rate_in_hz)

    cdef ptrdiff_t _due(self, ptrdiff_t more) noexcept nogil:
        """The number of outputs that have all their inputs once `more` samples have come."""
        cdef ptrdiff_t phases_ahead = (self._filled + more - self._bank.shape[1] + 1) * self._bank.shape[0] - self._phase
        return (phases_ahead + self._step - 1) // self._step if phases_ahead > 0 else 0

    cdef void _convert(self, const int16_t[::1] pcm, int16_t[::1] out) noexcept:
        if pcm.shape[0] > RELEASE_GIL_SAMPLES:
            with nogil:
                self._run(pcm, out)
        else:
            self._run(pcm, out)

    cdef void _run(self, const int16_t[::1] pcm, int16_t[::1] out) noexcept nogil:
        """Take `pcm`, and fill `out` with the next outputs, at most as many as are due."""
        cdef ptrdiff_t taken = 0, made = 0, chunk, ready, i
        while taken < pcm.shape[0]:
            chunk = min(pcm.shape[0] - taken, <ptrdiff_t>CHUNK_SAMPLES)
            ready = min(self._due(chunk), out.shape[0] - made)
            for i in range(chunk):
                self._pending[self._filled + i] = pcm[taken + i]
            self._filled += chunk
            self._filter(out[made:], ready)
            taken += chunk
            made += ready
        self._taken += taken
        self._made += made

    cdef void _filter(self, int16_t[::1] out, ptrdiff_t ready) noexcept nogil:
        """Write the next `ready` outputs, and drop the input that no later output needs.

        It goes phase by phase: outputs that lie `phases` apart share coefficients, and their windows lie `_step`
        samples apart.
        """
        cdef ptrdiff_t phases = self._bank.shape[0], taps = self._bank.shape[1]
        cdef ptrdiff_t rounds = ready // phases, rest = ready % phases
        cdef ptrdiff_t first, phase = self._phase, window = 0
        for first in range(phases if rounds else rest):
            fdb_filter(
                &self._pending[window], self._step, &self._bank[phase, 0], taps,
                &out[first], phases, rounds + (first < rest), self._most_lanes,
            )
            phase += self._step
            while phase >= phases:
                phase -= phases
                window += 1
        phase = self._phase + ready * self._step
        window = phase // phases
        self._phase = phase % phases
        self._filled -= window
        memmove(&self._pending[0], &self._pending[window], self._filled * sizeof(float))


cdef const int16_t[::1] _readable(pcm):
    cdef const int16_t[::1] view = None
    try:
        view = pcm
    except (TypeError, ValueError, BufferError):
        pass
    if view is None:
        raise FrameError(f"pcm: expected int16 (n,), C-contiguous, got {_described(pcm)}")
    return view


cdef int16_t[::1] _writable(out):
    cdef int16_t[::1] view = None
    try:
        view = out
    except (TypeError, ValueError, BufferError):
        pass
    if view is None:
        raise FrameError(f"out: expected writable int16 (n,), C-contiguous, got {_described(out)}")
    return view


cdef str _described(array):
    if not isinstance(array, np.ndarray):
        return type(array).__name__
    order = "" if array.flags.c_contiguous else "strided "
    access = "" if array.flags.writeable else "read-only "
    return f"{access}{order}{array.dtype} {array.shape}"
