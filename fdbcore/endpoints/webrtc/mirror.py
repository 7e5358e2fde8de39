"""Peers in this process that send each packet back as it arrives: what the harness itself takes, without a system."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fdbcore.endpoints.webrtc.endpoint import LOOPBACK, WebRtcEndpoint
from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm

if TYPE_CHECKING:
    from fdbcore.endpoints.webrtc.rtp import RtpPacket

MURMUR_S: Final = 4
SYLLABLES_PER_S: Final = 4.0
MURMUR_LEVEL: Final = 3_000.0


def mirror(address: str) -> Endpoint:
    """The party "mirror". SettingsError for anything else."""
    if address != "mirror":
        raise SettingsError(f"mirror: expected no settings, got {address!r}")
    return Murmuring(address)


class Mirrored(WebRtcEndpoint):
    """An endpoint whose peer is in this process, and sends each packet back as it arrives."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._mirror = AsyncExitStack()

    async def _connect(self) -> None:
        from fdbcore.endpoints.webrtc.aiortc_seam import AudioWire
        from fdbcore.endpoints.webrtc.peer import Peer

        peer, mirror = await self._new_peer(), Peer(addresses=LOOPBACK)
        self._mirror.push_async_callback(mirror.close)
        await peer.accept(await mirror.answer(await peer.offer()))
        wire = AudioWire(await mirror.transceiver(self._join_s), self._reflect)
        self._mirror.callback(wire.close)
        self._wire = wire

    def _reflect(self, packet: "RtpPacket", arrival_ns: int) -> None:
        self._wire.send(packet.payload, packet.sequence, packet.timestamp, arrival_ns)

    async def _hang_up(self) -> None:
        await self._mirror.aclose()


class Murmuring(Mirrored):
    """Sends its mirror a murmur of its own in place of what the partner says, and says what comes back.

    Its leg then has as much to do as that of any peer who speaks.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._murmur = murmur().reshape(-1, FRAME_SAMPLES)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the murmur's frame to the mirror."""
        super().hear(tick, self._murmur[tick % len(self._murmur)])

    def describe(self) -> Mapping[str, Any]:
        """The party, as JSON values."""
        return {**super().describe(), "kind": "mirror"}


def murmur() -> Pcm:
    """Noise below 4 kHz that swells as syllables do, int16 (n,): as much work for a codec as speech."""
    n = MURMUR_S * SAMPLE_RATE_HZ
    lines = np.fft.rfft(np.random.default_rng(0).standard_normal(n))
    lines[4_000 * MURMUR_S :] = 0
    swelling = 0.5 - 0.5 * np.cos(2 * np.pi * SYLLABLES_PER_S * np.arange(n) / SAMPLE_RATE_HZ)
    noise = np.fft.irfft(lines, n)
    made: Pcm = np.rint(MURMUR_LEVEL * swelling * noise / noise.std()).clip(-32_768, 32_767).astype(np.int16)
    assert len(made) == MURMUR_S * TICKS_PER_S * FRAME_SAMPLES
    return made
