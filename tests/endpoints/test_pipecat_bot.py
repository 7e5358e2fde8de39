"""A bot of Pipecat's own parts, called as Twilio calls one, and by WebRTC."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
import soundfile
from fakes.aiortc_peer import AiortcPeer
from fakes.outside import Outside
from fakes.planted_speech import find
from fakes.realtime.plan import Wave, tones
from fakes.realtime.sound import companded, decoded
from scipy.signal import resample_poly

pytestmark = pytest.mark.outside

SAMPLE = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"
STREAM, CALL = "MZ" + "1" * 32, "CA" + "3" * 32
START = {
    "streamSid": STREAM,
    "accountSid": "AC" + "2" * 32,
    "callSid": CALL,
    "tracks": ["inbound"],
    "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
    "customParameters": {"caller": "test"},
}
MU_LAW = {"type": "audio/pcmu"}


def speech(rate_hz: int) -> Wave:
    """Silence of 1 s, speech of 1.6 s ("on Thursday, at three"), and both again, into the answer; then 3 s."""
    sample, sample_hz = soundfile.read(SAMPLE, dtype="int16", start=10 * 24_000, stop=round(11.6 * 24_000))
    said = np.pad(sample[:, 0], (sample_hz, 0))
    twice = np.concatenate([said, said, np.zeros(3 * sample_hz, np.int16)])
    return at_rate(twice, sample_hz, rate_hz)


def at_rate(wave: Wave, rate_hz: int, new_rate_hz: int) -> Wave:
    resampled: Wave = np.rint(resample_poly(wave.astype(float), new_rate_hz, rate_hz)).astype(np.int16)
    return resampled


def bot() -> Outside:
    return Outside("pipecat_bot", "fakes.pipecat_bot.bot")


async def phone(port: int) -> tuple[Wave, list[dict[str, Any]]]:
    """Call as Twilio does, in real time; what was heard if all was played at once, and all that came but audio."""
    blocks: list[Wave] = []
    came: list[dict[str, Any]] = []
    line = speech(8000)
    frames = line[: len(line) // 160 * 160].reshape(-1, 160)
    async with aiohttp.ClientSession() as session, session.ws_connect(f"ws://127.0.0.1:{port}/media") as ws:

        async def listen() -> None:
            async for received in ws:
                message = json.loads(received.data)
                if message["event"] == "media":
                    blocks.append(decoded(base64.b64decode(message["media"]["payload"]), MU_LAW))
                else:
                    came.append(message)

        listening = asyncio.create_task(listen())
        await ws.send_json({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        await ws.send_json({"event": "start", "sequenceNumber": "1", "streamSid": STREAM, "start": START})
        began = asyncio.get_running_loop().time()
        for number, frame in enumerate(frames):
            payload = base64.b64encode(companded(frame, "audio/pcmu")).decode()
            media = {"track": "inbound", "chunk": str(number + 1), "timestamp": str(20 * number), "payload": payload}
            told = {"event": "media", "sequenceNumber": str(number + 2), "streamSid": STREAM, "media": media}
            await ws.send_json(told)
            await asyncio.sleep(began + 0.02 * (number + 1) - asyncio.get_running_loop().time())
        await ws.close()
        await listening
    return np.concatenate(blocks), came


TURN = ["turn begins", "turn ends", "speaks"]
EVENTS = ["connected", *TURN, "turn begins", "interrupted", "has spoken", *TURN[1:]]
"""The second turn lies in the first answer, which ends with it."""


def test_it_answers_on_the_phone() -> None:
    with bot() as pipecat:
        heard, came = asyncio.run(asyncio.wait_for(phone(pipecat.port), 60))
    assert pipecat.lines[0].items() >= {"stream": STREAM, "call": CALL, "parameters": {"caller": "test"}}.items()
    assert pipecat.events[: len(EVENTS) + 1] == ["start", *EVENTS]
    assert pipecat.events[-1] == "disconnected"
    assert came == [
        {"event": "clear", "streamSid": STREAM},
        {"event": "mark", "streamSid": STREAM, "mark": {"name": "turn 1"}},
    ]
    heard = at_rate(heard, 8000, 48_000)
    begins, n_first = find(heard, tones(1.5, 0, 8000), 8000)
    again, n_second = find(heard, tones(1.5, 1, 8000), 8000)
    assert begins == 0
    assert again - n_first in range(0, 4801), "what was sent of the first answer is followed by the second one"
    assert n_second > 1.4 * 48_000


def test_it_answers_by_webrtc() -> None:
    async def call(port: int) -> Wave:
        peer = AiortcPeer(line := speech(48_000))
        await peer.gather()
        offer = {"sdp": peer.connection.localDescription.sdp, "type": "offer"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{port}/api/offer", json=offer) as response,
        ):
            answer = await response.json()
        await peer.heed(answer["sdp"])
        await asyncio.sleep(len(line) / 48_000 + 0.5)
        await peer.vanish()
        return peer.heard

    with bot() as pipecat:
        heard = asyncio.run(asyncio.wait_for(call(pipecat.port), 60))
    assert pipecat.events[: len(EVENTS)] == EVENTS
    assert pipecat.events[-1] == "disconnected"
    begins, n_first = find(heard, tones(1.5, 0, 24_000), 24_000)
    again, n_second = find(heard, tones(1.5, 1, 24_000), 24_000)
    assert 0.2 * 48_000 < n_first < 1.4 * 48_000
    assert again > begins + n_first
    assert n_second > 1.4 * 48_000
