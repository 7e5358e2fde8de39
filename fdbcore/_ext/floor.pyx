"""Which frames of a party are quiet, so that one can be left out, or silence put in, unheard."""

cimport cython
from libc.stdint cimport int16_t

cdef enum:
    FLOOR_FRAMES = 500  # 5 s
    OVER_FLOOR = 4  # 6 dB: the frames of a steady noise differ by less
    QUIET = 515_396  # -60 dBFS of 480 samples squared: quiet beside any floor
    LOUD = 162_981_000  # -35 dBFS: a floor above that is no noise

QUIET_ENERGY, LOUD_ENERGY = QUIET, LOUD


@cython.final
@cython.auto_pickle(False)
cdef class NoiseFloor:
    """The quietest frame of audio of the last 5 to 10 s; not known before 5 s.

    A frame is quiet under -60 dBFS, and, up to -35 dBFS, within 6 dB of the floor.
    """

    def __cinit__(self):
        self.low = LOUD  # and low_before is 0: the floor is not known yet

    def is_quiet(self, const int16_t[::1] frame):
        """Whether a frame, int16 (480,), is quiet beside those before it; it is taken into the floor."""
        cdef int64_t energy = 0
        cdef Py_ssize_t index
        for index in range(frame.shape[0]):
            energy += <int64_t>frame[index] * frame[index]
        quiet = not self.is_over(energy)
        self.follow(energy)
        return quiet

    cdef bint is_over(self, int64_t energy) noexcept nogil:
        """Whether a frame of this energy is not quiet."""
        return energy >= max(QUIET, min(OVER_FLOOR * min(self.low, self.low_before), LOUD))

    cdef void follow(self, int64_t energy) noexcept nogil:
        """Take a frame of this energy, all of it audio, into the floor."""
        self.low = min(self.low, energy)
        self.frames += 1
        if self.frames % FLOOR_FRAMES == 0:
            self.low_before, self.low = self.low, LOUD
