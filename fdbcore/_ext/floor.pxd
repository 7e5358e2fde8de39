from libc.stdint cimport int64_t

cimport cython


@cython.final
cdef class NoiseFloor:
    cdef int64_t low, low_before, frames  # the least energy of a frame, of these 5 s and of the 5 s before
    cdef bint is_over(self, int64_t energy) noexcept nogil
    cdef void follow(self, int64_t energy) noexcept nogil
