"""Framing: converts any block of PCM to int16, and queues audio to be played as one frame of 480 samples per tick."""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from typing import NamedTuple

import numpy as np

from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES, SAMPLE_RATE_HZ as _SAMPLE_RATE_HZ

cdef enum:
    FRAME = 480
    SAMPLES_PER_MS = 48
    RESTART_SAMPLES = 2 * FRAME  # 20 ms must be queued before playout goes on after an underrun
    ITEMS = 256  # items known at a time; older ones are forgotten once they are over
    LONG_BLOCK_SAMPLES = 16_384  # about 15 us of work; from this length on the GIL is released

MOST_ITEMS = ITEMS

assert FRAME == _FRAME_SAMPLES and SAMPLES_PER_MS * 1000 == _SAMPLE_RATE_HZ

# Adding and subtracting 1.5 * 2**52 leaves no bit for a fraction: the FPU rounds half to even, in four lanes at once.
cdef double ROUNDER = 6755399441055744.0

ctypedef fused sample_t:
    uint8_t
    int16_t
    int32_t
    float
    double

ctypedef struct Block:
    char format
    Py_ssize_t rows
    Py_ssize_t channels
    const void *samples


cdef inline double in_int16_steps(sample_t sample) noexcept nogil:
    if sample_t is uint8_t:
        return (<double>sample - 128.0) * 256.0
    elif sample_t is int16_t:
        return <double>sample
    elif sample_t is int32_t:
        return <double>sample / 65536.0
    else:
        return <double>sample * 32768.0


cdef inline int16_t quantized(double steps) noexcept nogil:
    steps = steps if steps > -32768.0 else -32768.0
    steps = steps if steps < 32767.0 else 32767.0
    return <int16_t><int32_t>((steps + ROUNDER) - ROUNDER)


cdef void mix_rows(const sample_t *samples, Py_ssize_t rows, Py_ssize_t channels, int16_t *out) noexcept nogil:
    cdef Py_ssize_t row, channel
    cdef double total
    if channels == 1:
        if sample_t is int16_t:
            memcpy(out, samples, rows * sizeof(int16_t))
        else:
            for row in range(rows):
                out[row] = quantized(in_int16_steps(samples[row]))
        return
    for row in range(rows):
        total = 0.0
        for channel in range(channels):
            total += in_int16_steps(samples[row * channels + channel])
        out[row] = quantized(total / channels)


cdef void mix(const Block *block, Py_ssize_t start, Py_ssize_t rows, int16_t *out) noexcept nogil:
    cdef Py_ssize_t skip = start * block.channels
    if block.format == b"h":
        mix_rows(<const int16_t *>block.samples + skip, rows, block.channels, out)
    elif block.format == b"f":
        mix_rows(<const float *>block.samples + skip, rows, block.channels, out)
    elif block.format == b"d":
        mix_rows(<const double *>block.samples + skip, rows, block.channels, out)
    elif block.format == b"i":
        mix_rows(<const int32_t *>block.samples + skip, rows, block.channels, out)
    else:
        mix_rows(<const uint8_t *>block.samples + skip, rows, block.channels, out)


cdef Py_ssize_t first_not_finite_of(const cython.floating *samples, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t index
    cdef int32_t bad = 0
    for index in range(count):  # no early exit, so that the compiler can vectorise the loop
        bad |= samples[index] - samples[index] != 0
    if bad:
        for index in range(count):
            if samples[index] - samples[index] != 0:
                return index
    return -1


cdef Py_ssize_t first_not_finite(const Block *block) noexcept nogil:
    """Index of the first NaN or infinity in the flattened block, or -1."""
    if block.format == b"f":
        return first_not_finite_of(<const float *>block.samples, block.rows * block.channels)
    if block.format == b"d":
        return first_not_finite_of(<const double *>block.samples, block.rows * block.channels)
    return -1


cdef bint lend(object pcm, int flags, Py_buffer *view) except -1:
    """True if `pcm` is a C-contiguous buffer (writable if `flags` ask for it). If True, `view` must be released."""
    try:
        PyObject_GetBuffer(pcm, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | flags)
    except (BufferError, TypeError, ValueError):
        return False
    return True


cdef bint has_format(const Py_buffer *view, bytes formats) noexcept:
    """True if the items of `view` are one native scalar out of `formats`, in the letters of the struct module."""
    return view.format != NULL and view.format[0] in formats and view.format[1] == 0


cdef int open_block(object pcm, bytes formats, str expected, Py_buffer *view, Block *block) except -1:
    """Open the samples of `pcm` as a block, or raise FrameError. `view` must be released."""
    if lend(pcm, 0, view):
        if has_format(view, formats) and (view.ndim == 1 or (view.ndim == 2 and view.shape[1] > 0)):
            block.format = view.format[0]
            block.rows = view.shape[0]
            block.channels = view.shape[1] if view.ndim == 2 else 1
            block.samples = view.buf
            return 0
        PyBuffer_Release(view)
    raise FrameError(f"pcm: expected {expected}, (n,) or (n, channels), C-contiguous; got {describe(pcm)}")


cdef str describe(object pcm):
    if isinstance(pcm, np.ndarray):
        return f"{pcm.dtype} {pcm.shape}{'' if pcm.flags.c_contiguous else ', not contiguous'}"
    return type(pcm).__name__


cdef int raise_not_finite(object pcm, Py_ssize_t index, int64_t start_sample) except -1:
    cdef object samples = np.asarray(pcm)
    cdef Py_ssize_t channels = samples.shape[1] if samples.ndim == 2 else 1
    raise FrameError(
        f"pcm: expected finite samples, got {samples.reshape(-1)[index]}"
        f" at sample {start_sample + index // channels}, channel {index % channels}"
    )


def to_int16(pcm, int64_t start_sample=0):
    """`pcm` as int16 of the same shape, rounded half to even and saturated.

    pcm: (n,) or (n, channels), C-contiguous: float32 or float64 with full scale 1.0 (x 32768), int32 of full scale
    (/ 65536), uint8 around 128 (x 256), or int16. FrameError for anything else, and for a value that is not finite; it
    names the first one, counting samples from `start_sample`.
    """
    cdef Py_buffer view
    cdef Block block
    cdef Py_ssize_t bad
    cdef int16_t[::1] target
    open_block(pcm, b"hfdiB", "int16, float32, float64, int32 or uint8", &view, &block)
    try:
        block.rows *= block.channels
        block.channels = 1
        out = np.empty(block.rows, dtype=np.int16)
        target = out
        with nogil:
            bad = first_not_finite(&block)
            if bad < 0 and block.rows:
                mix(&block, 0, block.rows, &target[0])
    finally:
        PyBuffer_Release(&view)
    if bad >= 0:
        raise_not_finite(pcm, bad, start_sample)
    return out.reshape(np.shape(pcm))


def to_mono(pcm):
    """The mean of the channels of `pcm` as int16 (n,), summed in float64, rounded once (half to even), and saturated.

    pcm: int16 or float32 (full scale 1.0), (n,) or (n, channels), C-contiguous. FrameError as in `to_int16`.
    """
    cdef Py_buffer view
    cdef Block block
    cdef Py_ssize_t bad
    cdef int16_t[::1] target
    open_block(pcm, b"hf", "int16 or float32", &view, &block)
    try:
        out = np.empty(block.rows, dtype=np.int16)
        target = out
        with nogil:
            bad = first_not_finite(&block)
            if bad < 0 and block.rows:
                mix(&block, 0, block.rows, &target[0])
    finally:
        PyBuffer_Release(&view)
    if bad >= 0:
        raise_not_finite(pcm, bad, 0)
    return out


HeardItem = NamedTuple(
    "HeardItem",
    [
        ("number", int),
        ("start_sample", int),
        ("pushed_samples", int),
        ("heard_samples", int),
        ("flushed_samples", int),
        ("first_frame", int | None),
        ("ended", bool),
    ],
)
HeardItem.__doc__ = """The heard part of one item (one utterance or response) in a PlayoutQueue.

number: 0, 1, 2, ... in the order of their first samples.
start_sample: index of its first sample among all samples pushed.
pushed_samples, heard_samples, flushed_samples: taken by the queue, played, dropped by a flush; the rest is queued.
first_frame: index of the frame in which its first sample was played (the tick, if one frame is popped per tick).
ended: whether it is complete.
"""

PlayoutStats = NamedTuple(
    "PlayoutStats",
    [
        ("pushed_samples", int),
        ("heard_samples", int),
        ("flushed_samples", int),
        ("queued_samples", int),
        ("dropped_samples", int),
        ("padded_samples", int),
        ("idle_samples", int),
        ("underruns", int),
        ("longest_underrun_samples", int),
    ],
)
PlayoutStats.__doc__ = """Counts of a PlayoutQueue since its construction.

pushed_samples = heard_samples + flushed_samples + queued_samples: all samples that push took. pushed_samples is the
    index of the next sample to be written; heard_samples + flushed_samples is that of the next one to be read.
480 x frames popped = heard_samples + padded_samples + idle_samples: all samples that pop_into gave.
dropped_samples: offered to push, but not taken.
padded_samples: silence between two samples of one item, or at the end of its last frame. idle_samples: other silence.
underruns: the number of holes inside items. longest_underrun_samples: the longest of them.
"""

ctypedef struct Item:
    int64_t start
    int64_t end  # -1 while it is open
    int64_t heard
    int64_t first_frame


@cython.final
@cython.auto_pickle(False)
cdef class PlayoutQueue:
    """Takes audio in bursts and plays it as exactly one frame of 480 samples per tick, 48 kHz mono.

    An *item* is one utterance or response. It begins with its first push and ends with `end_item` or `flush`. A frame
    holds only one item, and is wholly audio or wholly silence; only the last frame of an ended item is filled up with
    silence. If an item runs dry before its end, its playout goes on once 20 ms of it are queued, or once it has ended.

    One thread may push, end and flush while another one pops; any thread may ask. The indexes change only with the GIL
    held, or this object where Python has none. (Both are released while a long block is copied, into room that only the
    producer uses.) Only the consumer moves the read index: a flush publishes the write index, and the next pop drops the
    samples before it.

    capacity_ms: how much the queue can hold, 20 to 3,600,000; its memory (96 bytes per ms) is allocated once.
    SettingsError if it is out of range.
    """

    cdef int16_t *ring
    cdef int64_t capacity
    cdef int64_t written, read, flush_to  # indexes among all samples pushed
    cdef int64_t heard_total, flushed, dropped, padded, idle, underruns, longest_underrun, frames
    cdef int64_t dry  # silence played since the current item ran dry
    cdef int64_t opened, current  # items begun so far; number of the item that is played or comes next
    cdef Item items[ITEMS]

    def __cinit__(self, capacity_ms=60_000):
        if not isinstance(capacity_ms, int) or not 20 <= capacity_ms <= 3_600_000:
            raise SettingsError(f"capacity_ms: expected a whole number from 20 to 3600000, got {capacity_ms!r}")
        self.capacity = capacity_ms * SAMPLES_PER_MS
        self.ring = <int16_t *>PyMem_Calloc(self.capacity, sizeof(int16_t))
        if self.ring == NULL:
            raise MemoryError(f"capacity_ms: no memory for {capacity_ms} ms of audio")

    def __dealloc__(self):
        PyMem_Free(self.ring)

    @cython.critical_section
    def push(self, pcm):
        """Queue `pcm` as the next audio of the current item; return how many samples (per channel) were taken.

        pcm: int16, or float32 of full scale 1.0 (x 32768, half to even, saturated), (n,) or interleaved (n, channels),
        C-contiguous, 48 kHz. Several channels are mixed to their mean, rounded once, half to even. Samples that do not
        fit are not taken. If `pcm` is of another kind or not finite, FrameError is raised and nothing is taken.
        """
        cdef Py_buffer view
        cdef Block block
        cdef Py_ssize_t taken, bad
        open_block(pcm, b"hf", "int16 or float32", &view, &block)
        try:
            taken = self.room(block.rows)
            if block.rows * block.channels < LONG_BLOCK_SAMPLES:
                bad = self.store(&block, taken)
            else:
                with nogil:
                    bad = self.store(&block, taken)
        finally:
            PyBuffer_Release(&view)
        if bad >= 0:
            raise_not_finite(pcm, bad, 0)
        self.publish(taken)
        self.dropped += block.rows - taken
        return taken

    @cython.critical_section
    def end_item(self):
        """End the current item, if there is one. The next push begins another one."""
        self.close_item()

    @cython.critical_section
    def flush(self):
        """Drop everything that is queued now (barge-in), and end the current item. Later pushes are not affected."""
        self.close_item()
        self.flush_to = self.written

    @cython.critical_section
    def pop_into(self, frame):
        """Write the next frame to `frame`; return how many of its samples are audio.

        That is 480 or 0, or less than 480 at the end of an item. frame: int16 (480,), writable, else FrameError.
        """
        cdef Py_buffer view
        if not lend(frame, PyBUF_WRITABLE, &view):
            raise FrameError(f"frame: expected a writable int16 (480,), got {describe(frame)}")
        try:
            if not (has_format(&view, b"h") and view.ndim == 1 and view.shape[0] == FRAME):
                raise FrameError(f"frame: expected a writable int16 (480,), got {describe(frame)}")
            return self.next_frame(<int16_t *>view.buf)
        finally:
            PyBuffer_Release(&view)

    @cython.critical_section
    def heard(self):
        """The items so far, oldest first, with how much of each was really heard; at most the last 256.

        After a flush nothing more is heard of the items before it, so their heard_samples are final at once. Their
        flushed_samples are counted from the next pop on.
        """
        return [self.heard_item(number) for number in range(max(0, self.opened - ITEMS), self.opened)]

    @cython.critical_section
    def item(self, number):
        """The heard part of the item of this number; None if it has not begun, or is older than the last 256."""
        if not max(0, self.opened - ITEMS) <= number < self.opened:
            return None
        return self.heard_item(number)

    @property
    @cython.critical_section
    def begun_items(self):
        """The number of items that have begun; that of the latest is one less."""
        return self.opened

    @property
    @cython.critical_section
    def waiting_items(self):
        """The number of items still to be heard, or to be heard to their end. No more than MOST_ITEMS can wait."""
        return self.opened - self.current

    @cython.critical_section
    def stats(self):
        """The counts so far; see PlayoutStats."""
        return PlayoutStats(
            self.written,
            self.heard_total,
            self.flushed,
            self.written - self.read,
            self.dropped,
            self.padded,
            self.idle,
            self.underruns,
            self.longest_underrun,
        )

    cdef void close_item(self) noexcept:
        if self.is_open():
            self.items[(self.opened - 1) % ITEMS].end = self.written

    cdef bint is_open(self) noexcept:
        return self.opened > 0 and self.items[(self.opened - 1) % ITEMS].end < 0

    cdef Py_ssize_t room(self, Py_ssize_t rows) noexcept:
        if not self.is_open() and self.opened - self.current == ITEMS:
            return 0
        return min(rows, self.capacity - (self.written - self.read))

    cdef Py_ssize_t store(self, const Block *block, Py_ssize_t rows) noexcept nogil:
        """Copy the first `rows` rows behind the write index; return the index of a value that is not finite, or -1."""
        cdef Py_ssize_t bad = first_not_finite(block)
        cdef int64_t at = self.written % self.capacity
        cdef Py_ssize_t before_wrap = min(rows, self.capacity - at)
        if bad < 0:
            mix(block, 0, before_wrap, self.ring + at)
            mix(block, before_wrap, rows - before_wrap, self.ring)
        return bad

    cdef void publish(self, Py_ssize_t rows) noexcept:
        cdef Item *item
        if rows and not self.is_open():
            item = &self.items[self.opened % ITEMS]
            item.start, item.end, item.heard, item.first_frame = self.written, -1, 0, -1
            self.opened += 1
        self.written += rows

    cdef int next_frame(self, int16_t *frame) noexcept:
        cdef Item *item
        cdef int64_t count = 0
        self.drop_flushed()
        self.leave_finished_items()
        if self.current < self.opened:
            item = &self.items[self.current % ITEMS]
            count = self.playable(item)
            if count:
                self.play(item, frame, count)
            elif item.heard:
                self.dry += FRAME
        memset(frame + count, 0, (FRAME - count) * sizeof(int16_t))
        if not count:
            self.idle += FRAME
        self.frames += 1
        return <int>count

    cdef void drop_flushed(self) noexcept:
        if self.flush_to > self.read:
            self.flushed += self.flush_to - self.read
            self.read = self.flush_to

    cdef void leave_finished_items(self) noexcept:
        while self.current < self.opened and 0 <= self.items[self.current % ITEMS].end <= self.read:
            self.current += 1
            self.dry = 0

    cdef int64_t playable(self, const Item *item) noexcept:
        """The number of samples of the next frame that are audio."""
        if item.end >= 0:
            return min(item.end - self.read, FRAME)
        return FRAME if self.written - self.read >= (RESTART_SAMPLES if self.dry else FRAME) else 0

    cdef void play(self, Item *item, int16_t *frame, int64_t count) noexcept:
        cdef int64_t at = self.read % self.capacity
        cdef int64_t before_wrap = min(count, self.capacity - at)
        memcpy(frame, self.ring + at, before_wrap * sizeof(int16_t))
        memcpy(frame + before_wrap, self.ring, (count - before_wrap) * sizeof(int16_t))
        if not item.heard:
            item.first_frame = self.frames
        if self.dry:  # only now it is known that this silence lay inside the item
            self.underruns += 1
            self.longest_underrun = max(self.longest_underrun, self.dry)
            self.idle -= self.dry
            self.padded += self.dry
            self.dry = 0
        item.heard += count
        self.heard_total += count
        self.padded += FRAME - count
        self.read += count

    cdef object heard_item(self, int64_t number):
        cdef Item *item = &self.items[number % ITEMS]
        cdef int64_t pushed = (item.end if item.end >= 0 else self.written) - item.start
        return HeardItem(
            number,
            item.start,
            pushed,
            item.heard,
            pushed - item.heard if number < self.current else 0,
            item.first_frame if item.heard else None,
            item.end >= 0,
        )
