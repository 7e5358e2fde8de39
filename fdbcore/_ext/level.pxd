from libc.math cimport fmax, fmin
from libc.stdint cimport int16_t, int32_t, int64_t

cdef enum:
    FRAME = 480
    BANDS = 3
    LANES = 4  # the bands' filters run side by side in one vector register; the last lane idles

cdef extern from *:
    """
    static const double SILENCE_DB = -120.0;  // levels below this, digital silence included, count as this
    static const double FORMAT_DB = -95.0;  // rounding to int16 leaves noise just below this level
    static const double VOICE_RISE_DB = 2.0;  // a tick; a bang is no voice
    static const double VOICE_FALL_DB = 0.01;  // a tick of speech: 1 dB/s, ...
    static const double FAR_VOICE_FALL_DB = 0.005;  // ... or of what may be another's, or the side's own that became softer
    """
    const double SILENCE_DB, FORMAT_DB, VOICE_RISE_DB, VOICE_FALL_DB, FAR_VOICE_FALL_DB


# A high-pass at 80 Hz (x in, y and v out); after it, per band, a high-pass at its lower edge (u) and a low-pass at its
# upper one (w). Direct form I: the recursion waits for one product only, and the output history of a section is the
# input history of the next. The gains are left to the end.
ctypedef struct FilterBank:
    double a1, a2, y1, y2, gain
    int32_t x1, x2
    float v1, v2
    float[LANES] b1, b2, p1, p2, q1, q2
    float[LANES] u1, u2, w1, w2
    double[BANDS] band_gain


cdef void design_bank(FilterBank *bank) noexcept nogil
cdef double filter_frame(FilterBank *bank, const int16_t *frame, double *band_powers) noexcept nogil
cdef double decibels(double power) noexcept nogil
cdef const int16_t[::1] one_frame(frame)


cdef inline double followed_voice(double voice, double level, double far_below_db) noexcept nogil:
    """The level of a side's voice after one more tick of its speech, or of what lies so far below: maybe another's."""
    voice -= VOICE_FALL_DB if level > voice - far_below_db else FAR_VOICE_FALL_DB
    return fmax(voice, fmin(level, voice + VOICE_RISE_DB))


cdef inline bint is_flat(
    const double *levels, int apart, int64_t first, int n_ticks, int ring, double most_db, double *mean
) noexcept nogil:
    """Whether the levels of `n_ticks` ticks from `first` on deviate by at most `most_db` (standard); sets their mean.

    levels: of a ring of ticks (a power of two), `apart` values from tick to tick.
    """
    cdef double squares = 0.0, away
    cdef int64_t tick
    mean[0] = 0.0
    for tick in range(first, first + n_ticks):
        mean[0] += levels[(tick & (ring - 1)) * apart]
    mean[0] /= n_ticks
    for tick in range(first, first + n_ticks):
        away = levels[(tick & (ring - 1)) * apart] - mean[0]
        squares += away * away
    return squares <= n_ticks * most_db * most_db
