"""A caller that is plain aiortc, as anybody would write it: joins by WHIP, talks 20 ms frames, keeps what it hears."""

import asyncio
import os
import sys
from fractions import Fraction
from typing import Any

import aiohttp
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av.audio.frame import AudioFrame

from fdbcore.endpoints.webrtc.aiortc_seam import candidates_only_at
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

FRAME_SAMPLES = 960
TOKEN = os.environ.get("FDBCORE_TOKEN", "none")


class PcmTrack(MediaStreamTrack):
    """Samples at their time, then silence."""

    kind = "audio"

    def __init__(self, pcm: Pcm) -> None:
        super().__init__()
        self._pcm = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES)
        self._n = 0
        self._start_s: float | None = None

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        self._start_s = self._start_s or loop.time()
        await asyncio.sleep(max(0.0, self._start_s + self._n * FRAME_SAMPLES / SAMPLE_RATE_HZ - loop.time()))
        pcm = self._pcm[self._n] if self._n < len(self._pcm) else np.zeros(FRAME_SAMPLES, np.int16)
        frame = AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base = SAMPLE_RATE_HZ, Fraction(1, SAMPLE_RATE_HZ)
        frame.pts = self._n * FRAME_SAMPLES
        self._n += 1
        return frame


class AiortcPeer:
    """One call; `heard` is what came, mono."""

    def __init__(self, pcm: Pcm | None) -> None:
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        if pcm is not None:
            self.connection.addTrack(PcmTrack(pcm))
        else:
            self.connection.addTransceiver("audio", "recvonly")
        self._blocks: list[Pcm] = []
        self._listening: asyncio.Task[None] | None = None
        self._location = ""

    @property
    def heard(self) -> Pcm:
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.int16)

    async def join(self, url: str, side: str, retry_s: float = 5.0) -> None:
        await self.heed(await self.ask(url, side, retry_s))

    async def heed(self, answer: str) -> None:
        """Take the answer to our offer, and begin to listen."""
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        self._listening = asyncio.ensure_future(self._listen())

    async def gather(self) -> None:
        """Make the offer."""
        with candidates_only_at(["127.0.0.1"]):
            await self.connection.setLocalDescription(await self.connection.createOffer())

    async def ask(self, url: str, side: str, retry_s: float) -> str:
        """The answer to our offer, which we have not heeded yet."""
        await self.gather()
        async with aiohttp.ClientSession() as http:
            while True:
                try:
                    response = await http.post(
                        f"{url}/whip/{side}",
                        data=self.connection.localDescription.sdp,
                        headers={"Content-Type": "application/sdp", "Authorization": f"Bearer {TOKEN}"},
                    )
                    break
                except aiohttp.ClientConnectionError:
                    retry_s -= 0.05
                    if retry_s < 0:
                        raise
                    await asyncio.sleep(0.05)
            answer = await response.text()
            assert response.status == 201, answer
            self._location = f"{url}{response.headers['Location']}"
        return answer

    async def hang_up(self) -> None:
        async with aiohttp.ClientSession() as http:
            await http.delete(self._location, headers={"Authorization": f"Bearer {TOKEN}"})
        await self.vanish()

    async def vanish(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        await self.connection.close()

    async def _listen(self) -> None:
        track: Any = self.connection.getReceivers()[0].track
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            self._blocks.append(frame.to_ndarray().reshape(-1, 2)[:, 0].copy())


def tone(seconds: float, hz: float = 1000.0) -> Pcm:
    n = np.arange(int(seconds * SAMPLE_RATE_HZ))
    pcm: Pcm = (9000 * np.sin(2 * np.pi * hz * n / SAMPLE_RATE_HZ)).astype(np.int16)
    return pcm


async def behave(behaviour: str, url: str) -> None:
    """As a process of its own: talks for a minute, or not at all, or comes late, or breaks off."""
    if behaviour == "late":
        await asyncio.sleep(0.3)
    peer = AiortcPeer(np.zeros(0, np.int16) if behaviour == "mute" else tone(60))
    await peer.join(url, "b")
    await asyncio.sleep(3.0 if behaviour == "closes" else 60)
    os._exit(0)  # as when it is killed: no farewell


if __name__ == "__main__":
    asyncio.run(behave(*sys.argv[1:]))
