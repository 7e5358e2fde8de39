"""Both ends of calls through a hub: clicks enter at one peer, and are found in the packets that reach the other.

A `Probe` sends and receives bare packets, from wire to wire. `app_delays_ms` uses two plain aiortc peers with their
buffers: end to end.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import aiohttp
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from av.audio.frame import AudioFrame

from fdbcore._ext.pacer import Pacer
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.endpoints.webrtc.aiortc_seam import AudioWire, candidates_only_at
from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.endpoints.webrtc.rtp import RtpPacket
from fdbcore.errors import FrameError
from fdbcore.runtime.network import await_result
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_MS, TICK_NS, Pcm

CLICK_EVERY_MS = 1000
CLICK_LEVEL = 6000
JOIN_S = 20.0
Losses = Iterator[bool]


def random_loss(share: float, seed: int) -> Losses:
    """Whether each packet is lost, independently."""
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


def bursty_loss(share: float, seed: int, mean_burst: float = 4.0) -> Losses:
    """Gilbert-Elliott: a good state that loses nothing, and a bad one that loses all, for `mean_burst` packets."""
    rng = random.Random(seed)
    leave_bad = 1 / mean_burst
    enter_bad = share * leave_bad / (1 - share) if share else 0.0
    bad = False
    while True:
        bad = rng.random() >= leave_bad if bad else rng.random() < enter_bad
        yield bad


def second_with_click() -> Pcm:
    """One second of silence with 3 ms of a tone in its middle, 1 ms after a packet of 20 ms begins."""
    pcm = np.zeros(SAMPLE_RATE_HZ, dtype=np.int16)
    start = SAMPLE_RATE_HZ // 2 + SAMPLE_RATE_HZ // 1000
    n = np.arange(3 * SAMPLE_RATE_HZ // 1000)
    pcm[start : start + len(n)] = 20000 * np.sin(2 * np.pi * 1500 * n / SAMPLE_RATE_HZ)
    return pcm


def click_packets(packet_ms: int) -> list[bytes]:
    """The packets of one second with a click, to be sent over and over."""
    encoder = OpusEncoder(packet_ms)
    twice = np.tile(second_with_click(), 2).reshape(-1, encoder.frame_samples)
    packets = [encoder.encode(frame) for frame in twice]
    return packets[len(packets) // 2 :]


class Probe:
    """One side of one call: sends clicks (with losses), and notes when packets with clicks came."""

    def __init__(self, packet_ms: int, clicks: bool, losses: Losses | None = None) -> None:
        self.sent_ns: list[int] = []
        self.heard_ns: list[int] = []
        self._packets = click_packets(packet_ms) if clicks else [OpusEncoder(packet_ms).encode(silence(packet_ms))]
        self._click = 500 // packet_ms if clicks else -1
        self._packet_samples = packet_ms * SAMPLE_RATE_HZ // 1000
        self._losses = losses
        self._decoder = OpusDecoder()
        self._n = 0

    async def join(self, port: int, side: str, session: int) -> None:
        self._peer = Peer(addresses=["127.0.0.1"])
        await self._peer.accept(await post_offer(port, side, session, await self._peer.offer()))
        self._wire = AudioWire(await self._peer.transceiver(JOIN_S), self._on_packet)

    def send(self) -> None:
        n = self._n
        self._n += 1
        position = n % len(self._packets)
        if self._losses is not None and next(self._losses):
            return
        if position == self._click:
            self.sent_ns.append(time.monotonic_ns())
        self._wire.send(self._packets[position], n % (1 << 16), n * self._packet_samples % (1 << 32), 0)

    def _on_packet(self, packet: RtpPacket, arrival_ns: int) -> None:
        try:
            loud = np.abs(self._decoder.decode(packet.payload)).max() > CLICK_LEVEL
        except FrameError:
            return
        if loud and (not self.heard_ns or arrival_ns - self.heard_ns[-1] > CLICK_EVERY_MS * 500_000):
            self.heard_ns.append(arrival_ns)

    async def close(self) -> None:
        self._wire.close()
        await self._peer.close()


def silence(packet_ms: int) -> Pcm:
    """A packet of silence."""
    return np.zeros(packet_ms // TICK_MS * FRAME_SAMPLES, dtype=np.int16)


async def post_offer(port: int, side: str, session: int, offer: str) -> str:
    """The hub's answer; it is asked again while the hub starts."""
    url = f"http://127.0.0.1:{port}/whip/{side}?session={session}"
    deadline = time.monotonic() + JOIN_S
    while True:
        try:
            async with aiohttp.ClientSession() as http:
                async with http.post(url, data=offer, headers={"Content-Type": "application/sdp"}) as response:
                    if response.status == 201:
                        return await response.text()
                    line = f"{response.status} {await response.text()}"
        except aiohttp.ClientError as error:
            line = repr(error)
        if time.monotonic() > deadline:
            raise RuntimeError(f"{url}: {line}")
        await asyncio.sleep(0.05)


def run_probes(probes: Sequence[Probe], packet_ms: int, over: Callable[[], bool], ppm: int = 0) -> None:
    """Send a packet of each probe every `packet_ms`, by a clock that is `ppm` too fast, until `over`."""
    pacer = Pacer(TICK_NS * packet_ms // TICK_MS * (1_000_000 - ppm) // 1_000_000, 0)
    tick = 0
    while not over():
        pacer.wait(tick)
        for probe in probes:
            probe.send()
        tick += 1


def delays_ms(sent_ns: Sequence[int], heard_ns: Sequence[int]) -> list[tuple[float, float]]:
    """(when it was sent, in s; delay in ms) of each click that was heard within a second."""
    found = []
    heard = np.array(heard_ns, dtype=np.int64)
    for sent in sent_ns:
        later = heard[(heard >= sent) & (heard < sent + CLICK_EVERY_MS * 1_000_000)]
        if len(later):
            found.append(((sent - sent_ns[0]) / 1e9, (int(later[0]) - sent) / 1e6))
    return found


class ClickTrack(MediaStreamTrack):
    """Frames of 20 ms, each at its time, as a careful user of aiortc sends them; it notes the time of each click."""

    kind = "audio"
    frame_samples = 960

    def __init__(self) -> None:
        super().__init__()
        self.sent_ns: list[int] = []
        self._second = second_with_click().reshape(-1, self.frame_samples)
        self._n = 0
        self._start_s: float | None = None

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        self._start_s = self._start_s or loop.time()
        await asyncio.sleep(max(0.0, self._start_s + self._n * self.frame_samples / SAMPLE_RATE_HZ - loop.time()))
        pcm = self._second[self._n % len(self._second)]
        frame = AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base = SAMPLE_RATE_HZ, Fraction(1, SAMPLE_RATE_HZ)
        frame.pts = self._n * self.frame_samples
        self._n += 1
        if pcm.any():
            self.sent_ns.append(time.monotonic_ns())
        return frame


async def app_delays_ms(port: int, seconds: float) -> list[float]:
    """End to end through session 0 of a hub: from the frame with a click at one aiortc peer to that at the other."""
    tracks = ClickTrack(), ClickTrack()
    connections = [RTCPeerConnection(RTCConfiguration(iceServers=[])) for _ in tracks]
    heard_ns: list[int] = []
    for connection, track, side in zip(connections, tracks, "ab", strict=True):
        connection.addTrack(track)
        with candidates_only_at(["127.0.0.1"]):
            await connection.setLocalDescription(await connection.createOffer())
        answer = await post_offer(port, side, 0, connection.localDescription.sdp)
        await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def listen() -> None:
        remote = connections[1].getReceivers()[0].track
        while True:
            frame: Any = await remote.recv()
            now = time.monotonic_ns()
            if np.abs(frame.to_ndarray()).max() > CLICK_LEVEL and (not heard_ns or now - heard_ns[-1] > 500_000_000):
                heard_ns.append(now)

    listening = asyncio.ensure_future(listen())
    await asyncio.sleep(seconds)
    listening.cancel()
    await asyncio.gather(*(connection.close() for connection in connections))
    return [delay for _, delay in delays_ms(tracks[0].sent_ns, heard_ns)]


def probe_calls(
    port: int,
    probes: Sequence[Probe],
    legs: int,
    packet_ms: int,
    seconds: float,
    first_session: int = 0,
    ppm: int = 0,
) -> None:
    """Join all calls, a probe for each leg in turn, and send for `seconds`."""

    async def join() -> None:
        for n, probe in enumerate(probes):
            await probe.join(port, "ab"[n % 2] if legs == 2 else "b", first_session + n // legs)

    async def close() -> None:
        await asyncio.gather(*(probe.close() for probe in probes))

    await_result(join(), JOIN_S * 2)
    end_s = time.monotonic() + seconds
    sender = threading.Thread(target=run_probes, args=(probes, packet_ms, lambda: time.monotonic() > end_s, ppm))
    sender.start()
    sender.join()
    await_result(close(), JOIN_S)
