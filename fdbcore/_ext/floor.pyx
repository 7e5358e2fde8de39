"""Finds the quiet frames of a party, where a frame can be left out, or silence inserted, without being heard."""

cimport cython
from libc.stdint cimport int16_t

cdef enum:
    FLOOR_FRAMES = 500  # 5 s
    OVER_FLOOR = 4  # 6 dB, more than the frames of a steady noise differ
    QUIET = 515_396  # energy of 480 samples at -60 dBFS: below it a frame is quiet whatever the floor is
    LOUD = 162_981_000  # energy at -35 dBFS: a floor above it is not noise

QUIET_ENERGY, LOUD_ENERGY = QUIET, LOUD


@cython.final
@cython.auto_pickle(False)
cdef class NoiseFloor:
    """The noise floor: the quietest frame of audio in the last 5 to 10 s; unknown in the first 5 s.

    A frame is quiet if it is below -60 dBFS, or within 6 dB of the floor and below -35 dBFS.
    """

    def __cinit__(self):
        self.low = LOUD  # low_before is still 0, which keeps the floor at 0 until it is known

    @cython.critical_section
    def is_quiet(self, const int16_t[::1] frame):
        """True if a frame, int16 (480,), is quiet compared with the frames before it. The floor then includes it."""
        cdef int64_t energy = 0
        cdef Py_ssize_t index
        for index in range(frame.shape[0]):
            energy += <int64_t>frame[index] * frame[index]
        quiet = not self.is_over(energy)
        self.follow(energy)
        return quiet

    cdef bint is_over(self, int64_t energy) noexcept nogil:
        """True if a frame with this energy is not quiet."""
        return energy >= max(QUIET, min(OVER_FLOOR * min(self.low, self.low_before), LOUD))

    cdef void follow(self, int64_t energy) noexcept nogil:
        """Update the floor by a frame with this energy, which must be audio throughout."""
        self.low = min(self.low, energy)
        self.frames += 1
        if self.frames % FLOOR_FRAMES == 0:
            self.low_before, self.low = self.low, LOUD
