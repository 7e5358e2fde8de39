"""The level of a tick in three bands: 80-1000 Hz (voicing), 1000-4000 Hz (formants) and 4000-8000 Hz (friction)."""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport M_PI, M_SQRT2, fabs, fabsf, log10, tan
from libc.string cimport memcpy, memset, strcmp

from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES, SAMPLE_RATE_HZ as _SAMPLE_RATE_HZ

cdef enum:
    RATE_HZ = 48_000

assert FRAME == _FRAME_SAMPLES and RATE_HZ == _SAMPLE_RATE_HZ

cdef double[BANDS + 1] EDGES_HZ = [80.0, 1000.0, 4000.0, 8000.0]
cdef double FULL_SCALE_POWER = 32768.0 * 32768.0
cdef double INAUDIBLE = 1e-4  # filter states below this (1 is one step of int16) are 0: denormal numbers are slow

edges_hz = [EDGES_HZ[band] for band in range(BANDS + 1)]


cdef double design(double edge_hz, bint high_pass, double *a1, double *a2) noexcept nogil:
    """Second-order Butterworth by the bilinear transform: set the recursion, return the gain of (1, +-2, 1)."""
    cdef double k = tan(M_PI * edge_hz / RATE_HZ)
    cdef double norm = 1.0 / (1.0 + M_SQRT2 * k + k * k)
    a1[0] = 2.0 * (k * k - 1.0) * norm
    a2[0] = (1.0 - M_SQRT2 * k + k * k) * norm
    return norm if high_pass else k * k * norm


cdef void design_bank(FilterBank *bank) noexcept nogil:
    cdef double a1, a2
    cdef int band
    memset(bank, 0, sizeof(FilterBank))
    bank.gain = design(EDGES_HZ[0], True, &bank.a1, &bank.a2)
    for band in range(BANDS):
        bank.band_gain[band] = bank.gain
        if band > 0:  # the lowest band's lower edge is that of the high-pass before
            bank.band_gain[band] *= design(EDGES_HZ[band], True, &a1, &a2)
            bank.b1[band], bank.b2[band], bank.p1[band], bank.p2[band] = -2.0, 1.0, <float>a1, <float>a2
        bank.band_gain[band] *= design(EDGES_HZ[band + 1], False, &a1, &a2)
        bank.q1[band], bank.q2[band] = <float>a1, <float>a2


cdef double filter_frame(FilterBank *bank, const int16_t *frame, double *band_powers) noexcept nogil:
    """Set the mean square of each band; return that of everything above 80 Hz. The unit is a squared step of int16."""
    # All state is copied to local variables, because the compiler keeps only these in registers.
    cdef double a1 = bank.a1, a2 = bank.a2, y1 = bank.y1, y2 = bank.y2, y, power = 0.0
    cdef int32_t x, x1 = bank.x1, x2 = bank.x2
    cdef float v, v1 = bank.v1, v2 = bank.v2, u, w
    cdef float[LANES] b1, b2, p1, p2, q1, q2, u1, u2, w1, w2, powers
    cdef int i, lane
    for lane in range(LANES):
        b1[lane], b2[lane], p1[lane], p2[lane] = bank.b1[lane], bank.b2[lane], bank.p1[lane], bank.p2[lane]
        q1[lane], q2[lane], u1[lane], u2[lane] = bank.q1[lane], bank.q2[lane], bank.u1[lane], bank.u2[lane]
        w1[lane], w2[lane], powers[lane] = bank.w1[lane], bank.w2[lane], 0.0
    for i in range(FRAME):
        x = frame[i]
        y = (<double>(x - 2 * x1 + x2) - a2 * y2) - a1 * y1
        x2 = x1
        x1 = x
        y2 = y1
        y1 = y
        power += y * y
        v = <float>y
        for lane in range(LANES):
            u = ((v + b1[lane] * v1 + b2[lane] * v2) - p2[lane] * u2[lane]) - p1[lane] * u1[lane]
            w = ((u + u2[lane] + (u1[lane] + u1[lane])) - q2[lane] * w2[lane]) - q1[lane] * w1[lane]
            u2[lane] = u1[lane]
            u1[lane] = u
            w2[lane] = w1[lane]
            w1[lane] = w
            powers[lane] += w * w
        v2 = v1
        v1 = v
    bank.x1, bank.x2, bank.y1, bank.y2, bank.v1, bank.v2 = x1, x2, y1, y2, v1, v2
    for lane in range(LANES):
        bank.u1[lane], bank.u2[lane], bank.w1[lane], bank.w2[lane] = u1[lane], u2[lane], w1[lane], w2[lane]
    for lane in range(BANDS):
        band_powers[lane] = powers[lane] / FRAME * (bank.band_gain[lane] * bank.band_gain[lane])
    settle(bank)
    return power / FRAME * (bank.gain * bank.gain)


cdef inline void settle(FilterBank *k) noexcept nogil:
    """Set filter states that fade out in silence to 0."""
    cdef int lane
    if fabs(k.y1) < INAUDIBLE and fabs(k.y2) < INAUDIBLE:
        k.y1 = k.y2 = 0.0
        k.v1 = k.v2 = 0.0
    for lane in range(LANES):
        if fabsf(k.u1[lane]) < INAUDIBLE and fabsf(k.u2[lane]) < INAUDIBLE:
            k.u1[lane] = k.u2[lane] = 0.0
        if fabsf(k.w1[lane]) < INAUDIBLE and fabsf(k.w2[lane]) < INAUDIBLE:
            k.w1[lane] = k.w2[lane] = 0.0


cdef double decibels(double power) noexcept nogil:
    """A mean square, in squared steps of int16, in dBFS."""
    power /= FULL_SCALE_POWER
    return 10.0 * log10(power) if power > 1e-12 else SILENCE_DB


cdef int take_frame(frame, int16_t *samples) except -1:
    """Copy an array, int16 (FRAME,), which is quicker than to view it; FrameError for any other."""
    cdef Py_buffer view
    cdef bint fits = False
    try:
        PyObject_GetBuffer(frame, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
    except (TypeError, ValueError, BufferError):
        pass
    else:
        fits = view.ndim == 1 and view.shape[0] == FRAME and strcmp(view.format, b"h") == 0
        if fits:
            memcpy(samples, view.buf, FRAME * sizeof(int16_t))
        PyBuffer_Release(&view)
    if not fits:
        what = f"{frame.dtype} {frame.shape}" if hasattr(frame, "dtype") else type(frame).__name__
        raise FrameError(f"frame: expected int16 ({FRAME},), C-contiguous, got {what}")
    return 0
