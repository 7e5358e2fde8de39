"""RTP packets (RFC 3550) of one receiver, put in order: wrap, reorder, duplicates, losses, restarts, other sources."""

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
    STREAM_GAP = 128  # numbers left out between sources: the new one's first packets may be out of order


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
    """The greatest common divisor with a tick."""
    cdef int32_t a = TICK_SAMPLES, b = samples
    while b:
        a, b = b, a % b
    return a


def opus_samples(bytes payload not None):
    """Length of an Opus packet at 48 kHz by its first bytes (RFC 6716, 3.1 and 3.2); 0 if it is none.

    None are: nothing, more than 120 ms, and more than the 1500 bytes that a network carries.
    """
    return samples_of(<const uint8_t *>PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))


@cython.final
@cython.auto_pickle(False)
cdef class PacketWindow:
    """The last 256 packets of one receiver by their unwrapped sequence numbers, and what became of each number.

    Numbers go on for ever, across wraps, restarts and sources. A sequence that jumps by more than RFC 3550's limits
    (3000 ahead, 100 back) is believed at its second packet in a row. A packet of the source before is late for a second.
    """

    def __cinit__(self):
        cdef int64_t index
        self.payloads = <uint8_t *>PyMem_Calloc(HELD, PAYLOAD_BYTES)
        if self.payloads == NULL:
            raise MemoryError(f"no memory for {HELD} packets")
        for index in range(HELD):
            self.packets[index].number = -1
        self.newest = self.last_before = -1

    def __dealloc__(self):
        PyMem_Free(self.payloads)

    cdef Packet *take_in(
        self, const uint8_t *data, Py_ssize_t size, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns
    ) noexcept nogil:
        """Copy the packet; NULL if it is none to be played."""
        cdef int32_t samples = samples_of(data, size)
        cdef int64_t number
        cdef Packet *packet
        self.received += 1
        if self.stream == 0 or ssrc != self.ssrc:
            if samples == 0:
                self.invalid += 1
                return NULL
            if self.stream > 1 and ssrc == self.former_ssrc and arrival_ns - self.changed_ns < 1_000_000_000:
                self.late += 1
                return NULL
            self.begin_stream(ssrc, sequence, timestamp, arrival_ns)
        number = self.number_of(sequence)
        if number < 0:
            self.invalid += 1
            return NULL
        if self.packets[number % HELD].number == number:
            self.duplicates += 1
            return NULL
        packet = self.enter(number, sequence, timestamp)
        if samples == 0:
            self.invalid += 1
            return NULL
        packet.arrival_ns, packet.size, packet.samples = arrival_ns, <int32_t>size, samples
        packet.grid, packet.waiting = grid_of(samples), True
        memcpy(<void *>self.payload(packet), data, size)
        return packet

    cdef Packet *waiting_from(self, int64_t number) noexcept nogil:
        """The first packet with this number or a later one that waits to be played; NULL if there is none."""
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
        """No number below this one is played any more; those that never came are lost."""
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

    cdef void begin_stream(self, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns) noexcept nogil:
        if self.next < self.first:
            self.pass_to(self.first)
        self.former_ssrc, self.ssrc, self.changed_ns = self.ssrc, ssrc, arrival_ns
        self.last_before = self.newest
        self.newest += STREAM_GAP
        self.first = self.newest + 1
        self.newest_sequence, self.newest_timestamp = <uint16_t>(sequence - 1), timestamp
        self.stream += 1
        self.probation = -1

    cdef int64_t number_of(self, uint16_t sequence) noexcept nogil:
        """The unwrapped sequence number; -1 if it is far off and not the second in a row that is."""
        cdef int32_t ahead = <int16_t>(sequence - self.newest_sequence)
        if -MAX_MISORDER <= ahead < MAX_DROPOUT:
            return self.newest + ahead
        if sequence == self.probation:
            self.newest_sequence = <uint16_t>(sequence - 1)
            return self.newest + 1
        self.probation = <uint16_t>(sequence + 1)
        return -1

    cdef Packet *enter(self, int64_t number, uint16_t sequence, uint32_t timestamp) noexcept nogil:
        cdef Packet *packet = &self.packets[number % HELD]
        cdef int64_t unwrapped = self.newest_timestamp + <int32_t>(timestamp - <uint32_t>self.newest_timestamp)
        if number > self.newest:
            self.newest, self.newest_sequence, self.newest_timestamp = number, sequence, unwrapped
        else:
            self.reordered += 1
        if number < self.next and number >= self.first:
            self.lost -= 1
        self.pass_to(number - HELD + 1)
        self.first = min(self.first, number)
        packet.number, packet.timestamp, packet.stream, packet.waiting = number, unwrapped, self.stream, False
        return packet
