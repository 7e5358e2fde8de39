"""A peer of node-webrtc, which the adapters of Full-Duplex-Bench v2 are made of, joins by /signal and is heard."""

import asyncio
import json
import shutil
import threading
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.loopback import free_port
from fakes.parties import Caller
from helpers.patience import PATIENCE_S

from fdbcore.audio.wav import wav_header
from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.endpoints.webrtc.signalling import SignallingServer
from fdbcore.runs.replays import replay
from fdbcore.runtime.network import await_result, event_loop
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

NODE_PEER = Path(__file__).parents[2] / "fakes" / "node_peer"
TONE_HZ = 440

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        shutil.which("node") is None or not (NODE_PEER / "node_modules").is_dir(),
        reason=f"needs node and `npm install --no-package-lock` in {NODE_PEER.name}",
    ),
]


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

    async def connected(self, timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while self.connection.connectionState != "connected":  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        from aiortc.sdp import candidate_from_sdp

        parsed = candidate_from_sdp(candidate.removeprefix("candidate:"))
        parsed.sdpMid, parsed.sdpMLineIndex = mid, line_index
        await self.connection.addIceCandidate(parsed)

    async def hang_up(self, reason: str) -> None:
        assert reason == "hung up"
        await self.connection.close()
        self.hung_up.set()


async def started(url: str, play: Path, write: Path) -> asyncio.subprocess.Process:
    """The peer, which joins side B there, plays a file and writes another."""
    options = {"signal": f"{url}/signal", "role": "B", "play": play, "write": write, "tail": 0.5}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return await asyncio.create_subprocess_exec(
        "node", NODE_PEER / "peer.js", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def echoed(play: Path, write: Path) -> dict[str, Any]:
    """What the peer reports after it played `play` to an echo."""
    server = SignallingServer()
    await server.start()
    echo = Echo()
    seat = server.seat("B", echo)
    node = await started(server.url, play, write)
    await seat.taken(10)
    output, errors = await node.communicate()
    assert node.returncode == 0, errors.decode()
    await echo.hung_up.wait()
    await server.stop()
    report: dict[str, Any] = json.loads(output)
    return report


def write_tone(path: Path, seconds: float, sounds_s: float) -> None:
    """A tone that sounds for the first `sounds_s` of every second."""
    n = np.arange(round(seconds * SAMPLE_RATE_HZ))
    sounds = n % SAMPLE_RATE_HZ < sounds_s * SAMPLE_RATE_HZ
    tone: Pcm = (8000 * np.sin(2 * np.pi * TONE_HZ / SAMPLE_RATE_HZ * n) * sounds).astype(np.int16)
    path.write_bytes(wav_header(1, tone.nbytes) + tone.tobytes())


def test_it_hears_its_own_tone(tmp_path: Path) -> None:
    write_tone(tmp_path / "in.wav", 1, sounds_s=1)
    report = await_result(echoed(tmp_path / "in.wav", tmp_path / "out.wav"), PATIENCE_S)
    with wave.open(str(tmp_path / "out.wav")) as heard:
        assert heard.getframerate() == SAMPLE_RATE_HZ
        samples = np.frombuffer(heard.readframes(heard.getnframes()), np.int16).astype(float)
    assert len(samples) >= report["blocks"] * FRAME_SAMPLES
    assert (np.abs(samples) > 2000).sum() > 0.25 * SAMPLE_RATE_HZ
    assert abs(np.abs(np.fft.rfft(samples)).argmax() * SAMPLE_RATE_HZ / len(samples) - TONE_HZ) < 5


async def joins_once_there(port: int, play: Path, write: Path) -> str:
    """What the peer says as it ends."""
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            break
    node = await started(f"http://127.0.0.1:{port}", play, write)
    _, errors = await node.communicate()
    return errors.decode()


def test_it_holds_a_conversation_that_replays_to_the_same_events(tmp_path: Path) -> None:
    write_tone(tmp_path / "in.wav", 9, sounds_s=0.5)
    port = free_port()
    joining = asyncio.run_coroutine_threadsafe(
        joins_once_there(port, tmp_path / "in.wav", tmp_path / "out.wav"), event_loop()
    )
    party = Joined(f"webrtc://127.0.0.1:{port}?join_s=20")
    caller = Caller([tick % 100 >= 60 for tick in range(300)])
    held = converse(caller, party, tmp_path / "held", LiveSettings(vad="energy"), {}, threading.Event())
    assert joining.result(PATIENCE_S) == "closed: 1000 the conversation is over\n"
    assert party.left is None
    assert held.n_ticks == len(caller.speaks)
    assert party.measured()["received"] > 200
    assert {(event.side, event.kind) for event in held.turn_events} >= {("A", "speech_end"), ("B", "speech_end")}
    again = replay(held.path, out=tmp_path / "again")
    assert again.turn_events == held.turn_events
    assert again.meta["held"]["same"]
