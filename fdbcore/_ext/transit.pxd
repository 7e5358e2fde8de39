from libc.stdint cimport int32_t, int64_t

cimport cython

cdef enum:
    WINDOWS = 20

ctypedef struct Window:
    int64_t start
    int64_t at  # of the minimum
    int64_t low
    int64_t peak  # the furthest above the line


@cython.final
cdef class MinimumTransit:
    cdef Window windows[WINDOWS + 1]
    cdef int32_t count, first  # the first window since the path has last become shorter
    cdef int64_t last_arrival
    cdef int64_t line_at, line_low  # a point of the line
    cdef int64_t rise, run  # its slope
    cpdef void forget(self) noexcept nogil
    cpdef void observe(self, int64_t arrival, int64_t transit) noexcept nogil
    cpdef int64_t at(self, int64_t sample) noexcept nogil
    cpdef int64_t peak_since(self, int64_t sample) noexcept nogil
    cdef void open_window(self, int64_t arrival, int64_t transit) noexcept nogil
    cdef void fit(self) noexcept nogil
    cdef void fit_slope(self) noexcept nogil
