from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

cimport cython

cdef enum:
    HELD = 256  # packets, by the low bits of their number

ctypedef struct Packet:
    int64_t number  # unwrapped sequence number of the packet that was here last
    int64_t timestamp  # unwrapped
    int64_t arrival_ns
    int64_t arrival  # on the session's timeline
    int64_t place  # where it is heard on it
    int64_t stream  # 1, 2, ...: which of the sources that sent
    int32_t size
    int32_t samples
    int32_t grid  # such packets begin in a tick at multiples of this
    bint waiting  # to be played; otherwise played, late, dropped or invalid


@cython.final
cdef class PacketWindow:
    cdef uint8_t *payloads
    cdef Packet packets[HELD]
    cdef bint started  # the session: what is pushed out before is dropped, not overflowed
    cdef uint32_t ssrc, former_ssrc
    cdef int64_t stream, changed_ns
    cdef int64_t next  # the first number neither played nor passed over
    cdef int64_t first, last_before  # of the stream; of the stream before it
    cdef int64_t newest, newest_timestamp
    cdef uint16_t newest_sequence
    cdef int32_t probation
    cdef int64_t received, duplicates, reordered, late, lost, invalid, overflowed, dropped_samples
    cdef Packet *take_in(
        self, const uint8_t *data, Py_ssize_t size, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns
    ) noexcept nogil
    cdef Packet *waiting_from(self, int64_t number) noexcept nogil
    cdef const uint8_t *payload(self, const Packet *packet) noexcept nogil
    cdef void pass_to(self, int64_t number) noexcept nogil
    cdef void drop(self, Packet *packet) noexcept nogil
    cdef void begin_stream(self, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns) noexcept nogil
    cdef int64_t number_of(self, uint16_t sequence) noexcept nogil
    cdef Packet *enter(self, int64_t number, uint16_t sequence, uint32_t timestamp) noexcept nogil
