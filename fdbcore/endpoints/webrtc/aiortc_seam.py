"""The only module that uses private names of aiortc (1.16) and aioice (0.13).

aiortc negotiates, connects, encrypts and makes the RTCP reports. The audio bypasses its queues in both directions. An
incoming packet is time-stamped in the callback of its socket. An outgoing packet is handed to the socket by the calling
thread, without a turn of the event loop, which would be 1 to 2 ms late.
"""

import asyncio
import contextvars
import ctypes
import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import aioice.ice
import aiortc.clock
import pylibsrtp._binding
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCRtpTransceiver
from aiortc.rtcdtlstransport import RTCCertificate, SRTPProtectionProfile
from aiortc.rtcrtpreceiver import StreamStatistics
from OpenSSL import SSL

from fdbcore.clock import now_ns
from fdbcore.endpoints.webrtc.rtp import RtpPacket, is_rtcp, pack, unpack
from fdbcore.errors import PartyError
from fdbcore.types import SAMPLE_RATE_HZ

OnPacket = Callable[[RtpPacket, int], None]
"""Called on the event loop with each packet and its arrival time (monotonic, ns)."""

MAX_DATAGRAM_BYTES: Final = 1500  # an Ethernet frame; the buffer for libsrtp has this size
MAX_SOURCES: Final = 16
"""SSRCs of a peer that are accepted: libsrtp and aiortc keep state for each. A receiver report has room for 31."""
REPLAYED: Final = (9, 10)
"""The status codes srtp_err_status_replay_fail and srtp_err_status_replay_old of libsrtp."""
CIPHERS: Final = b":".join(
    b"ECDHE-%b-%b" % (key, cipher)
    for key in (b"ECDSA", b"RSA")
    for cipher in (b"AES128-GCM-SHA256", b"CHACHA20-POLY1305", b"AES128-SHA", b"AES256-SHA")
)
"""aiortc's own four ciphers, for both kinds of key that a peer may have."""
FOREIGN: Final = 255  # a first byte that no protocol here uses

# PyDLL keeps the GIL. socket.sendto() and pylibsrtp release it, and getting it back costs 0.5 ms or more.
_libc: Final = ctypes.PyDLL(None)
_libsrtp: Final = ctypes.PyDLL(pylibsrtp._binding.__file__)
_COMPONENT: Final = 1  # the ICE component of RTP, which RTCP shares

_addresses: contextvars.ContextVar[Sequence[str] | None] = contextvars.ContextVar("addresses", default=None)
_all_addresses = aioice.ice.get_host_addresses


def _host_addresses(use_ipv4: bool, use_ipv6: bool) -> list[str]:
    chosen = _addresses.get()
    return _all_addresses(use_ipv4, use_ipv6) if chosen is None else list(chosen)


aioice.ice.get_host_addresses = _host_addresses


@contextmanager
def candidates_only_at(addresses: Sequence[str] | None) -> Iterator[None]:
    """Within the block, and in tasks started in it, ICE gathers host candidates only at these addresses.

    None leaves the choice to aioice. By itself it never uses 127.0.0.1, so on a host without another address it
    silently connects nothing.
    """
    token = _addresses.set(addresses)
    try:
        yield
    finally:
        _addresses.reset(token)


class _Certificate(RTCCertificate):
    """aiortc's certificate, but its connections also accept a peer with an RSA certificate (GStreamer's)."""

    def _create_ssl_context(self, srtp_profiles: list[SRTPProtectionProfile]) -> SSL.Context:
        context = super()._create_ssl_context(srtp_profiles)
        context.set_cipher_list(CIPHERS)
        return context


class PeerConnection(RTCPeerConnection):
    """aiortc's connection, which also watches the tasks in which it connects; aiortc itself does not.

    on_fault: called with an error that ends such a task. `close` ends these tasks first. Otherwise they would run on,
    and start other tasks that nobody ends.
    """

    def __init__(self, configuration: RTCConfiguration, on_fault: Callable[[Exception], None]) -> None:
        super().__init__(configuration)
        self._RTCPeerConnection__certificates = [_Certificate.generateCertificate()]
        self._on_fault = on_fault
        self._connecting: set[asyncio.Task[Any] | None] = set()

    async def _RTCPeerConnection__connect(self) -> None:
        base: Any = super()
        self._connecting.add(task := asyncio.current_task())
        try:
            await base._RTCPeerConnection__connect()
        except Exception as fault:
            self._on_fault(fault)
        finally:
            self._connecting.discard(task)

    async def close(self) -> None:
        """End the connection, even while it is being made."""
        while connecting := [task for task in self._connecting if task is not None]:
            for task in connecting:
                task.cancel()
            await asyncio.wait(connecting, timeout=0.05)  # and again: wait_for() may swallow a cancel (Python 3.11)
        await super().close()


class SilentTrack(MediaStreamTrack):
    """A track that gives no frames, so that aiortc's own sender waits: `AudioWire` sends the packets."""

    kind = "audio"

    async def recv(self) -> Any:  # noqa: ANN401
        """Never return; closing the connection cancels it."""
        await asyncio.get_running_loop().create_future()


@dataclass
class WireCounts:
    """Numbers of packets that came but were not used, and of those that could not be sent.

    malformed: no protocol of RFC 7983. undecipherable: not encrypted by the peer. repeated: a second copy, or far too
    late (RFC 3711, section 3.3.2). other_payload: not the negotiated Opus. other_sources: from another track, or
    from more SSRCs than one peer needs. unsent: the kernel refused them.
    """

    malformed: int = 0
    undecipherable: int = 0
    repeated: int = 0
    other_payload: int = 0
    other_sources: int = 0
    unsent: int = 0


class AudioWire:
    """Sends and receives the audio packets of a connected peer connection, bypassing aiortc's queues.

    on_packet: called on the event loop for each packet, except those of `sources_beside` (SSRCs). One thread, whichever
    it is, may call `send`. Packets go to the nominated pair of addresses, and follow if the controlling peer nominates
    another. Make it on the event loop once `is_encrypted`. PartyError if the peer is reached only through a relay,
    whose packets need aiortc's own path.
    """

    def __init__(
        self, transceiver: RTCRtpTransceiver, on_packet: OnPacket, sources_beside: frozenset[int] = frozenset()
    ) -> None:
        self.counts = WireCounts()
        self._sources_beside = sources_beside
        self._on_packet = on_packet
        self._sender: Any = transceiver.sender
        receiver: Any = transceiver.receiver
        self._streams: dict[int, Any] = receiver._RTCRtpReceiver__remote_streams
        self._ssrc: int = self._sender._ssrc
        self._payload_type = int(transceiver._codecs[0].payloadType or 0)
        dtls: Any = transceiver.sender.transport
        self._incoming = _Srtp(dtls._rx_srtp)
        self._outgoing = _outgoing_session(dtls)
        ice = dtls.transport._connection
        self._nominated: dict[int, Any] = ice._nominated
        self._path = _NominatedPath(self._nominated[_COMPONENT])
        self._packets = self._octets = 0
        self._protocols = ice._protocols[:]
        for protocol in self._protocols:
            protocol.datagram_received = partial(self._datagram_received, protocol.datagram_received)

    def send(self, payload: bytes, sequence: int, timestamp: int, due_ns: int) -> int:
        """Send one packet, and return how many ns after `due_ns` the socket got it."""
        packet = RtpPacket(self._payload_type, sequence, timestamp, self._ssrc, payload)
        sealed = self._outgoing.protect(pack(packet))
        if (pair := self._nominated.get(_COMPONENT)) not in (None, self._path.pair):
            with suppress(PartyError, OSError):  # the connection is being closed
                path = _NominatedPath(pair)
                self._path.close()
                self._path = path
        lateness_ns = now_ns() - due_ns
        if not self._path.send(sealed):
            self.counts.unsent += 1
        self._report_sent(timestamp, len(payload))
        return lateness_ns

    def close(self) -> None:
        """Give the sockets back to aiortc. The owner of the connection closes it."""
        for protocol in self._protocols:
            protocol.__dict__.pop("datagram_received", None)
        self._path.close()

    def _datagram_received(self, pass_on: Callable[..., None], data: bytes, addr: tuple[Any, ...]) -> None:
        """Sort datagrams by their first byte (RFC 7983). Malformed ones are dropped: aiortc would end the call."""
        first = data[0] if 0 < len(data) <= MAX_DATAGRAM_BYTES else FOREIGN
        is_packet = 128 <= first < 192
        if is_packet and not is_rtcp(data):
            self._take(data)
        elif is_packet or first < 4 or 20 <= first < 64:
            try:
                pass_on(data, addr)
            except struct.error:  # aioice raises it for STUN attributes that are cut short
                self.counts.malformed += 1
        else:
            self.counts.malformed += 1

    def _take(self, data: bytes) -> None:
        arrival_ns = now_ns()
        ssrc = int.from_bytes(data[8:12])
        if ssrc in self._sources_beside or (ssrc not in self._streams and len(self._streams) >= MAX_SOURCES):
            self.counts.other_sources += 1
            return
        try:
            packet = unpack(self._incoming.unprotect(data))
        except _SrtpError as error:
            self.counts.repeated += error.status in REPLAYED
            self.counts.undecipherable += error.status not in REPLAYED
            return
        except ValueError:
            self.counts.malformed += 1
            return
        if packet.ssrc not in self._streams:  # aiortc's receiver reports tell the peer of loss and jitter
            self._streams[packet.ssrc] = StreamStatistics(SAMPLE_RATE_HZ)
        self._streams[packet.ssrc].add(SimpleNamespace(sequence_number=packet.sequence, timestamp=packet.timestamp))
        if packet.payload_type == self._payload_type:
            self._on_packet(packet, arrival_ns)
        else:
            self.counts.other_payload += 1

    def _report_sent(self, timestamp: int, octets: int) -> None:
        """Set the counts that aiortc puts into its sender reports (RFC 3550, section 6.4.1)."""
        self._packets += 1
        self._octets += octets
        sender = self._sender
        sender._RTCRtpSender__packet_count = self._packets
        sender._RTCRtpSender__octet_count = self._octets
        sender._RTCRtpSender__rtp_timestamp = timestamp
        sender._RTCRtpSender__ntp_timestamp = aiortc.clock.current_ntp_time()


def is_encrypted(transceiver: RTCRtpTransceiver) -> bool:
    """True if packets can be sent and decrypted: DTLS is done, and ICE has nominated a path."""
    dtls: Any = transceiver.sender.transport
    return dtls._tx_srtp is not None and _COMPONENT in dtls.transport._connection._nominated


class _NominatedPath:
    """The socket and the remote address of a nominated pair. PartyError if it goes through a relay."""

    def __init__(self, pair: Any) -> None:  # noqa: ANN401
        self.pair = pair
        bound = getattr(pair.protocol, "transport", None) and pair.protocol.transport.get_extra_info("socket")
        if bound is None:
            raise PartyError("webrtc: expected a direct path to the peer, got one through a relay")
        self._socket = socket.socket(bound.family, bound.type, fileno=os.dup(bound.fileno()))
        self._remote = _socket_address(self._socket.family, pair.remote_addr)

    def send(self, packet: bytes) -> bool:
        """Send a packet, and return whether the kernel took it."""
        return int(_libc.sendto(self._socket.fileno(), packet, len(packet), 0, self._remote, len(self._remote))) >= 0

    def close(self) -> None:
        self._socket.close()


def _socket_address(family: socket.AddressFamily, remote: tuple[str, int]) -> bytes:
    """`remote` as the sockaddr_in or sockaddr_in6 that the C library takes."""
    host, port = remote
    port_and_host = struct.pack("!H", port), socket.inet_pton(family, host)
    if family == socket.AF_INET6:
        return struct.pack("=H2s4x16s4x", family, *port_and_host)
    return struct.pack("=H2s4s8x", family, *port_and_host)


class _SrtpError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"libsrtp: status {status}")
        self.status = status


class _Srtp:
    """Encrypts or decrypts packets of up to MAX_DATAGRAM_BYTES in a pylibsrtp session; _SrtpError if that fails."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401
        self._session = session  # keeps alive what the context points to
        self._context = ctypes.c_void_p(int(pylibsrtp._binding.ffi.cast("uintptr_t", session._srtp[0])))
        self._packet = ctypes.create_string_buffer(MAX_DATAGRAM_BYTES + pylibsrtp.SRTP_MAX_TRAILER_LEN)
        self._size = ctypes.c_int()
        self._size_address = ctypes.byref(self._size)

    def protect(self, packet: bytes) -> bytes:
        return self._process(_libsrtp.srtp_protect, packet)

    def unprotect(self, packet: bytes) -> bytes:
        return self._process(_libsrtp.srtp_unprotect, packet)

    def _process(self, function: Any, packet: bytes) -> bytes:  # noqa: ANN401
        ctypes.memmove(self._packet, packet, len(packet))
        self._size.value = len(packet)
        if status := function(self._context, self._packet, self._size_address):
            raise _SrtpError(status)
        return ctypes.string_at(self._packet, self._size.value)


def _outgoing_session(dtls: Any) -> _Srtp:  # noqa: ANN401
    """A second SRTP session with aiortc's key, for RTP only; aiortc's own session sends the RTCP.

    A session must not be used by two threads. RTP and RTCP streams share a key but no state (RFC 3711, section 3.2.1).
    """
    name = dtls._ssl.get_selected_srtp_profile()
    profile = next(profile for profile in dtls._srtp_profiles if profile.openssl_profile == name)
    material = dtls._ssl.export_keying_material(b"EXTRACTOR-dtls_srtp", 2 * (profile.key_length + profile.salt_length))
    key = profile.get_key_and_salt(material, 1 if dtls._role == "server" else 0)
    policy = pylibsrtp.Policy(
        key=key, ssrc_type=pylibsrtp.Policy.SSRC_ANY_OUTBOUND, srtp_profile=profile.libsrtp_profile
    )
    return _Srtp(pylibsrtp.Session(policy))
