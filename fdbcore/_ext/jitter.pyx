"""The place of RTP packets (RFC 3550) with Opus (RFC 6716, 7587) on the session's timeline, and their playout."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memmove, memset

from typing import NamedTuple

import numpy as np

from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES, SAMPLE_RATE_HZ as _SAMPLE_RATE_HZ

cdef enum:
    FRAME = 480
    SECOND = 48_000
    SLOTS = 256  # packets held, by the low bits of their number
    SLOT_BYTES = 1500  # an Ethernet frame: no RTP payload is longer
    LONGEST_PACKET = 5760  # 120 ms
    PCM = 16_384  # a tick, the longest packet, what was concealed beyond the tick and a slip, twice over
    CONCEALED = 60 * 48  # at most, in a row
    APART = 200 * 48  # place and arrival further apart than this: another anchor
    MOST_RAISES = 16  # with the drift that is borne (20 ms) the delay stays below 200 ms
    SLACK = 120  # 2.5 ms beyond the target before a slip: the estimate's own noise never moves anything
    FORCED = 2 * FRAME  # 20 ms off the target: slip even in speech
    WINDOW = SECOND // 2  # one minimum of transit each
    WINDOWS = 20  # 10 s
    LEAST_SPAN = 2 * SECOND  # of minima, for a drift to be told from jitter
    MOST_DRIFT = 2000  # 1/2000 = 500 ppm: steeper is no clock but a step of the path
    CALM = 5 * SECOND  # after trouble, before the delay falls
    MAX_DROPOUT = 3000  # RFC 3550, A.1
    MAX_MISORDER = 100
    CHANGES = 64
    ARRIVALS = 1024
    AUDIO = 0
    _CONCEALED = 1
    _SILENT = 2

# A frame at -60 dBFS has this energy: 480 samples of 32.768 squared.
cdef int64_t QUIET_ENERGY = 515_396
cdef int64_t NEVER = -(<int64_t>1 << 60)

assert FRAME == _FRAME_SAMPLES and SECOND == _SAMPLE_RATE_HZ

CONCEALED_FLAG = _CONCEALED
SILENT_FLAG = _SILENT

cdef tuple KINDS = ("anchor", "reanchor", "new_ssrc", "slip", "raise", "fall")
cdef enum Kind:
    ANCHOR
    REANCHOR
    NEW_SSRC
    SLIP
    RAISE
    FALL

DelayChange = NamedTuple(
    "DelayChange",
    [("tick", int), ("kind", str), ("offset_samples", int), ("delay_samples", int), ("amount_samples", int)],
)
DelayChange.__doc__ = """A change of a JitterBuffer's map, for what is first heard in `tick` or later.

kind: "anchor", "reanchor", "new_ssrc", "slip", "raise" or "fall".
offset_samples, delay_samples: from now on. amount_samples: by how much later packets are heard (earlier if negative);
    0 where there was no map before, and for a new SSRC, whose timestamps are unrelated.
"""

JitterStats = NamedTuple(
    "JitterStats",
    [
        ("received", int),
        ("duplicates", int),
        ("reordered", int),
        ("late", int),
        ("lost", int),
        ("invalid", int),
        ("overflowed", int),
        ("new_ssrcs", int),
        ("concealed_samples", int),
        ("silent_samples", int),
        ("dropped_samples", int),
        ("slipped_samples", int),
    ],
)
JitterStats.__doc__ = """Counts of a JitterBuffer since its construction, of packets and then of samples.

received: all packets given to `add`. duplicates: numbers that had come before. reordered: came after a later number.
late: came after their place, and were not played. lost: numbers passed over that never came, up to the last one played.
invalid: no Opus packet, longer than 1500 bytes, refused by the decoder, or the first of a sequence that does not go on.
overflowed: pushed out, unplayed, by one 256 numbers later.
concealed_samples, silent_samples: heard, made by the decoder's concealment or of silence (that of slips included).
dropped_samples: came in time and were not heard: before tick 0, in missed ticks, or where others were heard already.
slipped_samples: inserted and removed by slips and falls.
"""

ctypedef struct Slot:
    int64_t number  # the unwrapped sequence number that was here last
    int64_t timestamp  # unwrapped
    int64_t arrival_ns
    int64_t arrival
    int64_t place
    int32_t size
    int32_t samples
    bint waiting  # to be played; otherwise played, late, dropped or invalid

ctypedef struct Window:
    int64_t start
    int64_t at  # of the minimum
    int64_t low
    int64_t peak  # the furthest above the line of minima

ctypedef struct Change:
    int64_t tick
    int64_t kind
    int64_t offset
    int64_t delay
    int64_t amount


cdef inline int64_t floor_div(int64_t value, int64_t divisor) noexcept nogil:
    cdef int64_t quotient = value // divisor
    return quotient - 1 if quotient * divisor > value else quotient


cdef inline int64_t modulo(int64_t value, int64_t divisor) noexcept nogil:
    return value - divisor * floor_div(value, divisor)


cdef int32_t grid_of(int32_t samples) noexcept nogil:
    """The greatest common divisor with a tick: where in a tick such packets may begin."""
    cdef int32_t a = FRAME, b = samples
    while b:
        a, b = b, a % b
    return a


cdef int32_t packet_samples(const uint8_t *payload, Py_ssize_t size) noexcept nogil:
    """Length of an Opus packet at 48 kHz by its first bytes (RFC 6716, 3.1 and 3.2), or 0 if it is none."""
    cdef int32_t config, frame, samples
    if size < 1 or size > SLOT_BYTES:
        return 0
    config = payload[0] >> 3
    if config >= 16:
        frame = 120 << (config & 3)
    elif config >= 12:
        frame = 480 << (config & 1)
    else:
        frame = 2880 if config & 3 == 3 else 480 << (config & 3)
    if payload[0] & 3 == 0:
        return frame
    if payload[0] & 3 < 3:
        return 2 * frame
    samples = frame * (payload[1] & 63) if size > 1 else 0
    return samples if samples <= LONGEST_PACKET else 0


@cython.final
@cython.auto_pickle(False)
cdef class JitterBuffer:
    """Encoded Opus packets of one RTP receiver, placed on the session's 48 kHz timeline and decoded tick by tick.

    The map. `place = timestamp - offset` (unwrapped) is the session's sample at which a packet begins to be heard; a
    packet is needed whole when the tick starts that holds its place. The offset is constant between logged changes.
    *Transit* is arrival - timestamp; *minimum transit* the line below the minima per 0.5 s of the last 10 s, as high on
    average as it can be (Moon, Skelly and Towsley 1999): its slope is the drift of the sender's clock. A slope over
    500 ppm is a step of the path: what lies before it is forgotten. *Delay* = place - arrival at minimum transit.

    - anchor: the offset is set so that a packet at minimum transit comes 10 ms or more before the tick that needs it, at
      the least delay and with packets beginning on ticks: 10 to 20 ms. At `start` by the minimum of the last second;
      by the first packet that comes where none had.
    - late: the tick of its place has begun. 3 ticks with late packets within 2 s raise the delay by a frame, below
      200 ms. A packet that never came is lost, whatever the delay.
    - fall: a raise is taken back in a frame under -60 dBFS, when all packets of the last 5 s would have been in time.
    - slip: off the target by over 2.5 ms (drift), at most 480 samples are inserted or removed in such a frame; once off
      by 20 ms, in any frame.
    - reanchor: all packets of 200 ms late, or two in a row more than 200 ms before their place. new_ssrc: another source;
      packets of the one before are late for a second.

    What is missing at its place is concealed by the decoder for at most 60 ms, then silence; a gap of timestamps without
    a gap of numbers, or after a packet of 1 or 2 bytes, is silence at once (DTX). `add` and `play_into` may run in two
    threads: state changes only with the GIL held and is whole whenever `decode` is called. Memory: 0.5 MB, once.
    """

    cdef uint8_t *payloads
    cdef Slot slots[SLOTS]
    cdef int16_t pcm[PCM]  # from `base` to `filled`
    cdef uint8_t kinds[PCM]
    cdef int64_t base, filled  # the next tick's first sample; end of what is there
    cdef int64_t solid  # end of the last packet decoded: what is beyond is concealment, and gives way to a packet
    cdef int64_t position  # the first sample of the first tick that has not begun
    # numbers
    cdef bint streaming, started, anchored, fresh
    cdef uint32_t ssrc, former_ssrc
    cdef int64_t changed_ns
    cdef int64_t first, next, newest, newest_timestamp  # next: the first number neither played nor passed over
    cdef uint16_t newest_sequence
    cdef int32_t probation
    # the map
    cdef int64_t origin_ns, offset, raises
    cdef int32_t grid
    cdef int64_t kind_of_anchor
    cdef Window windows[WINDOWS + 1]
    cdef int32_t window_count
    cdef int64_t line_at, line_low, line_rise, line_run  # of minimum transit
    cdef int64_t last_arrival, late_since, late_low, late_position, late_at[2]
    cdef int32_t early
    # the decoder
    cdef int32_t toc
    cdef bint discontinuous
    cdef int64_t expected_timestamp
    # the logs
    cdef Change changes[CHANGES]
    cdef int64_t changes_written, changes_read
    cdef int64_t arrival_log[ARRIVALS][3]
    cdef int64_t arrivals_written, arrivals_read
    cdef int64_t received, duplicates, reordered, late, lost, invalid, overflowed, new_ssrcs
    cdef int64_t concealed, silent, dropped, slipped

    def __cinit__(self):
        self.payloads = <uint8_t *>PyMem_Calloc(SLOTS, SLOT_BYTES)
        if self.payloads == NULL:
            raise MemoryError("no memory for 256 packets")
        for index in range(SLOTS):
            self.slots[index].number = -1
        self.next = self.first = SLOTS
        self.newest = SLOTS - 1
        self.probation = self.toc = -1
        self.solid = self.late_since = NEVER
        self.grid = FRAME
        self.line_run = 1
        self.forget_trouble()

    def __dealloc__(self):
        PyMem_Free(self.payloads)

    @property
    def delay_samples(self):
        """By how much later than at its minimum transit a packet is heard now; 0 before there is a map."""
        return self.delay()

    def add(self, bytes payload not None, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns):
        """Take a packet as it arrives: its payload and RTP header's fields; arrival on the monotonic clock."""
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(payload)
        self.take_in(data, PyBytes_GET_SIZE(payload), ssrc, sequence, timestamp, arrival_ns)

    def start(self, int64_t origin_ns):
        """Tick 0 begins at `origin_ns`; what lies before it is dropped. SettingsError if it was started before."""
        if self.started:
            raise SettingsError("start: expected once, the jitter buffer was started before")
        self.origin_ns = origin_ns
        self.started = True
        self.place_waiting()

    def play_into(self, frame, int64_t tick, decode):
        """Write the samples of `tick` to `frame`; returns 0, or CONCEALED_FLAG and SILENT_FLAG for what it holds.

        frame: int16 (480,), writable. tick: ascending; those skipped are not heard. decode: packet to int16 (n,); called
        with every packet that is due, in order, and with the last one's TOC & 0xFC for concealment; what it raises
        makes the packet invalid, and concealed. FrameError if the frame or the tick is not as expected.
        """
        cdef int16_t[::1] out
        cdef int64_t amount
        try:
            out = frame
        except (TypeError, ValueError) as error:
            raise FrameError(f"frame: expected a writable int16 ({FRAME},), got {type(frame).__name__}: {error}") from None
        if out.shape[0] != FRAME:
            raise FrameError(f"frame: expected a writable int16 ({FRAME},), got {out.shape[0]} samples")
        if not self.started or tick * FRAME < self.position:
            raise FrameError(f"tick: expected {self.position // FRAME} or later, after start; got {tick}")
        self.advance_to(tick * FRAME)
        self.fill(decode)
        amount = self.move_due()
        if amount:
            self.move(amount)
            self.fill(decode)
        return self.deliver(&out[0])

    def drain(self):
        """The changes of the map since the last call, oldest first; at most the last 64."""
        cdef Change change
        changes = []
        while self.changes_read < self.changes_written:
            change = self.changes[self.changes_read % CHANGES]
            changes.append(DelayChange(change.tick, KINDS[change.kind], change.offset, change.delay, change.amount))
            self.changes_read += 1
        return changes

    def arrivals(self):
        """int64 (n, 3): arrival_ns, place and samples of the packets since the last call; at most the last 1024.

        Late packets too; not those of which nothing lies after tick 0.
        """
        cdef int64_t[:, ::1] rows
        cdef Py_ssize_t row
        log = np.empty((self.arrivals_written - self.arrivals_read, 3), dtype=np.int64)
        rows = log
        for row in range(rows.shape[0]):
            memcpy(&rows[row, 0], &self.arrival_log[(self.arrivals_read + row) % ARRIVALS][0], 3 * sizeof(int64_t))
        self.arrivals_read = self.arrivals_written
        return log

    def stats(self):
        """All counts so far; see JitterStats."""
        return JitterStats(
            self.received, self.duplicates, self.reordered, self.late, self.lost, self.invalid, self.overflowed,
            self.new_ssrcs, self.concealed, self.silent, self.dropped, self.slipped,
        )

    # Packets come: numbers first, then places.

    cdef void take_in(
        self, const uint8_t *data, Py_ssize_t size, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns
    ) noexcept nogil:
        cdef int32_t samples = packet_samples(data, size)
        cdef int64_t number
        cdef Slot *slot
        self.received += 1
        if not self.streaming or ssrc != self.ssrc:
            if samples == 0:
                self.invalid += 1
                return
            if self.new_ssrcs and ssrc == self.former_ssrc and arrival_ns - self.changed_ns < 1_000_000_000:
                self.late += 1
                return
            self.begin_stream(ssrc, sequence, timestamp, arrival_ns)
        number = self.number_of(sequence)
        if number < 0:
            self.invalid += 1
            return
        slot = &self.slots[number % SLOTS]
        if slot.number == number:
            self.duplicates += 1
            return
        slot = self.enter(number, sequence, timestamp)
        slot.arrival_ns, slot.size, slot.samples = arrival_ns, <int32_t>size, samples
        if samples == 0:
            self.invalid += 1
            return
        memcpy(self.payloads + (number % SLOTS) * SLOT_BYTES, data, size)
        slot.waiting = True
        if self.started:
            self.place(slot)

    cdef void begin_stream(self, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns) noexcept nogil:
        """Another source: its numbers go on after those before, its timestamps are unrelated."""
        if self.streaming:
            self.new_ssrcs += 1
            self.former_ssrc, self.changed_ns = self.ssrc, arrival_ns
        if not self.anchored:
            self.pass_to(self.newest + SLOTS)
            self.newest = self.next - 1
            self.first, self.fresh = self.next, True
        self.kind_of_anchor = NEW_SSRC if self.anchored else ANCHOR
        self.anchored, self.streaming = False, True
        self.ssrc, self.newest_sequence, self.newest_timestamp = ssrc, <uint16_t>(sequence - 1), timestamp
        self.probation = -1

    cdef int64_t number_of(self, uint16_t sequence) noexcept nogil:
        """The unwrapped sequence number; -1 if it is far off and not the second of a new sequence (RFC 3550, A.1)."""
        cdef int32_t ahead = <int16_t>(sequence - self.newest_sequence)
        if -MAX_MISORDER <= ahead < MAX_DROPOUT:
            return self.newest + ahead
        if sequence == self.probation:
            self.newest_sequence = <uint16_t>(sequence - 1)
            return self.newest + 1
        self.probation = <uint16_t>(sequence + 1)
        return -1

    cdef Slot *enter(self, int64_t number, uint16_t sequence, uint32_t timestamp) noexcept nogil:
        cdef Slot *slot = &self.slots[number % SLOTS]
        cdef int64_t unwrapped = self.newest_timestamp + <int32_t>(timestamp - <uint32_t>self.newest_timestamp)
        if number > self.newest:
            self.newest, self.newest_sequence, self.newest_timestamp = number, sequence, unwrapped
        else:
            self.reordered += 1
        if number < self.next:
            if self.fresh:
                self.next = self.first = number
            elif number >= self.first:
                self.lost -= 1
        elif number >= self.next + SLOTS:
            self.pass_to(number - SLOTS + 1)
        slot.number, slot.timestamp, slot.waiting = number, unwrapped, False
        return slot

    cdef void pass_to(self, int64_t number) noexcept nogil:
        """No number below this one is played any more."""
        cdef int64_t passed
        cdef Slot *slot
        for passed in range(self.next, min(number, self.newest + 1)):
            slot = &self.slots[passed % SLOTS]
            if slot.number != passed:
                self.lost += 1
            elif slot.waiting and self.started:
                self.overflowed += 1
            elif slot.waiting:
                self.dropped += slot.samples
            slot.waiting = False
        self.next = max(self.next, number)

    cdef void place_waiting(self) noexcept nogil:
        """At the start: anchor by the minimum transit of the last second, and drop what lies before tick 0."""
        cdef int64_t number
        cdef int64_t recent = NEVER, low = INT64_MAX
        cdef Slot *slot
        cdef Slot *last = NULL
        for number in range(self.next, self.newest + 1):
            slot = self.waiting(number)
            if slot != NULL:
                slot.arrival = floor_div((slot.arrival_ns - self.origin_ns) * 48, 1_000_000)
                recent = max(recent, slot.arrival - SECOND)
                last = slot
        if last == NULL:
            return
        for number in range(self.next, self.newest + 1):
            slot = self.waiting(number)
            if slot != NULL and slot.arrival >= recent:
                low = min(low, slot.arrival - slot.timestamp)
        self.anchor(last, low)
        for number in range(self.next, self.newest + 1):
            slot = self.waiting(number)
            if slot != NULL:
                self.put(slot)
                if slot.arrival >= recent:
                    self.observe(slot.arrival, slot.arrival - slot.timestamp)
                if slot.place + slot.samples <= 0:
                    slot.waiting = False
                    self.dropped += slot.samples

    cdef Slot *waiting(self, int64_t number) noexcept nogil:
        cdef Slot *slot = &self.slots[number % SLOTS]
        return slot if slot.number == number and slot.waiting else NULL

    cdef void put(self, Slot *slot) noexcept nogil:
        """Give a packet its place by the map, and log it unless it is over before tick 0."""
        cdef int64_t *entry = self.arrival_log[self.arrivals_written % ARRIVALS]
        slot.place = slot.timestamp - self.offset
        if slot.place + slot.samples > 0:
            entry[0], entry[1], entry[2] = slot.arrival_ns, slot.place, slot.samples
            self.arrivals_written += 1
            self.arrivals_read = max(self.arrivals_read, self.arrivals_written - ARRIVALS)

    cdef void place(self, Slot *slot) noexcept nogil:
        """Place a packet that came after the start."""
        cdef int64_t transit
        slot.arrival = floor_div((slot.arrival_ns - self.origin_ns) * 48, 1_000_000)
        transit = slot.arrival - slot.timestamp
        if not self.anchored:
            self.anchor(slot, transit)
        self.early = self.early + 1 if -self.offset - transit > APART else 0
        if self.early == 2:
            self.anchor(slot, transit)
        if self.early == 0:
            self.observe(slot.arrival, transit)
        if slot.number < self.next or slot.timestamp - self.offset < self.position:
            self.come_late(slot, transit)
        else:
            self.late_since = NEVER
        self.put(slot)

    cdef void come_late(self, Slot *slot, int64_t transit) noexcept nogil:
        if self.late_since == NEVER:
            self.late_since, self.late_low = slot.arrival, transit
        self.late_low = min(self.late_low, transit)
        if slot.number >= self.next and slot.arrival - self.late_since >= APART:
            self.anchor(slot, self.late_low)
            if slot.timestamp - self.offset < self.position:
                self.anchor(slot, transit)
            return
        slot.waiting = False
        self.late += 1
        if self.late_position != self.position:
            self.late_position = self.position
            if slot.arrival - self.late_at[0] <= 2 * SECOND and self.raises < MOST_RAISES:
                self.late_at[0] = self.late_at[1] = NEVER
                self.raises += 1
                self.shift(FRAME)
                self.record(RAISE, self.position // FRAME, FRAME)
            else:
                self.late_at[0], self.late_at[1] = self.late_at[1], slot.arrival

    # The map.

    cdef void anchor(self, Slot *slot, int64_t low) noexcept nogil:
        """Set the offset anew by the minimum transit `low`, for packets of this one's length."""
        cdef int64_t number
        cdef int64_t before = self.offset
        cdef int64_t kind = REANCHOR if self.anchored else self.kind_of_anchor
        cdef Slot *other
        self.grid = grid_of(slot.samples)
        self.offset = slot.timestamp + self.grid * floor_div(-(slot.timestamp + low + 2 * FRAME - self.grid), self.grid)
        self.anchored = True
        self.window_count = 0
        self.forget_trouble()
        self.observe(slot.arrival, low)
        for number in range(self.next, self.newest + 1):
            other = self.waiting(number)
            if kind == REANCHOR and other != NULL and other.place - other.arrival > APART:
                other.place = other.timestamp - self.offset
        self.record(kind, self.position // FRAME, before - self.offset if kind == REANCHOR else 0)

    cdef void forget_trouble(self) noexcept nogil:
        self.raises = self.early = 0
        self.late_since = self.late_position = self.late_at[0] = self.late_at[1] = NEVER

    cdef void observe(self, int64_t arrival, int64_t transit) noexcept nogil:
        """Take a transit into the minima, and keep the line of minimum transit below them."""
        cdef Window *window = &self.windows[self.window_count - 1]
        cdef bint opens = self.window_count == 0 or arrival - window.start >= WINDOW
        cdef int32_t old = 0
        if opens:
            while old < self.window_count and self.windows[old].start < arrival - WINDOWS * WINDOW:
                old += 1
            self.forget_windows(old)
            window = &self.windows[self.window_count]
            window.start, window.at, window.low, window.peak = arrival, arrival, transit, 0
            self.window_count += 1
        elif transit < window.low:
            window.at, window.low = max(arrival, window.start), transit
        if opens or transit < self.minimum_at(arrival):
            self.fit()
        window = &self.windows[self.window_count - 1]
        window.peak = max(window.peak, transit - self.minimum_at(arrival))
        self.last_arrival = max(arrival, window.start)

    cdef void forget_windows(self, int32_t count) noexcept nogil:
        self.window_count -= count
        memmove(&self.windows[0], &self.windows[count], self.window_count * sizeof(Window))

    cdef int64_t minimum_at(self, int64_t sample) noexcept nogil:
        cdef int64_t ahead = min(sample, self.last_arrival + WINDOWS * WINDOW) - self.line_at
        return self.line_low + ahead * self.line_rise // self.line_run

    cdef void fit(self) noexcept nogil:
        cdef Window *windows = self.windows
        cdef int32_t right, other, lowest, left = 0
        cdef int64_t mean, rise, run
        while windows[self.window_count - 1].at - windows[0].at >= LEAST_SPAN:
            mean = 0
            for other in range(self.window_count):
                mean += windows[other].at - windows[0].at
            mean = windows[0].at + mean // self.window_count
            right = 0
            while windows[right].at < mean:  # along the lower hull, to the edge over the mean
                left = right
                right = left + 1
                for other in range(left + 2, self.window_count):
                    rise, run = windows[other].low - windows[left].low, windows[other].at - windows[left].at
                    if rise * (windows[right].at - windows[left].at) <= (windows[right].low - windows[left].low) * run:
                        right = other
            rise, run = windows[right].low - windows[left].low, windows[right].at - windows[left].at
            if -run <= rise * MOST_DRIFT <= run:
                self.line_at, self.line_low, self.line_rise, self.line_run = windows[right].at, windows[right].low, rise, run
                return
            self.forget_windows(left + 1)
        lowest = 0
        for other in range(1, self.window_count):
            if windows[other].low <= windows[lowest].low:
                lowest = other
        self.line_at, self.line_low, self.line_rise, self.line_run = windows[lowest].at, windows[lowest].low, 0, 1

    cdef int64_t delay(self) noexcept nogil:
        return -self.offset - self.minimum_at(self.base) if self.anchored else 0

    cdef int64_t move_due(self) noexcept nogil:
        """By how much this tick is to be moved, for a slip or a fall; which it is is taken down."""
        cdef int64_t delay, phase, least, target, peak, amount, kind = SLIP
        cdef bint forced
        if not self.anchored:
            return 0
        delay = self.delay()
        phase = modulo(self.newest_timestamp - self.offset, self.grid)
        least = 2 * FRAME - self.grid  # for packets that begin on the grid of ticks
        target = least + phase + self.raises * FRAME
        if delay < least + phase - SLACK:
            amount = least - delay
            amount = min(amount + modulo(-(phase + amount), self.grid), FRAME)
            forced = delay < least + phase - FORCED
        else:
            peak = self.recent_peak() + FRAME - self.grid + phase
            if delay >= target + self.grid + SLACK:
                amount = delay - least - self.raises * FRAME
                amount = -min(amount - modulo(amount - phase, self.grid), FRAME)
                forced = delay >= target + FORCED
                if delay + amount < peak and not forced:
                    return 0
            elif self.raises and delay - FRAME >= peak:
                amount, kind, forced = -FRAME, FALL, False
            else:
                return 0
        if not (forced or self.is_quiet()):
            return 0
        if kind == FALL:
            self.raises -= 1
            if delay - FRAME < least + phase - SLACK:  # the path has grown longer: the frame is used up
                return 0
        self.shift(amount)
        self.record(kind, self.base // FRAME, amount)
        self.slipped += amount if amount > 0 else -amount
        return amount

    cdef int64_t recent_peak(self) noexcept nogil:
        cdef int64_t index
        cdef int64_t peak = 0
        for index in range(self.window_count):
            if self.windows[index].start > self.base - CALM:
                peak = max(peak, self.windows[index].peak)
        return peak

    cdef void shift(self, int64_t amount) noexcept nogil:
        """Packets that are not decoded yet are heard later by `amount`."""
        cdef int64_t number
        cdef Slot *slot
        self.offset -= amount
        for number in range(self.next, self.newest + 1):
            slot = self.waiting(number)
            if slot != NULL:
                slot.place += amount

    cdef void record(self, int64_t kind, int64_t tick, int64_t amount) noexcept nogil:
        cdef Change *change = &self.changes[self.changes_written % CHANGES]
        change.tick, change.kind, change.amount = tick, kind, amount
        change.offset, change.delay = self.offset, self.delay()
        self.changes_written += 1
        self.changes_read = max(self.changes_read, self.changes_written - CHANGES)

    # Playout.

    cdef void advance_to(self, int64_t start) noexcept nogil:
        """Skip to the tick that begins here: what was decoded for the ticks between is not heard."""
        self.dropped += max(min(self.solid, start) - self.base, 0)
        self.cut(start - self.base)
        self.position = start + FRAME

    cdef void cut(self, int64_t samples) noexcept nogil:
        """Leave out the next `samples` of what was decoded, and go on with what follows at the next tick."""
        cdef int64_t rest = max(self.filled - self.base - samples, 0)
        if samples:
            memmove(&self.pcm[0], &self.pcm[samples if rest else 0], rest * sizeof(int16_t))
            memmove(&self.kinds[0], &self.kinds[samples if rest else 0], rest)
        self.base += samples
        self.filled = self.base + rest

    cdef int fill(self, decode) except -1:
        """Have the tick's samples: one decision at a time, since packets may come while `decode` runs."""
        cdef int64_t start
        cdef Slot *slot
        while True:
            slot = self.first_waiting()
            if slot != NULL and slot.place < self.base + FRAME:
                start = max(slot.place, self.solid, self.base)
                if start <= self.filled:
                    self.decode_packet(slot, start, decode)
                    continue
            elif self.filled >= self.base + FRAME:
                return 0
            else:
                start = self.base + FRAME
            if self.is_concealable(slot):
                self.conceal(decode)
            else:
                self.extend(NULL, start - self.filled, _SILENT)

    cdef Slot *first_waiting(self) noexcept nogil:
        cdef int64_t number
        for number in range(self.next, self.newest + 1):
            if self.waiting(number) != NULL:
                return self.waiting(number)
        return NULL

    cdef int decode_packet(self, Slot *slot, int64_t start, decode) except -1:
        cdef int64_t skipped = start - slot.place
        cdef int32_t samples = slot.samples, size = slot.size
        cdef const uint8_t *payload = self.payloads + (slot.number % SLOTS) * SLOT_BYTES
        cdef const int16_t[::1] pcm
        self.pass_to(slot.number)
        self.next += 1
        slot.waiting = self.fresh = False
        self.dropped += min(skipped, samples)
        if skipped >= samples:
            return 0
        self.toc = payload[0] & 0xFC
        self.discontinuous = size <= 2
        self.expected_timestamp = slot.timestamp + samples
        try:
            decoded = decode(PyBytes_FromStringAndSize(<const char *>payload, size))
        except Exception:
            self.invalid += 1
            return 0
        pcm = decoded
        if pcm.shape[0] > skipped:
            self.filled = start
            self.extend(&pcm[skipped], min(pcm.shape[0], samples) - skipped, AUDIO)
            self.solid = self.filled
        return 0

    cdef bint is_concealable(self, const Slot *after) noexcept nogil:
        if self.toc < 0 or self.discontinuous or self.filled >= self.solid + CONCEALED:
            return False
        return after == NULL or after.number != self.next or after.timestamp == self.expected_timestamp

    cdef int conceal(self, decode) except -1:
        cdef const int16_t[::1] pcm
        try:
            decoded = decode(bytes((self.toc,)))
        except Exception:
            self.toc = -1
            return 0
        pcm = decoded
        if pcm.shape[0]:
            self.extend(&pcm[0], min(pcm.shape[0], self.solid + CONCEALED - self.filled), _CONCEALED)
        else:
            self.toc = -1
        return 0

    cdef void extend(self, const int16_t *samples, int64_t count, uint8_t kind) noexcept nogil:
        cdef int64_t at = self.filled - self.base
        if samples == NULL:
            memset(&self.pcm[at], 0, count * sizeof(int16_t))
        else:
            memcpy(&self.pcm[at], samples, count * sizeof(int16_t))
        memset(&self.kinds[at], kind, count)
        self.filled += count

    cdef bint is_quiet(self) noexcept nogil:
        cdef int64_t index
        cdef int64_t energy = 0
        for index in range(FRAME):
            energy += <int64_t>self.pcm[index] * self.pcm[index]
        return energy < QUIET_ENERGY

    cdef void move(self, int64_t amount) noexcept nogil:
        """Insert silence before, or leave out the first of, what is decoded."""
        cdef int64_t held = self.filled - self.base
        if amount > 0:
            memmove(&self.pcm[amount], &self.pcm[0], held * sizeof(int16_t))
            memmove(&self.kinds[amount], &self.kinds[0], held)
            memset(&self.pcm[0], 0, amount * sizeof(int16_t))
            memset(&self.kinds[0], _SILENT, amount)
            self.filled += amount
        else:
            self.cut(-amount)
            self.base += amount
            self.filled += amount
        self.solid += amount

    cdef int deliver(self, int16_t *out) noexcept nogil:
        cdef int64_t index
        cdef int64_t concealed = 0, silent = 0
        memcpy(out, &self.pcm[0], FRAME * sizeof(int16_t))
        for index in range(FRAME):
            concealed += self.kinds[index] == _CONCEALED
            silent += self.kinds[index] == _SILENT
        self.cut(FRAME)
        self.concealed += concealed
        self.silent += silent
        return (_CONCEALED if concealed else 0) | (_SILENT if silent else 0)
