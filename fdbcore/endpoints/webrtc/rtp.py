"""Packs and unpacks RTP packets (RFC 3550, section 5.1). Ours have no header extensions."""

import struct
from typing import Final, NamedTuple

_HEADER: Final = struct.Struct("!BBHLL")
_EXTENSION: Final = struct.Struct("!HH")
_VERSION_2: Final = 0x80
_PADDING, _EXTENDED, _SOURCES = 0x20, 0x10, 0x0F


class RtpPacket(NamedTuple):
    """One packet. sequence wraps at 2**16; timestamp (48,000 per second for Opus, RFC 7587) wraps at 2**32."""

    payload_type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def is_rtcp(datagram: bytes) -> bool:
    """True if a datagram that shares a port with RTP is RTCP (RFC 5761, section 4)."""
    return len(datagram) >= 2 and 192 <= datagram[1] <= 223


def pack(packet: RtpPacket) -> bytes:
    """The packet as bytes. The marker bit is not set."""
    return (
        _HEADER.pack(_VERSION_2, packet.payload_type, packet.sequence, packet.timestamp, packet.ssrc) + packet.payload
    )


def unpack(data: bytes) -> RtpPacket:
    """The packet in `data`, without its header extensions and padding. ValueError if it is not an RTP packet."""
    if len(data) < _HEADER.size or data[0] >> 6 != 2:
        raise ValueError(f"expected an RTP packet, got {len(data)} bytes")
    flags, payload_type, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
    start = _HEADER.size + 4 * (flags & _SOURCES)
    if flags & _EXTENDED:
        if len(data) < start + _EXTENSION.size:
            raise ValueError("expected a header extension, got the end of the packet")
        start += _EXTENSION.size + 4 * _EXTENSION.unpack_from(data, start)[1]
    end = len(data) - (data[-1] if flags & _PADDING else 0)
    if start > end:
        raise ValueError("expected a payload, got the end of the packet")
    return RtpPacket(payload_type & 0x7F, sequence, timestamp, ssrc, data[start:end])
