"""Silero VAD's model: the probability of speech in each window of 32 ms of a stream."""

cimport cython
from libc.math cimport M_PI, fabs
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int64_t
from libc.string cimport memset

cdef extern from "silero.h" nogil:
    enum:
        FDB_HIDDEN
        FDB_MOST_FFT
        FDB_LAYERS
    ctypedef struct fdb_silero:
        int fft
        const float *window
        const float *cosines
        const float *sines
        const float **weights
        const float **biases
    ctypedef float (*fdb_silero_window)(const fdb_silero *model, const float *pcm, float *state) noexcept nogil
    fdb_silero_window fdb_silero_fastest(int most_lanes)

import numpy as np

from fdbcore.errors import FrameError

cdef enum:
    WINDOWS_A_FFT = 2  # a window has two lengths of the Fourier transform, and a quarter of one on each side
    MOST_WINDOW = WINDOWS_A_FFT * FDB_MOST_FFT
    MOST_SAMPLES = (2 * WINDOWS_A_FFT + 1) * FDB_MOST_FFT // 2
    ANEW_WINDOWS = 93  # 3 s
    HEARD_WINDOWS = 128  # a power of two above that

cdef double FULL_SCALE = 32768.0
cdef double WINDOW_S = 0.032
cdef double OFFSET_EDGE_HZ = 20.0
cdef double MUCH_LOUDER = 0.7079457843841379  # 3 dB
cdef double INAUDIBLE = 1e-4  # of one step of int16: denormal numbers are slow

_SHAPES = (  # of each layer's weights: blocks of outputs, taps, inputs, outputs of a block
    (8, 3, None, 16), (2, 3, 128, 32), (1, 2, 64, 64), (2, 1, 64, 64), (8, 1, 256, 64), (1, 1, 1, 128),
)


@cython.final
cdef class SileroWeights:
    """The weights for one sample rate, packed by `fdbcore.session.silero_model`. Streams may share them.

    fft: samples of a Fourier transform: 256 at 16 kHz, 128 at 8 kHz. window: float32 (fft,). circle: float32
    (2, fft / 2), the real and imaginary parts of e^(-2 pi i k / fft). weights: of each layer, float32 (blocks of
    outputs, taps, inputs, outputs of a block). biases: of each, float32 (outputs,). FrameError for other shapes.
    """

    cdef fdb_silero _model
    cdef object _kept

    def __cinit__(self, int fft, window, circle, weights, biases):
        if fft not in (128, 256):
            raise FrameError(f"fft: expected 128 or 256, got {fft}")
        shapes = [tuple(fft // 2 + 1 if size is None else size for size in shape) for shape in _SHAPES]
        outputs = [shape[0] * shape[3] for shape in shapes[:-1]] + [1]
        expected = [("window", window, (fft,)), ("circle", circle, (2, fft // 2))]
        expected += [(f"weights {layer}", given, shape) for layer, (given, shape) in enumerate(zip(weights, shapes, strict=True))]
        expected += [(f"biases {layer}", given, (n,)) for layer, (given, n) in enumerate(zip(biases, outputs, strict=True))]
        self._kept = []
        for name, given, shape in expected:
            if given.shape != shape or given.dtype != np.float32:
                raise FrameError(f"{name}: expected float32 {shape}, got {given.dtype} {given.shape}")
            self._kept.append(np.ascontiguousarray(given).ravel())
        self._model.fft = fft
        self._model.window = _floats(self._kept[0])
        self._model.cosines = _floats(self._kept[1])
        self._model.sines = self._model.cosines + fft // 2
        cdef ptrdiff_t layer
        for layer in range(FDB_LAYERS):
            self._model.weights[layer] = _floats(self._kept[2 + layer])
            self._model.biases[layer] = _floats(self._kept[2 + FDB_LAYERS + layer])


cdef const float *_floats(const float[::1] values) noexcept:
    return &values[0]


@cython.final
cdef class SileroStream:
    """A stream of windows. most_lanes: of a vector register, to use less of the processor than it has: 4, 8 or 16.

    The result does not depend on it.
    """

    cdef SileroWeights _weights
    cdef fdb_silero_window _probability
    cdef float[2 * FDB_HIDDEN] _state
    cdef float[MOST_SAMPLES] _pcm  # the end of the window before, the window, and its end backwards
    cdef float _factor  # of the window before

    def __cinit__(self, SileroWeights weights not None, int most_lanes=16):
        self._weights = weights
        self._probability = fdb_silero_fastest(most_lanes)
        self._factor = 1.0
        self.forget()

    @property
    def window_samples(self):
        """Of a window: 512 at 16 kHz, 256 at 8 kHz."""
        return WINDOWS_A_FFT * self._weights._model.fft

    def process(self, const int16_t[::1] window not None):
        """The probability of speech in the next window, int16 (window_samples,). FrameError for another length."""
        cdef ptrdiff_t i
        cdef float[MOST_WINDOW] samples
        cdef double probability
        check_length(self._weights, window)
        with nogil:
            for i in range(window.shape[0]):
                samples[i] = window[i]
            probability = self.hear(samples, <float>(1.0 / FULL_SCALE))
        return probability

    cdef void forget(self) noexcept nogil:
        memset(self._state, 0, sizeof(self._state))
        memset(self._pcm, 0, sizeof(self._pcm))

    cdef double hear(self, const float *window, float factor) noexcept nogil:
        cdef ptrdiff_t n = WINDOWS_A_FFT * self._weights._model.fft, beside = self._weights._model.fft // 4, i
        cdef float *pcm = self._pcm
        cdef float change = factor / self._factor
        self._factor = factor
        for i in range(beside):
            pcm[i] = pcm[n + i] * change
        for i in range(n):
            pcm[beside + i] = window[i] * factor
        for i in range(beside):
            pcm[beside + n + i] = pcm[beside + n - 2 - i]
        return self._probability(&self._weights._model, pcm, self._state)


@cython.final
cdef class LevelledStream:
    """A stream of windows that the model hears without a constant offset, and at the gain that each window needs.

    Where the gain falls by more than 3 dB, a side has become louder than all before. The model then hears the last 3 s
    anew at the new gain, so what it remembers does not depend on the gain of the line either.
    """

    cdef SileroStream _stream
    cdef float[HEARD_WINDOWS][MOST_WINDOW] _heard  # the last windows without their offset, a ring
    cdef int64_t _windows
    cdef double _gain, _decay, _sample, _without_offset

    def __cinit__(self, SileroWeights weights not None, int most_lanes=16):
        self._stream = SileroStream(weights, most_lanes)
        self._decay = 1.0 - 2.0 * M_PI * OFFSET_EDGE_HZ * WINDOW_S / self._stream.window_samples

    def process(self, const int16_t[::1] window not None, double gain):
        """The probability of speech in the next window, int16 (window_samples,), amplified by a factor.

        FrameError for another length.
        """
        cdef double probability
        check_length(self._stream._weights, window)
        with nogil:
            self._take(&window[0], window.shape[0])
            if self._windows > 0 and gain < self._gain * MUCH_LOUDER:
                self._hear_anew(gain)
            self._gain = gain if self._windows == 0 else max(self._gain, gain)
            probability = self._hear(self._windows, gain)
            self._windows += 1
        return probability

    cdef void _take(self, const int16_t *window, ptrdiff_t n) noexcept nogil:
        cdef float *kept = self._heard[self._windows & (HEARD_WINDOWS - 1)]
        cdef double scale = (1.0 + self._decay) / 2.0
        cdef ptrdiff_t i
        if self._windows == 0:  # as if the first sample had always been there
            self._sample = window[0]
        for i in range(n):
            self._without_offset = scale * (window[i] - self._sample) + self._decay * self._without_offset
            self._sample = window[i]
            kept[i] = <float>self._without_offset
        if fabs(self._without_offset) < INAUDIBLE:
            self._without_offset = 0.0

    cdef void _hear_anew(self, double gain) noexcept nogil:
        cdef int64_t window
        self._stream.forget()
        for window in range(max(self._windows - ANEW_WINDOWS, 0), self._windows):
            self._hear(window, gain)
        self._gain = gain

    cdef double _hear(self, int64_t window, double gain) noexcept nogil:
        return self._stream.hear(self._heard[window & (HEARD_WINDOWS - 1)], <float>(gain / FULL_SCALE))


cdef check_length(SileroWeights weights, const int16_t[::1] window):
    cdef ptrdiff_t n = WINDOWS_A_FFT * weights._model.fft
    if window.shape[0] != n:
        raise FrameError(f"expected a window of {n} samples, got {window.shape[0]}")
