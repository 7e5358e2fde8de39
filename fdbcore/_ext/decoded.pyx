"""What is decoded from the next tick on, each sample known as audio, concealment or silence."""

cimport cython
from libc.string cimport memmove

from fdbcore._ext.floor cimport NoiseFloor

cdef enum:
    CONCEALED_IN_A_ROW = 60 * 48


@cython.final
@cython.auto_pickle(False)
cdef class DecodedAudio:
    """Samples on the session's timeline, taken from the front in frames. Audio replaces what stood in for it."""

    def __cinit__(self):
        self.solid = -CONCEALED_IN_A_ROW
        self.floor = NoiseFloor()

    cdef void skip_to(self, int64_t start) noexcept nogil:
        self.skipped += max(min(self.solid, start) - self.start, 0)
        self.cut(start - self.start)
        self.start = start
        self.end = max(self.end, start)

    cdef void put_audio(self, int64_t start, const int16_t *pcm, int64_t count) noexcept nogil:
        self.end = start
        self.append(pcm, count, AUDIO)
        self.solid = self.end

    cdef void conceal(self, const int16_t *pcm, int64_t count) noexcept nogil:
        """Take of the concealment what is allowed: 60 ms from the last audio on."""
        self.append(pcm, min(count, self.solid + CONCEALED_IN_A_ROW - self.end), CONCEALED)

    cdef void be_silent_until(self, int64_t end) noexcept nogil:
        self.append(NULL, end - self.end, SILENT)

    cdef bint is_concealable(self) noexcept nogil:
        return self.end < self.solid + CONCEALED_IN_A_ROW

    cdef bint is_quiet(self) noexcept nogil:
        """Whether the next frame is."""
        return not self.floor.is_over(self.energy())

    cdef int64_t energy(self) noexcept nogil:
        """Of the next frame."""
        cdef int64_t index, energy = 0
        for index in range(FRAME):
            energy += <int64_t>self.samples[index].value * self.samples[index].value
        return energy

    cdef void move(self, int64_t amount) noexcept nogil:
        """Insert silence at the front, or leave out the first samples."""
        cdef int64_t index
        if amount < 0:
            self.cut(-amount)
        else:
            memmove(&self.samples[amount], &self.samples[0], (self.end - self.start) * sizeof(Sample))
            for index in range(amount):
                self.samples[index].value, self.samples[index].kind = 0, SILENT
        self.end += amount
        self.solid += amount

    cdef int pop(self, int16_t *frame) noexcept nogil:
        """Take the next frame; returns CONCEALED and SILENT for what is in it."""
        cdef int64_t index
        cdef int64_t counts[3]
        counts[AUDIO] = counts[CONCEALED] = counts[SILENT] = 0
        for index in range(FRAME):
            frame[index] = self.samples[index].value
            counts[self.samples[index].kind] += 1
        if counts[AUDIO] == FRAME:
            self.floor.follow(self.energy())
        self.cut(FRAME)
        self.start += FRAME
        self.concealed += counts[CONCEALED]
        self.silent += counts[SILENT]
        return (CONCEALED if counts[CONCEALED] else 0) | (SILENT if counts[SILENT] else 0)

    cdef void append(self, const int16_t *pcm, int64_t count, uint8_t kind) noexcept nogil:
        cdef Sample *end = &self.samples[self.end - self.start]
        cdef int64_t index
        for index in range(count):
            end[index].value = pcm[index] if pcm != NULL else 0
            end[index].kind = kind
        self.end += count

    cdef void cut(self, int64_t count) noexcept nogil:
        cdef int64_t rest = max(self.end - self.start - count, 0)
        if rest:
            memmove(&self.samples[0], &self.samples[count], rest * sizeof(Sample))
