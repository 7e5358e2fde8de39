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
    cdef uint32_t ssrc, rival_ssrc
    cdef int64_t stream, source_ns, rival_ns  # when the source and the other one last sent
    cdef bint contested  # the source has sent since the other one began
    cdef int64_t next  # the first number neither played nor passed over
    cdef int64_t first, last_before  # of the stream; of the stream before it
    cdef int64_t newest, newest_timestamp
    cdef uint16_t newest_sequence
    cdef int32_t probation
    cdef Packet trusted, doubted  # the last one that others follow; one after it whose timestamp does not; number -1: none
    cdef Packet *vouched  # that one, where the packet just taken in shows that it was right
    cdef int64_t jumped_at, jumped_by  # the number at which the sequence last began anew; how many it left out
    cdef int64_t played, played_stream, played_until, played_samples  # the last one
    cdef bint pausing  # it said that nothing follows for a while
    cdef int64_t losing  # samples in a row
    cdef int64_t received, duplicates, reordered, foreign, lost, invalid, overflowed
    cdef int64_t dropped_samples, lost_samples, longest_loss_samples, paused_samples, unexplained_samples
    cdef Packet *take_in(
        self, const uint8_t *data, Py_ssize_t size, uint32_t ssrc, uint16_t sequence, uint32_t timestamp, int64_t arrival_ns
    ) noexcept nogil
    cdef Packet *waiting_from(self, int64_t number) noexcept nogil
    cdef const uint8_t *payload(self, const Packet *packet) noexcept nogil
    cdef void pass_to(self, int64_t number) noexcept nogil
    cdef void drop(self, Packet *packet) noexcept nogil
    cdef void take_out(self, Packet *packet, int64_t hole) noexcept nogil
    cdef void lose(self, int64_t samples) noexcept nogil
    cdef bint takes_over(self, uint32_t ssrc, int64_t arrival_ns) noexcept nogil
    cdef void begin_stream(self, uint32_t ssrc, uint16_t sequence, uint32_t timestamp) noexcept nogil
    cdef int64_t number_of(self, uint16_t sequence) noexcept nogil
    cdef Packet *enter(self, int64_t number, uint16_t sequence, uint32_t timestamp) noexcept nogil
    cdef bint is_believed(self, const Packet *packet) noexcept nogil
