"""What is heard where the model finds no speech: the median and the spread of the level in three bands over a second."""

from libc.math cimport fmax, fmin
from libc.string cimport memset

from fdbcore._ext.bank cimport BANDS, SILENCE_DB
from fdbcore._ext.recent cimport Recent, quantile, remember

cdef enum:
    ALL = BANDS  # the place of the whole level after the bands'
    BACKGROUND_TICKS = 100  # the last second without speech; the first tenth of it is a first guess

cdef extern from *:
    """
    static const double SPREADS = 4.0;  // a band stands out by this many spreads of the background, ...
    static const double LEAST_ABOVE_DB = 1.0;  // ... by this much at least
    static const double GREATEST_ABOVE_DB = 6.0;  // ... and at most
    static const double SPREADS_BELOW = 3.0;
    static const double LEAST_BELOW_DB = 5.0;
    static const double LEAST_SPREAD_DB = 0.1;
    static const double RESTLESS_DB = 1.8;  // steady noise spreads by 0.5 to 1 dB in a band, talk and music by 2.5 and more
    """
    const double SPREADS, LEAST_ABOVE_DB, GREATEST_ABOVE_DB, SPREADS_BELOW, LEAST_BELOW_DB, LEAST_SPREAD_DB, RESTLESS_DB


# above, below: beyond these levels a band stands out.
ctypedef struct Background:
    Recent[BANDS + 1] levels
    double[BANDS + 1] median
    double[BANDS] above, below
    bint known, restless


cdef inline void start_background(Background *background) noexcept nogil:
    cdef int band
    memset(background, 0, sizeof(Background))
    for band in range(BANDS + 1):
        background.levels[band].room = BACKGROUND_TICKS
        background.median[band] = SILENCE_DB


cdef inline void learn_background(Background *background, const double *bands, double level) noexcept nogil:
    """Take one more tick without speech: its averaged levels in the bands, and its own."""
    cdef double spread
    cdef int band
    for band in range(BANDS):
        remember(&background.levels[band], bands[band])
    remember(&background.levels[ALL], level)
    background.known = background.levels[ALL].n >= BACKGROUND_TICKS // 10
    if not background.known:
        return
    background.restless = False
    background.median[ALL] = quantile(&background.levels[ALL], 0.5)
    for band in range(BANDS):
        background.median[band] = quantile(&background.levels[band], 0.5)
        spread = (quantile(&background.levels[band], 0.84) - quantile(&background.levels[band], 0.16)) / 2.0
        spread = fmax(spread, LEAST_SPREAD_DB)
        background.restless = background.restless or spread > RESTLESS_DB
        background.above[band] = background.median[band] + fmin(fmax(SPREADS * spread, LEAST_ABOVE_DB), GREATEST_ABOVE_DB)
        background.below[band] = background.median[band] - fmax(SPREADS_BELOW * spread, LEAST_BELOW_DB)
