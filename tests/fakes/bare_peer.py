"""A peer that sends whatever it is told to, packet by packet: what no well-behaved stack would."""

import asyncio
from collections.abc import AsyncIterator
from fractions import Fraction
from urllib.parse import urljoin

import aiohttp
import numpy as np
from aiortc import RTCRtpTransceiver
from aiortc.codecs.opus import OpusEncoder as StereoEncoder
from aiortc.rtp import RtcpByePacket
from av.audio.frame import AudioFrame

from fdbcore.audio.opus import OpusEncoder
from fdbcore.endpoints.webrtc.aiortc_seam import AudioWire, OnPacket
from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.endpoints.webrtc.rtp import RtpPacket, pack
from fdbcore.types import SAMPLE_RATE_HZ

TONE_HZ = 1000
JOIN_S = 10.0
FIRST_SEQUENCE = 65_500


def tone_packets(packet_ms: int) -> list[bytes]:
    """Opus packets of 1.2 s of a tone, which may be sent over and over: it goes on from the last to the first."""
    encoder = OpusEncoder(packet_ms)
    n = np.arange(SAMPLE_RATE_HZ * 6 // 5)
    tone = (9000 * np.sin(2 * np.pi * TONE_HZ * n / SAMPLE_RATE_HZ)).astype(np.int16)
    return [encoder.encode(frame) for frame in tone.reshape(-1, encoder.frame_samples)]


def stereo_tone_packets() -> list[bytes]:
    """The same of 20 ms by aiortc's own encoder, with the tone on the left and its half frequency on the right."""
    n = np.arange(SAMPLE_RATE_HZ * 6 // 5)
    tones = [9000 * np.sin(2 * np.pi * hz * n / SAMPLE_RATE_HZ) for hz in (TONE_HZ, TONE_HZ / 2)]
    stereo = np.stack(tones, axis=1).astype(np.int16).reshape(-1, 960 * 2)
    encoder, packets = StereoEncoder(), []
    for index, samples in enumerate(stereo):
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.time_base, frame.pts = SAMPLE_RATE_HZ, Fraction(1, SAMPLE_RATE_HZ), index * 960
        packets += encoder.encode(frame)[0]
    return packets


class RawWire(AudioWire):
    """Sends packets with any header, and bytes that are no packets."""

    def __init__(self, transceiver: RTCRtpTransceiver, on_packet: OnPacket) -> None:
        super().__init__(transceiver, on_packet)
        self.hub: tuple[str, int] = self._path.pair.remote_addr

    def packet(self, payload: bytes, sequence: int, timestamp: int, **other: int) -> RtpPacket:
        """One in order, unless `other` gives it another ssrc or payload_type."""
        header = {"payload_type": self._payload_type, "ssrc": self._ssrc, **other}
        return RtpPacket(sequence=sequence % (1 << 16), timestamp=timestamp % (1 << 32), payload=payload, **header)

    def seal(self, packet: RtpPacket) -> bytes:
        """As it goes over the wire; each packet once."""
        sealed: bytes = self._outgoing.protect(pack(packet))
        return sealed

    def send_packet(self, packet: RtpPacket) -> None:
        self.send_bytes(self.seal(packet))

    def send_bytes(self, datagram: bytes) -> None:
        self._path.pair.protocol.transport.sendto(datagram, self.hub)

    async def send_rtcp(self, rtcp: bytes) -> None:
        await self._sender.transport._send_rtp(rtcp)

    async def say_bye(self) -> None:
        await self.send_rtcp(bytes(RtcpByePacket(sources=[self._ssrc])))

    def die(self) -> None:
        """The socket is gone, without a word: what the kernel leaves of a process that was killed."""
        self._path.pair.protocol.transport.abort()


class BarePeer:
    """One call: `async with BarePeer(url) as peer`, `join`, then packets by `peer.wire`; all on the event loop."""

    wire: RawWire

    def __init__(self, url: str, packet_ms: int = 20) -> None:
        self.heard: list[RtpPacket] = []
        self.packet_ms = packet_ms
        self.packets = tone_packets(packet_ms)
        self.sequence = FIRST_SEQUENCE
        self.timestamp = (1 << 32) - SAMPLE_RATE_HZ  # wraps within the call, as the numbers do
        self._url = url
        self._location = ""
        self._peer = Peer(addresses=["127.0.0.1"])

    async def __aenter__(self) -> "BarePeer":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        if hasattr(self, "wire"):
            self.wire.close()
        await self._peer.close()

    async def offer(self) -> str:
        return await self._peer.offer()

    async def join(self, offer: str | None = None) -> None:
        """By the peer's own offer, or one that has more sections, of which the peer knows the first alone."""
        status, answer = await self.post(offer or await self.offer())
        assert status == 201, answer
        await self._peer.accept("m=audio".join(answer.split("m=audio")[:2]))
        self.wire = RawWire(await self._peer.transceiver(JOIN_S), lambda packet, arrival_ns: self.heard.append(packet))

    async def post(self, offer: str, patience_s: float = JOIN_S) -> tuple[int, str]:
        """The hub's status and answer, which may have to be waited for; 0 if nobody is there."""
        headers = {"Content-Type": "application/sdp"}
        async for _ in every(0.05, patience_s + 0.05):
            try:
                async with (
                    aiohttp.ClientSession() as http,
                    http.post(self._url, data=offer, headers=headers) as response,
                ):
                    answer = response.status, await response.text()
                    self._location = response.headers.get("Location", self._location)
            except aiohttp.ClientConnectionError:
                answer = 0, "nobody there"
            if answer[0] not in (0, 404):
                break
        return answer

    async def hang_up(self) -> None:
        """As WHIP has it."""
        async with aiohttp.ClientSession() as http:
            await http.delete(urljoin(self._url, self._location))

    async def hub_gone(self, patience_s: float) -> None:
        """Wait until the hub hangs up, if it was joined."""
        if not hasattr(self, "wire"):
            return
        async for _ in every(0.01, patience_s):
            if self._peer.left is not None:
                return

    def next_packet(self, **other: int) -> RtpPacket:
        """The next one of the tone, in its place."""
        packet_samples = self.packet_ms * SAMPLE_RATE_HZ // 1000
        payload = self.packets[(self.sequence - FIRST_SEQUENCE) % len(self.packets)]
        packet = self.wire.packet(payload, self.sequence, self.timestamp, **other)
        self.sequence += 1
        self.timestamp += packet_samples
        return packet

    async def speak(self, seconds: float, **other: int) -> None:
        """Send the tone for so long, each packet at its time."""
        async for packet in self.paced(seconds, **other):
            self.wire.send_packet(packet)

    async def paced(self, seconds: float, **other: int) -> AsyncIterator[RtpPacket]:
        """Packets of the tone, each when it is due, until the hub hangs up."""
        async for _ in every(self.packet_ms / 1000, seconds):
            if self._peer.left is not None:
                return
            yield self.next_packet(**other)


async def every(period_s: float, seconds: float) -> AsyncIterator[int]:
    """0, 1, ... each when it is due."""
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    for n in range(round(seconds / period_s)):
        await asyncio.sleep(max(0.0, start_s + n * period_s - loop.time()))
        yield n
