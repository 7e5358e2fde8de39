"""RTP packets against the packets of aiortc, whose code for them is its own."""

from __future__ import annotations

import pytest
from aiortc.rtp import HeaderExtensionsMap
from aiortc.rtp import RtpPacket as OtherPacket
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.endpoints.webrtc.rtp import RtpPacket, is_rtcp, pack, unpack

PACKETS = st.builds(
    RtpPacket,
    payload_type=st.integers(0, 127),
    sequence=st.integers(0, 2**16 - 1),
    timestamp=st.integers(0, 2**32 - 1),
    ssrc=st.integers(0, 2**32 - 1),
    payload=st.binary(max_size=200),
)


@given(PACKETS)
def test_what_is_packed_is_read_by_others(packet: RtpPacket) -> None:
    other = OtherPacket.parse(pack(packet))
    assert (other.payload_type, other.sequence_number, other.timestamp, other.ssrc, other.payload) == tuple(packet)
    assert other.marker == 0


@given(PACKETS, st.lists(st.integers(0, 2**32 - 1), max_size=15), st.booleans(), st.integers(0, 30))
def test_what_others_pack_is_read(packet: RtpPacket, sources: list[int], extended: bool, padding: int) -> None:
    other = OtherPacket(packet.payload_type, 1, packet.sequence, packet.timestamp, packet.ssrc, packet.payload)
    other.csrc = sources
    other.padding_size = padding
    extensions = HeaderExtensionsMap()
    extensions._HeaderExtensionsMap__ids.mid = 1  # type: ignore[attr-defined]
    if extended:
        other.extensions.mid = "audio0"
    assert unpack(other.serialize(extensions)) == packet


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80" * 11,
        b"\x00" * 12,
        b"\x9f" + b"\x00" * 20,
        b"\x90" + bytes(11) + b"\0\0\xff\xff",
        b"\xa0" + bytes(11) + b"\x09",
    ],
)
def test_what_is_no_packet_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="expected"):
        unpack(data)


def test_reports_are_told_from_media() -> None:
    assert all(is_rtcp(bytes([0x80, kind])) for kind in (200, 201, 202, 203, 205, 206))
    assert not any(is_rtcp(bytes([0x80, marker | kind])) for kind in (0, 96, 111, 127) for marker in (0, 0x80))
    assert not is_rtcp(b"\x80\xef")  # the marker bit and payload type 111
