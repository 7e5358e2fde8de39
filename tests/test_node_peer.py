"""A peer of node-webrtc, which the adapters of Full-Duplex-Bench v2 are made of, joins by /signal and is heard."""

from __future__ import annotations

import asyncio
import json
import shutil
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fdbcore.network import await_result
from fdbcore.rtc.signalling import SignallingServer
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ
from fdbcore.wav import wav_header

NODE_PEER = Path(__file__).parent / "fakes" / "node_peer"
TONE_HZ = 440

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (NODE_PEER / "node_modules").is_dir(),
    reason=f"needs node and `npm install --no-package-lock` in {NODE_PEER.name}",
)


class Echo:
    """A negotiator by plain aiortc that plays back what it hears."""

    def __init__(self) -> None:
        from aiortc import RTCPeerConnection

        self.connection = RTCPeerConnection()
        self.connection.on("track", self.connection.addTrack)
        self.hung_up = asyncio.Event()

    async def answer(self, offer_sdp: str) -> str:
        from aiortc import RTCSessionDescription

        await self.connection.setRemoteDescription(RTCSessionDescription(offer_sdp, "offer"))
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        return str(self.connection.localDescription.sdp)

    async def offer(self) -> str:
        raise NotImplementedError

    async def accept(self, answer_sdp: str) -> None:
        raise NotImplementedError

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        from aiortc.sdp import candidate_from_sdp

        parsed = candidate_from_sdp(candidate.removeprefix("candidate:"))
        parsed.sdpMid, parsed.sdpMLineIndex = mid, line_index
        await self.connection.addIceCandidate(parsed)

    async def hang_up(self, reason: str) -> None:
        assert reason == "closed its WebSocket"
        await self.connection.close()
        self.hung_up.set()


async def echoed(play: Path, write: Path) -> dict[str, Any]:
    """What the peer reports after it played `play` to an echo."""
    server = SignallingServer()
    await server.start()
    echo = Echo()
    seat = server.seat("B", echo)
    options = {"signal": f"{server.url}/signal", "role": "B", "play": play, "write": write, "tail": 0.5}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    node = await asyncio.create_subprocess_exec(
        "node", NODE_PEER / "peer.js", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    await seat.taken(10)
    output, errors = await node.communicate()
    assert node.returncode == 0, errors.decode()
    await echo.hung_up.wait()
    await server.stop()
    report: dict[str, Any] = json.loads(output)
    return report


def test_it_hears_its_own_tone(tmp_path: Path) -> None:
    tone = (8000 * np.sin(2 * np.pi * TONE_HZ / SAMPLE_RATE_HZ * np.arange(SAMPLE_RATE_HZ))).astype(np.int16)
    (tmp_path / "in.wav").write_bytes(wav_header(1, tone.nbytes) + tone.tobytes())
    report = await_result(echoed(tmp_path / "in.wav", tmp_path / "out.wav"), 60)
    with wave.open(str(tmp_path / "out.wav")) as heard:
        assert heard.getframerate() == SAMPLE_RATE_HZ
        samples = np.frombuffer(heard.readframes(heard.getnframes()), np.int16).astype(float)
    assert len(samples) >= report["blocks"] * FRAME_SAMPLES
    assert (np.abs(samples) > 2000).sum() > 0.25 * SAMPLE_RATE_HZ
    assert abs(np.abs(np.fft.rfft(samples)).argmax() * SAMPLE_RATE_HZ / len(samples) - TONE_HZ) < 5
