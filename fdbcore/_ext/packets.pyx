"""Puts the RTP packets (RFC 3550) of one receiver in order: wraps, reordering, duplicates, losses, restarts."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int16_t
from libc.string cimport memcpy

cdef enum:
    TICK_SAMPLES = 480
    PAYLOAD_BYTES = 1500  # an Ethernet frame: no RTP payload is longer
    LONGEST_PACKET = 5760  # 120 ms
    MAX_DROPOUT = 3000  # RFC 3550, A.1
    MAX_MISORDER = 100
    STREAM_GAP = 128  # numbers skipped between sources, because the new one's first packets may be out of order
    LEAP = 20 * 48  # a timestamp further ahead than numbers and time explain is not believed by itself

cdef int64_t SECOND_NS = 1_000_000_000
cdef int64_t NEVER = -(<int64_t>1 << 60)


cdef int32_t samples_of(const uint8_t *payload, Py_ssize_t size) noexcept nogil:
    cdef int32_t config, frame, samples
    if size < 1 or size > PAYLOAD_BYTES:
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


cdef int32_t grid_of(int32_t samples) noexcept nogil:
    """The greatest common divisor of a packet's length and a tick."""
    cdef int32_t a = TICK_SAMPLES, b = samples
    while b:
        a, b = b, a % b
    return a


cdef bint follows(const Packet *before, const Packet *packet) noexcept nogil:
    """True if the timestamps of two packets of one source fit their numbers, or the time between their arrivals."""
    cdef int64_t span = packet.timestamp - before.timestamp
    cdef int64_t numbers = packet.number - before.number
    if numbers < 0:
        return span <= 0
    numbers *= max(before.samples, packet.samples)
    return 0 <= span <= max(numbers, (packet.arrival_ns - before.arrival_ns) * 48 // 1_000_000) + LEAP


def opus_samples(bytes payload not None):
    """The length of an Opus packet in samples at 48 kHz, from its first bytes (RFC 6716, 3.1 and 3.2); 0 if invalid.

    Invalid are empty packets, and those of more than 120 ms or 1500 bytes (an Ethernet frame).
    """
    return samples_of(<const uint8_t *>PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))


@cython.final
@cython.auto_pickle(False)
cdef class PacketWindow:
    """The last 256 packets of one receiver by their unwrapped sequence numbers, and the fate of each number.

    Numbers continue across wraps, restarts and sources. A packet that does not follow the ones before is believed only
    if the next one confirms it. Such are: a sequence number that jumps beyond RFC 3550's limits (3000 ahead, 100 back);
    a timestamp that lies behind, or is 20 ms further ahead than the skipped numbers and the time explain; and a packet
    of another source. If the old source still sends, it keeps its place until it has been silent for a second.

    Time that timestamps skip between two played packets is lost if numbers are missing, otherwise it is a pause.
    """

    def __cinit__(self):
        cdef int64_t index
        self.payloads = <uint8_t *>PyMem_Calloc(HELD, PAYLOAD_BYTES)
        if self.payloads == NULL:
            raise MemoryError(f"no memory for {HELD} packets")
        for index in range(HELD):
            self.packets[index].number = -1
        self.newest = self.last_before = self.jumped_at = -1
        self.trusted.number = self.doubted.number = -1
        self.source_ns = self.rival_ns = NEVER

    def __dealloc__(self):
        PyMem_Free(self.payloads)

    cdef Packet *take_in(
        self, const uint8_t *data, Py_ssize_t size, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns
    ) noexcept nogil:
        """Store a packet and return it; NULL if it is not to be played."""
        cdef int32_t samples = samples_of(data, size)
        cdef int64_t number
        cdef Packet *packet
        self.received += 1
        self.vouched = NULL
        if self.stream == 0 or ssrc != self.ssrc:
            if samples == 0:
                self.invalid += 1
                return NULL
            if self.stream and not self.takes_over(ssrc, arrival_ns):
                self.foreign += 1
                return NULL
            self.begin_stream(ssrc, sequence, timestamp)
        self.source_ns, self.contested = arrival_ns, True
        number = self.number_of(sequence)
        if number < 0:
            self.invalid += 1
            return NULL
        if self.packets[number % HELD].number == number:
            self.duplicates += 1
            return NULL
        packet = self.enter(number, sequence, timestamp)
        packet.arrival_ns, packet.size, packet.samples = arrival_ns, <int32_t>size, samples
        if samples:
            packet.grid = grid_of(samples)
            memcpy(<void *>self.payload(packet), data, size)
            packet.waiting = self.is_believed(packet)
        if packet.waiting:
            return packet
        self.invalid += 1
        return NULL

    cdef Packet *waiting_from(self, int64_t number) noexcept nogil:
        """The first waiting packet with this number or a later one; NULL if there is none."""
        cdef Packet *packet
        cdef int64_t candidate
        for candidate in range(max(number, self.next), self.newest + 1):
            packet = &self.packets[candidate % HELD]
            if packet.number == candidate and packet.waiting:
                return packet
        return NULL

    cdef const uint8_t *payload(self, const Packet *packet) noexcept nogil:
        return self.payloads + (packet.number % HELD) * PAYLOAD_BYTES

    cdef void pass_to(self, int64_t number) noexcept nogil:
        """Give up all numbers below this one: those that never came are lost."""
        cdef Packet *packet
        cdef int64_t passed
        for passed in range(self.next, min(number, self.newest + 1)):
            packet = &self.packets[passed % HELD]
            if packet.number == passed and packet.waiting:
                self.overflowed += self.started
                self.drop(packet)
            elif packet.number != passed and not self.last_before < passed < self.first:
                self.lost += 1
        self.next = max(self.next, number)

    cdef void drop(self, Packet *packet) noexcept nogil:
        packet.waiting = False
        self.dropped_samples += packet.samples

    cdef void take_out(self, Packet *packet, int64_t hole) noexcept nogil:
        """Take out a packet that is played now, `hole` samples after the last audio; count what was lost between."""
        cdef int64_t missing = packet.number - self.played - 1
        cdef int64_t left_out = packet.timestamp - self.played_until
        cdef int64_t lost, longer = max(packet.samples, self.played_samples)
        if packet.stream == self.played_stream:
            if left_out < 0:  # the timestamps began anew
                left_out = missing * longer
            if self.played < self.jumped_at <= packet.number:
                missing += self.jumped_by
            lost = min(left_out, missing * longer)
            self.lose(lost)
            self.paused_samples += max(min(left_out - lost, hole), 0)
        elif self.played_stream and not self.pausing:
            self.unexplained_samples += max(hole, 0)
        self.played, self.played_stream = packet.number, packet.stream
        self.played_until, self.played_samples = packet.timestamp + packet.samples, packet.samples
        self.pausing = packet.size <= 2
        self.pass_to(packet.number)
        self.next += 1
        packet.waiting = False

    cdef void lose(self, int64_t samples) noexcept nogil:
        """Count samples, in a row with those before, that will never be heard."""
        self.lost_samples += samples
        self.losing += samples
        self.longest_loss_samples = max(self.longest_loss_samples, self.losing)

    cdef bint takes_over(self, uint32_t ssrc, int64_t arrival_ns) noexcept nogil:
        """True if this packet shows that its source has replaced the old one."""
        if arrival_ns - self.rival_ns > SECOND_NS:
            self.rival_ssrc, self.rival_ns, self.contested = ssrc, arrival_ns, False
            return False
        if ssrc != self.rival_ssrc or (self.contested and arrival_ns - self.source_ns < SECOND_NS):
            self.rival_ns = arrival_ns if ssrc == self.rival_ssrc else self.rival_ns
            return False
        self.rival_ssrc, self.rival_ns = self.ssrc, self.source_ns
        return True

    cdef void begin_stream(self, uint32_t ssrc, uint16_t sequence, uint32_t timestamp) noexcept nogil:
        if self.next < self.first:
            self.pass_to(self.first)
        self.ssrc = ssrc
        self.last_before = self.newest
        self.newest += STREAM_GAP
        self.first = self.newest + 1
        self.newest_sequence, self.newest_timestamp = <uint16_t>(sequence - 1), timestamp
        self.stream += 1
        self.probation = -1
        self.trusted.number = self.doubted.number = -1

    cdef int64_t number_of(self, uint16_t sequence) noexcept nogil:
        """The unwrapped sequence number; -1 if it jumps too far, unless it is the second in a row after that jump."""
        cdef int32_t ahead = <int16_t>(sequence - self.newest_sequence)
        if -MAX_MISORDER <= ahead < MAX_DROPOUT:
            return self.newest + ahead
        if sequence == self.probation:
            self.jumped_at, self.jumped_by = self.newest + 1, <uint16_t>(sequence - self.newest_sequence - 1)
            self.newest_sequence = <uint16_t>(sequence - 1)
            self.trusted.number = -1
            return self.newest + 1
        self.probation = <uint16_t>(sequence + 1)
        return -1

    cdef Packet *enter(self, int64_t number, uint16_t sequence, uint32_t timestamp) noexcept nogil:
        cdef Packet *packet = &self.packets[number % HELD]
        if number > self.newest:
            self.newest, self.newest_sequence = number, sequence
        else:
            self.reordered += 1
        if number < self.next and number >= self.first:
            self.lost -= 1
        self.pass_to(number - HELD + 1)
        self.first = min(self.first, number)
        packet.number, packet.stream, packet.waiting = number, self.stream, False
        packet.timestamp = self.newest_timestamp + <int32_t>(timestamp - <uint32_t>self.newest_timestamp)
        return packet

    cdef bint is_believed(self, const Packet *packet) noexcept nogil:
        """True if the packet's timestamp follows those believed, or confirms the doubted one before it."""
        cdef Packet *before = &self.packets[self.doubted.number % HELD]
        if self.trusted.number >= 0 and not follows(&self.trusted, packet):
            if self.doubted.number < 0 or not follows(&self.doubted, packet):
                self.doubted = packet[0]
                return False
            if before.number == self.doubted.number:
                self.vouched = before
                before.waiting = True
                self.invalid -= 1
        elif packet.number < self.trusted.number:
            return True
        self.trusted, self.newest_timestamp = packet[0], packet.timestamp
        self.doubted.number = -1
        return True
