"""The decoded samples from the next tick on. Each sample is marked as audio, concealment or silence."""

cimport cython
from libc.string cimport memmove

from fdbcore._ext.floor cimport NoiseFloor

cdef enum:
    CONCEALED_IN_A_ROW = 60 * 48


@cython.final
@cython.auto_pickle(False)
cdef class DecodedAudio:
    """Samples on the session's timeline, taken from the front in frames. Audio replaces concealment and silence."""

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
        """Append concealment, but at most up to 60 ms after the last audio."""
        self.append(pcm, min(count, self.solid + CONCEALED_IN_A_ROW - self.end), CONCEALED)

    cdef void be_silent_until(self, int64_t end) noexcept nogil:
        self.append(NULL, end - self.end, SILENT)

    cdef bint is_concealable(self) noexcept nogil:
        return self.end < self.solid + CONCEALED_IN_A_ROW

    cdef bint is_quiet(self) noexcept nogil:
        """True if the next frame is quiet."""
        return not self.floor.is_over(self.energy())

    cdef int64_t energy(self) noexcept nogil:
        """The energy (sum of squares) of the next frame."""
        cdef int64_t index, energy = 0
        for index in range(FRAME):
            energy += <int64_t>self.samples[index].value * self.samples[index].value
        return energy

    cdef void move(self, int64_t amount) noexcept nogil:
        """Insert `amount` samples of silence at the front; if it is negative, drop as many samples there."""
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
        """Write the next frame; return CONCEALED, SILENT or both if it holds such samples, else 0."""
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
