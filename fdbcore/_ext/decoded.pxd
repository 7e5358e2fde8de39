from libc.stdint cimport int16_t, int64_t, uint8_t

cimport cython

from fdbcore._ext.floor cimport NoiseFloor

cdef enum:
    FRAME = 480
    CAPACITY = 8192  # a tick, the longest packet or concealment that begins in it, and a slip
    AUDIO = 0
    CONCEALED = 1
    SILENT = 2

ctypedef struct Sample:
    int16_t value
    uint8_t kind


@cython.final
cdef class DecodedAudio:
    cdef Sample samples[CAPACITY]
    cdef int64_t start, end  # on the session's timeline; the start is a tick's
    cdef int64_t solid  # end of the last audio: what is beyond is concealment or silence, and gives way to audio
    cdef NoiseFloor floor  # of its frames of audio
    cdef int64_t concealed, silent, skipped
    cdef void skip_to(self, int64_t start) noexcept nogil
    cdef void put_audio(self, int64_t start, const int16_t *pcm, int64_t count) noexcept nogil
    cdef void conceal(self, const int16_t *pcm, int64_t count) noexcept nogil
    cdef void be_silent_until(self, int64_t end) noexcept nogil
    cdef bint is_concealable(self) noexcept nogil
    cdef bint is_quiet(self) noexcept nogil
    cdef int64_t energy(self) noexcept nogil
    cdef void move(self, int64_t amount) noexcept nogil
    cdef int pop(self, int16_t *frame) noexcept nogil
    cdef void append(self, const int16_t *pcm, int64_t count, uint8_t kind) noexcept nogil
    cdef void cut(self, int64_t count) noexcept nogil
