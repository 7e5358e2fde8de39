from libc.stdint cimport int16_t, int32_t

cdef enum:
    FRAME = 480
    BANDS = 3
    LANES = 4  # the bands' filters run side by side in one vector register; the last lane idles

cdef extern from *:
    """
    static const double SILENCE_DB = -120.0;  // levels below this, digital silence included, count as this
    static const double FORMAT_DB = -95.0;  // rounding to int16 leaves noise just below this level
    """
    const double SILENCE_DB, FORMAT_DB


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
cdef int take_frame(frame, int16_t *samples) except -1
