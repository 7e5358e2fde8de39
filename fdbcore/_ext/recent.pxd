"""What detectors of speech remember of the levels of a side."""

from libc.math cimport fmax, fmin
from libc.stdint cimport int64_t
from libc.string cimport memmove

cdef enum:
    MOST_RECENT = 200
    QUEUE = 256  # a power of two above what a window holds

cdef extern from *:
    """
    static const double VOICE_RISE_DB = 2.0;  // a tick; a bang is no voice
    static const double VOICE_FALL_DB = 0.01;  // a tick of speech: 1 dB/s, ...
    static const double FAR_VOICE_FALL_DB = 0.005;  // ... or of what may be another's, or the side's own that became softer
    """
    const double VOICE_RISE_DB, VOICE_FALL_DB, FAR_VOICE_FALL_DB


# The minimum of a window of ticks: the first value of an ascending queue of the values that may become it.
ctypedef struct Least:
    double[QUEUE] value
    int64_t[QUEUE] tick
    int first
    int end


cdef inline void put_least(Least *least, int64_t tick, double value) noexcept nogil:
    while least.end != least.first and least.value[(least.end - 1) & (QUEUE - 1)] >= value:
        least.end = (least.end - 1) & (QUEUE - 1)
    least.value[least.end] = value
    least.tick[least.end] = tick
    least.end = (least.end + 1) & (QUEUE - 1)


cdef inline void forget_before(Least *least, int64_t tick) noexcept nogil:
    while least.end != least.first and least.tick[least.first] < tick:
        least.first = (least.first + 1) & (QUEUE - 1)


# The last values of a stream, and the same in order.
ctypedef struct Recent:
    double[MOST_RECENT] value, ordered
    int n, next, room


cdef inline void remember(Recent *recent, double value) noexcept nogil:
    cdef int at
    cdef double oldest
    if recent.n == recent.room:
        oldest = recent.value[recent.next]
        at = 0
        while recent.ordered[at] != oldest:
            at += 1
        memmove(&recent.ordered[at], &recent.ordered[at + 1], (recent.n - 1 - at) * sizeof(double))
        recent.n -= 1
    recent.value[recent.next] = value
    recent.next = (recent.next + 1) % recent.room
    at = recent.n
    while at > 0 and recent.ordered[at - 1] > value:
        recent.ordered[at] = recent.ordered[at - 1]
        at -= 1
    recent.ordered[at] = value
    recent.n += 1


cdef inline double quantile(const Recent *recent, double share) noexcept nogil:
    return recent.ordered[<int>(recent.n * share)]


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
