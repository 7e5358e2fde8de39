"""Silero VAD's model: the probability of speech in each window of 32 ms of a stream."""

cimport cython
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t
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
    MOST_SAMPLES = (2 * WINDOWS_A_FFT + 1) * FDB_MOST_FFT // 2

cdef float FULL_SCALE = 32768.0

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

    The result does not depend on it. Use it from one thread at a time.
    """

    cdef SileroWeights _weights
    cdef fdb_silero_window _probability
    cdef float[2 * FDB_HIDDEN] _state
    cdef float[MOST_SAMPLES] _pcm  # the end of the window before, the window, and its end backwards
    cdef double _gain  # of the window before

    def __cinit__(self, SileroWeights weights not None, int most_lanes=16):
        self._weights = weights
        self._probability = fdb_silero_fastest(most_lanes)
        memset(self._state, 0, sizeof(self._state))
        memset(self._pcm, 0, sizeof(self._pcm))
        self._gain = 1.0

    @property
    def window_samples(self):
        """Of a window: 512 at 16 kHz, 256 at 8 kHz."""
        return WINDOWS_A_FFT * self._weights._model.fft

    def process(self, const int16_t[::1] window not None, double gain=1.0):
        """The probability of speech in the next window, int16 (window_samples,), amplified by a factor.

        FrameError for another length.
        """
        cdef ptrdiff_t n = WINDOWS_A_FFT * self._weights._model.fft, beside = self._weights._model.fft // 4, i
        if window.shape[0] != n:
            raise FrameError(f"expected a window of {n} samples, got {window.shape[0]}")
        cdef float *pcm = self._pcm
        cdef float factor = <float>(gain / FULL_SCALE), change = <float>(gain / self._gain)
        cdef double probability
        self._gain = gain
        with nogil:
            for i in range(beside):
                pcm[i] = pcm[n + i] * change
            for i in range(n):
                pcm[beside + i] = window[i] * factor
            for i in range(beside):
                pcm[beside + n + i] = pcm[beside + n - 2 - i]
            probability = self._probability(&self._weights._model, pcm, self._state)
        return probability
