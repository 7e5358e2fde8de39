"""A jitter buffer: places Opus packets (RFC 6716, RFC 7587) on the session's timeline and decodes them tick by tick."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from fdbcore._ext.decoded cimport CONCEALED, FRAME, SILENT, DecodedAudio
from fdbcore._ext.packets cimport Packet, PacketWindow
from fdbcore._ext.transit cimport MinimumTransit

from typing import NamedTuple

import numpy as np

from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES as _FRAME_SAMPLES, SAMPLE_RATE_HZ as _SAMPLE_RATE_HZ

cdef enum:
    SECOND = 48_000
    APART = 200 * 48  # if place and arrival are further apart than this, the stream is anchored again
    MOST_RAISES = 16  # with the drift that is tolerated, the delay then stays below 200 ms
    SLACK = 120  # a slip needs 2.5 ms off the target, so that noise of the estimate causes none
    FORCED = 2 * FRAME  # 20 ms off the target: slip even in speech
    CALM = 5 * SECOND  # how long after trouble the delay may fall in a quiet frame
    UNNEEDED = 10 * SECOND  # how long after trouble it falls in any frame, by a frame a second
    CHANGES = 64
    ARRIVALS = 1024

cdef enum Kind:
    ANCHOR
    REANCHOR
    NEW_SSRC
    SLIP
    RAISE
    FALL

cdef tuple KINDS = ("anchor", "reanchor", "new_ssrc", "slip", "raise", "fall")
cdef int64_t NEVER = -(<int64_t>1 << 60)

assert FRAME == _FRAME_SAMPLES and SECOND == _SAMPLE_RATE_HZ

CONCEALED_FLAG = CONCEALED
SILENT_FLAG = SILENT

DelayChange = NamedTuple(
    "DelayChange",
    [("tick", int), ("kind", str), ("offset_samples", int), ("delay_samples", int), ("amount_samples", int)],
)
DelayChange.__doc__ = """A change of a JitterBuffer's map, for the packets that are first heard in `tick` or later.

kind: "anchor", "reanchor", "new_ssrc", "slip", "raise" or "fall".
offset_samples, delay_samples: their values from now on. amount_samples: how much later packets are heard (earlier if
    negative); 0 if there was no map before, and for a new SSRC, whose timestamps are unrelated.
"""

cdef tuple COUNTS = (
    "received", "duplicates", "reordered", "foreign", "late", "lost", "invalid", "overflowed", "new_ssrcs",
    "lost_samples", "longest_loss_samples", "paused_samples", "unexplained_samples",
    "concealed_samples", "silent_samples", "dropped_samples", "slipped_samples",
)
JitterStats = NamedTuple("JitterStats", [(name, int) for name in COUNTS])
JitterStats.__doc__ = """Counts of a JitterBuffer since its construction, of packets and then of samples.

received: all packets given to `add`. duplicates: their number had come before. reordered: they came after a later
    number. foreign: they came from another source than the one that is heard.
late: they came after their place in the playout, and were not played.
lost: numbers that never came, up to the last one played.
invalid: not an Opus packet, longer than 1500 bytes, refused by the decoder, or with a sequence number or timestamp that
    does not follow.
overflowed: pushed out before they were played, by a packet 256 numbers later.
lost_samples: samples that the side sent (by its timestamps) but that were never heard: in lost, late, invalid or
    overflowed packets, or in the place of others that were heard. longest_loss_samples: the longest run of them.
paused_samples: nothing was sent, and no number is missing. unexplained_samples: nothing came, and no number explains
    it: everything came later from then on, another source followed, or nothing did.
concealed_samples, silent_samples: heard samples that were the decoder's concealment, or silence (also that of slips).
dropped_samples: they came in time but were not heard: before tick 0, in missed ticks, or in the place of others.
slipped_samples: inserted and removed by slips and falls.
"""

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


@cython.final
@cython.auto_pickle(False)
cdef class JitterBuffer:
    """Encoded Opus packets of one RTP receiver, placed on the session's 48 kHz timeline and decoded tick by tick.

    The map: `place = timestamp - offset` (unwrapped) is the session's sample at which a packet begins to be heard. The
    offset is constant between logged changes. A packet must be there, whole, when the tick that holds its place begins.
    *Transit* is arrival - timestamp; *minimum transit* is the fastest transit of the path (see MinimumTransit). *Delay*
    is place - timestamp - minimum transit: what this buffer adds. It is accurate to 1 ms if some packets of each second
    meet no queue. The map changes by:

    - anchor: the offset is set so that a packet at minimum transit is there 10 ms before the tick that needs it, with
      the least delay that lets packets begin on ticks: 10 to 20 ms. It is set at `start` from the minimum of the last
      second, or later from the first packet; again for a *new_ssrc*; and as a *reanchor* when all packets of 200 ms
      were late, or when a packet that is believed (see PacketWindow) is more than 200 ms early for its place, or late
      because its timestamp went back.
    - raise: a packet is late, and is not played, if the tick of its place has begun. Three ticks with late packets
      within 2 s raise the delay by a frame, up to 200 ms. A packet that never comes is lost and changes nothing.
    - fall: a raise is taken back in a quiet frame (see DecodedAudio) if all packets of the last 5 s would have been in
      time without it; in any frame, one a second, if all packets of the last 10 s would have been.
    - slip: if the delay has drifted more than 2.5 ms out of its 10 to 20 ms (plus raises), up to 480 samples are
      inserted or removed in a quiet frame; if it is 20 ms off, in any frame.

    The decoder conceals a gap for 60 ms; then comes silence. If the sender pauses (DTX), silence comes at once: after a
    packet of one or two bytes, and between timestamps that skip time although no sequence number is missing.
    `add` and `play_into` may run on two threads: each holds the GIL, or this object where Python has none, and the state
    is consistent whenever `decode` is called. Memory is 0.5 MB, allocated once.
    """

    cdef PacketWindow packets
    cdef MinimumTransit minimum
    cdef DecodedAudio decoded
    # the map
    cdef int64_t origin_ns, offset, stream, raises
    cdef int64_t waited  # of the packet that was decoded last, from its arrival to its place; INT64_MAX after an anchor
    cdef int64_t last_timestamp
    cdef int32_t grid  # of that packet
    cdef int64_t late_since, late_low  # of the run of late packets: its first arrival, its minimum transit
    cdef int64_t late_position  # of the last tick that had late packets
    cdef int64_t late_at[2]  # late packets of the two such ticks before
    # playout
    cdef int64_t position  # the first sample of the first tick that has not begun
    cdef int32_t toc  # of the last packet; -1: nothing can be concealed
    # logs
    cdef Change changes[CHANGES]
    cdef int64_t arrival_log[ARRIVALS][3]
    cdef int64_t changes_written, changes_read, arrivals_written, arrivals_read
    cdef int64_t late, undecodable, dropped, slipped

    def __cinit__(self):
        self.packets = PacketWindow()
        self.minimum = MinimumTransit()
        self.decoded = DecodedAudio()
        self.toc = -1
        self.waited = INT64_MAX
        self.forget_trouble()

    @property
    @cython.critical_section
    def delay_samples(self):
        """The delay over minimum transit at which a packet is heard now; 0 before there is a map."""
        return self.delay()

    @property
    @cython.critical_section
    def waited_samples(self):
        """The wait here of what is heard now: `delay_samples`, or less if its packet came later."""
        return max(min(self.delay(), self.waited), 0)

    @cython.critical_section
    def add(self, bytes payload not None, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns):
        """Take a packet as it arrives: payload, fields of its RTP header, and arrival time (monotonic, ns)."""
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(payload)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(payload)
        cdef Packet *packet = self.packets.take_in(data, size, ssrc, sequence, timestamp, arrival_ns)
        if packet != NULL and self.packets.started:
            if self.packets.vouched != NULL:
                self.place(self.packets.vouched, True)
            self.place(packet, False)

    @cython.critical_section
    def start(self, int64_t origin_ns):
        """Tick 0 begins at `origin_ns`; audio before it is dropped. SettingsError if it was started before."""
        if self.packets.started:
            raise SettingsError("start: expected once, the jitter buffer was started before")
        self.origin_ns = origin_ns
        self.packets.started = True
        self.place_waiting()

    @cython.critical_section
    def play_into(self, frame, int64_t tick, decode):
        """Write the samples of `tick` to `frame`; return CONCEALED_FLAG, SILENT_FLAG or both if it holds such, else 0.

        frame: int16 (480,), writable. tick: ascending; skipped ticks are not heard. decode: turns a packet into int16
        (n,). It is called with every packet that is due, in order, and with the last one's TOC & 0xFC for concealment.
        If it raises, the packet counts as invalid and is concealed. FrameError for a wrong frame or tick.
        """
        cdef int16_t[::1] out
        cdef int64_t amount
        try:
            out = frame
        except (BufferError, TypeError, ValueError) as error:
            got = f"{type(frame).__name__}: {error}"
            raise FrameError(f"frame: expected a writable int16 ({FRAME},), got {got}") from None
        if out is None or out.shape[0] != FRAME:
            raise FrameError(f"frame: expected a writable int16 ({FRAME},), got {np.shape(frame)}")
        if not self.packets.started or tick * FRAME < self.position:
            raise FrameError(f"tick: expected {self.position // FRAME} or later, after start; got {tick}")
        self.position = (tick + 1) * FRAME
        self.decoded.skip_to(tick * FRAME)
        self.fill(decode)
        amount = self.move_due()
        if amount:
            self.decoded.move(amount)
            self.fill(decode)
        return self.decoded.pop(&out[0])

    @cython.critical_section
    def drain(self):
        """The changes of the map since the last call, oldest first; at most the last 64."""
        cdef Change change
        changes = []
        while self.changes_read < self.changes_written:
            change = self.changes[self.changes_read % CHANGES]
            self.changes_read += 1  # before Python runs, when packets may come
            changes.append(DelayChange(change.tick, KINDS[change.kind], change.offset, change.delay, change.amount))
        return changes

    @cython.critical_section
    def arrivals(self):
        """The packets since the last call, at most the last 1024: arrival_ns, place and samples, int64 (n, 3).

        Late packets are included; packets that lie wholly before tick 0 are not.
        """
        cdef int64_t[:, ::1] rows
        cdef Py_ssize_t row
        cdef int64_t first = self.arrivals_read, end = self.arrivals_written
        log = np.empty((end - first, 3), dtype=np.int64)
        rows = log
        for row in range(end - first):
            memcpy(&rows[row, 0], &self.arrival_log[(first + row) % ARRIVALS][0], 3 * sizeof(int64_t))
        self.arrivals_read = max(self.arrivals_read, end)
        return log

    @cython.critical_section
    def stats(self):
        """The counts so far; see JitterStats."""
        cdef PacketWindow packets = self.packets
        unexplained = packets.unexplained_samples
        if packets.played_stream and not packets.pausing:
            unexplained += max(self.decoded.start - self.decoded.solid, 0)
        return JitterStats(
            packets.received, packets.duplicates, packets.reordered, packets.foreign, self.late, packets.lost,
            packets.invalid + self.undecodable, packets.overflowed, max(packets.stream - 1, 0),
            packets.lost_samples, packets.longest_loss_samples, packets.paused_samples, unexplained,
            self.decoded.concealed, self.decoded.silent,
            packets.dropped_samples + self.decoded.skipped + self.dropped, self.slipped,
        )

    # The places of packets.

    cdef void place_waiting(self) noexcept nogil:
        """Place the packets that wait at the start: anchor by the minimum transit of the last second."""
        cdef int64_t recent = NEVER, low = INT64_MAX
        cdef Packet *last = NULL
        cdef Packet *packet = self.packets.waiting_from(0)
        while packet != NULL:
            if packet.stream != self.packets.stream:
                self.packets.drop(packet)
            else:
                self.date(packet)
                recent = max(recent, packet.arrival - SECOND)
                last = packet
            packet = self.packets.waiting_from(packet.number + 1)
        packet = self.packets.waiting_from(0)
        while packet != NULL:
            if packet.arrival >= recent:
                low = min(low, packet.arrival - packet.timestamp)
            packet = self.packets.waiting_from(packet.number + 1)
        if last != NULL:
            self.anchor(last, low)
        packet = self.packets.waiting_from(0)
        while packet != NULL:
            if packet.arrival >= recent:
                self.minimum.observe(packet.arrival, packet.arrival - packet.timestamp)
            self.put(packet)
            packet = self.packets.waiting_from(packet.number + 1)

    cdef void date(self, Packet *packet) noexcept nogil:
        packet.arrival = floor_div((packet.arrival_ns - self.origin_ns) * 48, 1_000_000)

    cdef void put(self, Packet *packet) noexcept nogil:
        """Give a packet its place by the map, and log it. A packet that ends before tick 0 is dropped."""
        cdef int64_t *entry = self.arrival_log[self.arrivals_written % ARRIVALS]
        packet.place = packet.timestamp - self.offset
        self.last_timestamp, self.grid = packet.timestamp, packet.grid
        if packet.place + packet.samples <= 0:
            if packet.waiting:
                self.packets.drop(packet)
            return
        entry[0], entry[1], entry[2] = packet.arrival_ns, packet.place, packet.samples
        self.arrivals_written += 1
        self.arrivals_read = max(self.arrivals_read, self.arrivals_written - ARRIVALS)

    cdef void place(self, Packet *packet, bint jumps) noexcept nogil:
        """Place a packet that came after the start. If it shows that the map is wrong, anchor again first.

        jumps: its timestamp does not follow the ones before, but is believed. Any other packet that is late has only
        met a queue.
        """
        cdef int64_t transit, late
        self.date(packet)
        transit = packet.arrival - packet.timestamp
        late = transit + self.offset
        if packet.stream != self.stream or late < -APART or (jumps and late > APART):
            self.anchor(packet, transit)
        self.minimum.observe(packet.arrival, transit)
        if self.is_late(packet):
            self.come_late(packet, transit)
        else:
            self.late_since = NEVER
        self.put(packet)

    cdef bint is_late(self, const Packet *packet) noexcept nogil:
        if self.position == 0:
            return False
        return packet.number < self.packets.next or packet.timestamp - self.offset < self.position

    cdef void come_late(self, Packet *packet, int64_t transit) noexcept nogil:
        cdef bint in_time
        if self.late_since == NEVER:
            self.late_since, self.late_low = packet.arrival, transit
        self.late_low = min(self.late_low, transit)
        if packet.number >= self.packets.next and packet.arrival - self.late_since >= APART:
            in_time = self.aligned(packet, self.late_low) >= self.position
            self.anchor(packet, self.late_low if in_time else transit)
            return
        packet.waiting = False
        self.late += 1
        if self.late_position == self.position:
            return
        self.late_position = self.position
        if packet.arrival - self.late_at[0] > 2 * SECOND or self.raises == MOST_RAISES:
            self.late_at[0], self.late_at[1] = self.late_at[1], packet.arrival
            return
        self.late_at[0] = self.late_at[1] = NEVER
        self.raises += 1
        self.shift(FRAME)
        self.record(RAISE, self.position // FRAME, FRAME)

    # The map.

    cdef int64_t aligned(self, const Packet *packet, int64_t low) noexcept nogil:
        """The first place on the packets' grid that leaves a frame of headroom, for a minimum transit of `low`."""
        return -packet.grid * floor_div(-(packet.timestamp + low + 2 * FRAME - packet.grid), packet.grid)

    cdef void anchor(self, const Packet *packet, int64_t low) noexcept nogil:
        cdef int64_t before = self.offset
        cdef int64_t kind = REANCHOR
        cdef Packet *early = self.packets.waiting_from(0)
        if packet.stream != self.stream:
            kind = NEW_SSRC if self.stream else ANCHOR
        self.offset = packet.timestamp - self.aligned(packet, low)
        self.stream = packet.stream
        self.waited = INT64_MAX
        self.forget_trouble()
        self.minimum.forget()
        self.minimum.observe(packet.arrival, low)
        while kind == REANCHOR and early != NULL:
            if early.place - early.arrival > APART:
                early.place = early.timestamp - self.offset
            early = self.packets.waiting_from(early.number + 1)
        self.record(kind, self.position // FRAME, before - self.offset if kind == REANCHOR else 0)
        if kind == REANCHOR:
            self.packets.unexplained_samples += max(min(before - self.offset, self.decoded.start - self.decoded.solid), 0)

    cdef void forget_trouble(self) noexcept nogil:
        self.raises = 0
        self.late_since = self.late_position = self.late_at[0] = self.late_at[1] = NEVER

    cdef int64_t delay(self) noexcept nogil:
        return -self.offset - self.minimum.at(self.decoded.start) if self.stream else 0

    cdef int64_t move_due(self) noexcept nogil:
        """Change the map by a slip or a fall if one is due; return by how many samples this tick moves."""
        cdef int64_t delay, phase, least, target, needed, amount, kind = SLIP
        cdef bint forced = False
        if not self.stream:
            return 0
        delay = self.delay()
        phase = modulo(self.last_timestamp - self.offset, self.grid)
        least = 2 * FRAME - self.grid  # for packets that begin on the grid
        target = least + phase + self.raises * FRAME
        needed = FRAME - self.grid + phase + self.minimum.peak_since(self.decoded.start - CALM)
        if delay < least + phase - SLACK:
            amount = least - delay
            amount = min(amount + modulo(-(phase + amount), self.grid), FRAME)
            forced = delay < least + phase - FORCED
        elif delay >= target + self.grid + SLACK:
            amount = delay - least - self.raises * FRAME
            amount = -min(amount - modulo(amount - phase, self.grid), FRAME)
            forced = delay >= target + FORCED
            if delay + amount < needed and not forced:
                return 0
        elif self.raises and delay - FRAME < least + phase - SLACK:
            self.raises -= 1  # the path has become longer, which used up this raise
            return 0
        elif self.raises and delay - FRAME >= needed:
            amount, kind = -FRAME, FALL
            needed = FRAME - self.grid + phase + self.minimum.peak_since(self.decoded.start - UNNEEDED)
            forced = self.decoded.start % SECOND == 0 and delay - FRAME >= needed
        else:
            return 0
        if not (forced or self.decoded.is_quiet()):
            return 0
        self.raises -= kind == FALL
        self.shift(amount)
        self.record(kind, self.decoded.start // FRAME, amount)
        self.slipped += amount if amount > 0 else -amount
        return amount

    cdef void shift(self, int64_t amount) noexcept nogil:
        """Make everything that is not decoded yet heard later by `amount`."""
        cdef Packet *packet = self.packets.waiting_from(0)
        self.offset -= amount
        self.waited += amount if self.waited < INT64_MAX else 0
        while packet != NULL:
            packet.place += amount
            packet = self.packets.waiting_from(packet.number + 1)

    cdef void record(self, int64_t kind, int64_t tick, int64_t amount) noexcept nogil:
        cdef Change *change = &self.changes[self.changes_written % CHANGES]
        change.tick, change.kind, change.amount = tick, kind, amount
        change.offset, change.delay = self.offset, self.delay()
        self.changes_written += 1
        self.changes_read = max(self.changes_read, self.changes_written - CHANGES)

    # Playout.

    cdef int fill(self, decode) except -1:
        """Decode what the tick needs. Each step decides anew, because packets may come while `decode` runs."""
        cdef int64_t start, end = self.decoded.start + FRAME
        cdef Packet *packet
        while True:
            packet = self.packets.waiting_from(0)
            start = end
            if packet != NULL and packet.place < end:
                start = max(packet.place, self.decoded.solid, self.decoded.start)
                if start <= self.decoded.end:
                    self.decode_packet(packet, start, decode)
                    continue
            elif self.decoded.end >= end:
                return 0
            if self.toc >= 0 and self.decoded.is_concealable() and not self.is_pause(packet):
                self.conceal(decode)
            else:
                self.decoded.be_silent_until(start)

    cdef int decode_packet(self, Packet *packet, int64_t start, decode) except -1:
        cdef int64_t skipped = start - packet.place
        cdef int32_t samples = packet.samples
        cdef const uint8_t *payload = self.packets.payload(packet)
        cdef const int16_t[::1] pcm
        self.packets.take_out(packet, start - self.decoded.solid)
        self.packets.lose(max(min(self.decoded.solid - max(packet.place, self.decoded.start), samples), 0))
        self.dropped += min(skipped, samples)
        if skipped >= samples:
            return 0
        self.toc = payload[0] & 0xFC
        self.waited = packet.place - packet.arrival
        try:
            pcm = decode(PyBytes_FromStringAndSize(<const char *>payload, packet.size))
        except Exception:
            self.undecodable += 1
            self.packets.lose(samples - skipped)
            return 0
        self.packets.losing = 0
        if pcm.shape[0] > skipped:
            self.decoded.put_audio(start, &pcm[skipped], min(pcm.shape[0], samples) - skipped)
        return 0

    cdef bint is_pause(self, const Packet *after) noexcept nogil:
        """True if the sender pauses before the packet `after`, so that the gap is not a loss."""
        if after == NULL or after.number != self.packets.next:
            return self.packets.pausing
        return self.packets.pausing or after.timestamp != self.packets.played_until

    cdef int conceal(self, decode) except -1:
        cdef const int16_t[::1] pcm
        try:
            pcm = decode(bytes((self.toc,)))
        except Exception:
            pcm = None
        if pcm is None or pcm.shape[0] == 0:
            self.toc = -1  # silence until the next packet
        else:
            self.decoded.conceal(&pcm[0], pcm.shape[0])
        return 0
