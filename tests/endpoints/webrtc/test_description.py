"""Descriptions of sessions, and packets of RTP: what is read, and what is refused."""

import asyncio
import logging
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack
from aiortc.rtp import HeaderExtensionsMap
from aiortc.rtp import RtpPacket as OtherPacket
from helpers.patience import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at
from fdbcore.endpoints.webrtc.description import RemoteDescription
from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.endpoints.webrtc.rtp import RtpPacket, is_rtcp, pack, unpack
from fdbcore.endpoints.webrtc.signalling import SignallingServer

MUTATIONS = 150
DIRECTIONS = ("sendrecv", "sendonly", "recvonly", "inactive")
Rewrite = Callable[[str], str]

BROWSER_OFFER = """v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
a=extmap-allow-mixed
a=msid-semantic: WMS stream
m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
c=IN IP4 0.0.0.0
a=rtcp:9 IN IP4 0.0.0.0
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=ice-options:trickle
a=fingerprint:sha-256 {fingerprint}
a=setup:actpass
a=mid:0
a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=sendrecv
a=msid:stream track
a=rtcp-mux
a=rtcp-rsize
a=rtpmap:111 opus/48000/2
a=rtcp-fb:111 transport-cc
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:63 red/48000/2
a=fmtp:63 111/111
a=rtpmap:9 G722/8000
a=rtpmap:0 PCMU/8000
a=rtpmap:126 telephone-event/8000
a=ssrc:1001 cname:name
a=candidate:1 1 udp 2122260223 127.0.0.1 50000 typ host generation 0
""".replace("\n", "\r\n").format(fingerprint=":".join(["AB"] * 32))


@asynccontextmanager
async def door() -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A port at which one seat waits, as `webrtc` has it, and a client; what has joined is hung up at the end."""
    server = SignallingServer()
    await server.start()
    party = Joined("webrtc:")
    server.seat("B", party)
    async with aiohttp.ClientSession() as http:
        yield http, server.url
    await server.stop()
    await (await party._new_peer()).close()


@asynccontextmanager
async def caller(*kinds: str) -> AsyncIterator[RTCPeerConnection]:
    """A connection of plain aiortc with a track for each "audio", and its offer made."""
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    for kind in kinds:
        connection.addTransceiver(AudioStreamTrack() if kind == "audio" else kind)
    with candidates_only_at(["127.0.0.1"]):
        await connection.setLocalDescription(await connection.createOffer())
    yield connection
    await connection.close()


async def connected(connection: RTCPeerConnection) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while connection.connectionState != "connected":
            assert connection.connectionState != "failed"
            await asyncio.sleep(0.01)


async def held_at_a_door(rewrite: Rewrite, *kinds: str) -> str:
    """The answer to the rewritten offer of a peer, which takes it and connects."""
    async with door() as (http, url), caller(*kinds) as peer:
        headers = {"Content-Type": "application/sdp"}
        async with http.post(f"{url}/whip/b", data=rewrite(peer.localDescription.sdp), headers=headers) as response:
            answer = await response.text()
            assert response.status == 201, answer
        await peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        await connected(peer)
        async with http.delete(url + response.headers["Location"]):
            return answer


def without(*names: str) -> Rewrite:
    return lambda sdp: re.sub(rf"^a=(?:{'|'.join(names)})\b.*\r\n", "", sdp, flags=re.MULTILINE)


def directions_of(answer: str) -> list[str]:
    return re.findall(rf"^a=({'|'.join(DIRECTIONS)})\r$", answer, re.MULTILINE)


@pytest.mark.parametrize(
    ("rewrite", "direction"),
    [
        (without("sendrecv"), "sendrecv"),
        (lambda sdp: without("sendrecv")(sdp).replace("m=audio", "a=sendrecv\r\nm=audio"), "sendrecv"),
        (lambda sdp: without("sendrecv")(sdp).replace("m=audio", "a=sendonly\r\nm=audio"), "recvonly"),
        (lambda sdp: sdp.replace("a=sendrecv", "a=sendonly").replace("m=audio", "a=recvonly\r\nm=audio"), "recvonly"),
        (without("mid", "group"), "sendrecv"),
        (without("mid", "group", "sendrecv"), "sendrecv"),
        (without("group"), "sendrecv"),
        (lambda sdp: sdp.replace("\r\n", "\n"), "sendrecv"),
        (lambda sdp: f"{sdp}a=maxptime:{'9' * 5000}\r\n", "sendrecv"),
    ],
)
async def test_what_a_peer_may_leave_out_is_put_in(rewrite: Rewrite, direction: str) -> None:
    assert directions_of(await held_at_a_door(rewrite, "audio")) == [direction]


@pytest.mark.parametrize("rewrite", [without("group"), without("group", "mid")])
async def test_an_answer_groups_nothing_where_the_offer_does_not(rewrite: Rewrite) -> None:
    assert "a=group:" not in await held_at_a_door(rewrite, "audio")
    assert "a=group:BUNDLE 0\r\n" in await held_at_a_door(str, "audio")


@pytest.mark.parametrize("kinds", [("audio", "audio"), ("video", "audio", "audio"), ("audio", "video", "audio")])
async def test_one_audio_track_is_active_and_no_other(kinds: tuple[str, ...]) -> None:
    expected = ["inactive"] * len(kinds)
    expected[kinds.index("audio")] = "sendrecv"
    assert directions_of(await held_at_a_door(str, *kinds)) == expected


LINES = st.sampled_from(
    ["m=audio 9 X 111", "m=video 9 X 96", "a=mid:0", "a=mid:1", "a=mid:x", "a=mid:", "a=ssrc:7 cname:x", "a=ssrc:8 x:y"]
    + [f"a={direction}" for direction in DIRECTIONS]
)


@given(st.lists(LINES), st.sampled_from(["\r\n", "\n"]))
def test_each_section_has_one_direction_and_a_name_of_its_own(lines: list[str], end: str) -> None:
    """Whatever the lines, and in any order; all others stay as they are."""
    given_lines = ["v=0", *lines, "m=audio 9 X 111", "a=sendonly"]
    text = str(RemoteDescription(end.join(given_lines)))
    _session, *sections = re.split(r"^(?=m=)", text, flags=re.MULTILINE)
    assert len(sections) == sum(line.startswith("m=") for line in given_lines)
    assert all(len(directions_of(section)) == 1 for section in sections)
    named = [re.findall(r"^a=mid:(\S+)\r$", section, re.MULTILINE) for section in sections]
    assert all(len(names) == 1 for names in named)
    own = [line.removeprefix("a=mid:") for line in given_lines if line.startswith("a=mid:") and line != "a=mid:"]
    if len(set(own)) == len(own):
        made = [names[0] for names in named if names[0] not in own]
        assert len(set(made)) == len(made)
    kept = [line for line in given_lines if not re.match(rf"a=(mid:|{'|'.join(DIRECTIONS)})", line)]
    assert [line for line in text.splitlines() if not re.match(rf"a=(mid:|{'|'.join(DIRECTIONS)})", line)] == kept


def test_sources_of_other_sections_are_told() -> None:
    described = RemoteDescription(
        "v=0\nm=audio 9 X 1\na=mid:a\na=ssrc:1 c:x\na=ssrc:5 c:x\n"
        "m=audio 9 X 1\na=ssrc:2 c:x\na=ssrc:5 c:x\na=ssrc:99999999999 c:x"
    )
    assert described.sources_beside("a") == {2}
    assert described.sources_beside("1") == {1}


NASTY = ["", "0", "-1", "9" * 5000, "1e9", "%s", "a" * 2000, "é", "\x00", " ", "\u2028", "255", "65536", "candidate"]


def mutated(sdp: str, draw: random.Random) -> str:
    """`sdp` with a few of its lines or words dropped, doubled, moved, or replaced by what nobody expects."""
    lines = sdp.split("\r\n")
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(1, len(lines))
        match draw.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(draw.randrange(1, len(lines)), lines[at])
            case 2:
                lines.insert(draw.randrange(1, len(lines)), lines.pop(at))
            case 3:
                words = re.split(r"([ :=;/])", lines[at])
                words[draw.randrange(len(words))] = draw.choice(NASTY)
                lines[at] = "".join(words)
            case 4:
                lines[at] = re.sub(r"\d+", lambda _: draw.choice(NASTY), lines[at], count=1)
            case 5:
                lines[at] = lines[at][: draw.randrange(len(lines[at]) + 1)]
        lines = lines if len(lines) > 2 else sdp.split("\r\n")
    return "\r\n".join(lines)


@pytest.mark.parametrize("way", ["whip", "signal"])
async def test_no_offer_is_answered_with_a_fault_of_ours(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each is answered, or refused for one reason in one line; no traceback is logged."""
    draw = random.Random(8)
    answered = refused = 0

    async def by_whip(http: aiohttp.ClientSession, url: str, sdp: str) -> tuple[bool, str]:
        headers = {"Content-Type": "application/sdp"}
        body = sdp.encode(errors="replace")
        async with http.post(f"{url}/whip/b", data=body, headers=headers) as response:
            assert response.status in (201, 400, 422), (response.status, sdp)
            text = await response.text()
        if response.status == 201:
            async with http.delete(url + response.headers["Location"]) as gone:
                assert gone.status in (200, 404)
        return response.status == 201, text.strip()

    async def by_signal(http: aiohttp.ClientSession, url: str, sdp: str) -> tuple[bool, str]:
        async with http.ws_connect(f"{url}/signal") as socket:
            await socket.receive_json()
            await socket.send_json({"role": "B", "type": "offer", "sdp": sdp})
            message = await socket.receive_json()
        assert message["type"] in ("answer", "error"), (message, sdp)
        return message["type"] == "answer", message.get("message", "")

    caplog.set_level(logging.WARNING)
    async with door() as (http, url), caller("audio") as peer:
        offers = [peer.localDescription.sdp, BROWSER_OFFER]
        for n in range(MUTATIONS):
            took, line = await (by_whip if way == "whip" else by_signal)(http, url, mutated(offers[n % 2], draw))
            answered += took
            refused += not took
            assert took or (line and "\n" not in line)
    assert answered > MUTATIONS / 5
    assert refused > MUTATIONS / 5
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


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
