"""The fake of OpenAI's realtime interface over WebRTC, called by plain aiortc and the vendor's own HTTP client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
import soxr
from fakes.aiortc_peer import AiortcPeer
from fakes.realtime.checks import check
from fakes.realtime_server import Pace, Plan, RealtimeServer, Reply, Wave, place_of, tones
from helpers.patience import PATIENCE_S
from helpers.realtime_talk import TYPES
from openai import AsyncOpenAI, AuthenticationError, BadRequestError

from fdbcore.types import Pcm

SESSION: dict[str, Any] = {"type": "realtime", "model": "gpt-realtime-2.1"}


class Caller(AiortcPeer):
    """A call. events: with the seconds that had been heard when each came."""

    def __init__(self, says: Pcm) -> None:
        super().__init__(says)
        self.events: list[tuple[float, dict[str, Any]]] = []
        self.channel = self.connection.createDataChannel("oai-events")
        self.channel.on("message", self._take)
        self._news = asyncio.Event()

    def _take(self, text: str) -> None:
        self.events.append((len(self.heard) / 48_000, json.loads(text)))
        self._news.set()

    @property
    def types(self) -> list[str]:
        return [event["type"] for _, event in self.events]

    def send(self, **event: Any) -> None:
        self.channel.send(json.dumps(event))

    async def until(self, kind: str) -> tuple[float, dict[str, Any]]:
        async with asyncio.timeout(PATIENCE_S):
            while kind not in self.types:
                self._news.clear()
                await self._news.wait()
        return self.events[self.types.index(kind)]


def upsampled(wave: Wave) -> Pcm:
    pcm: Pcm = soxr.resample(wave, 24_000, 48_000)
    return pcm


@asynccontextmanager
async def calling(server: RealtimeServer, says: Pcm) -> AsyncIterator[Caller]:
    caller = Caller(says)
    await caller.gather()
    with server:
        async with AsyncOpenAI(api_key=server.key, base_url=server.base_url) as client:
            sdp = caller.connection.localDescription.sdp
            answer = await client.realtime.calls.create(sdp=sdp, session=SESSION)  # type: ignore[arg-type]
        assert answer.response.status_code == 201
        assert answer.response.headers["Location"] == "/v1/realtime/calls/rtc_fake0000"
        await caller.heed(answer.text)
        yield caller
        await caller.vanish()
    for _, event in caller.events:
        check(event, TYPES[event["type"]])


@pytest.mark.live
async def test_a_call_is_heard_and_answered_on_its_tracks() -> None:
    said = tones(0.8, 5)
    server = RealtimeServer(Plan([Reply("Two words.", said)], pace=Pace(first_s=0.1, speed=20.0)))

    says = np.concatenate([np.zeros(48_000, np.int16), upsampled(tones(0.5, 9))])
    async with calling(server, says) as caller:
        await caller.until("output_audio_buffer.stopped")
        await asyncio.sleep(0.2)
    types = caller.types
    assert not any(kind == "response.output_audio.delta" for kind in types)
    assert types.index("response.content_part.added") < types.index("output_audio_buffer.started")
    assert types.index("response.done") < types.index("output_audio_buffer.stopped")
    start_ms = next(event for _, event in caller.events if event["type"].endswith("speech_started"))["audio_start_ms"]
    assert start_ms + 300 == pytest.approx(1000, abs=60)
    place_s = place_of(upsampled(said), caller.heard) / 48_000
    begun_s = next(at for at, event in caller.events if event["type"] == "output_audio_buffer.started")
    assert 0 < place_s - begun_s < 0.25  # of it 80 ms in aiortc's own buffer
    stopped_s = next(at for at, event in caller.events if event["type"] == "output_audio_buffer.stopped")
    assert stopped_s - begun_s == pytest.approx(0.8, abs=0.15)


@pytest.mark.live
async def test_speech_over_it_clears_what_it_plays_and_truncates_the_item() -> None:
    server = RealtimeServer(Plan([Reply("ten", tones(5.0, 5))], pace=Pace(first_s=0.0, speed=50.0)))

    says = np.concatenate([np.zeros(96_000, np.int16), upsampled(tones(0.3, 9))])
    async with calling(server, says) as caller:
        await caller.until("session.created")
        caller.send(type="response.create")
        await caller.until("conversation.item.truncated")
        await asyncio.sleep(0.5)
    types = caller.types
    begun_s, _ = caller.events[types.index("output_audio_buffer.started")]
    cleared_s, _ = caller.events[types.index("output_audio_buffer.cleared")]
    truncated = caller.events[types.index("conversation.item.truncated")][1]
    assert types.index("response.done") < types.index("input_audio_buffer.speech_started")  # made long before
    assert truncated["audio_end_ms"] == pytest.approx((cleared_s - begun_s) * 1000, abs=200)
    assert "output_audio_buffer.stopped" not in types
    assert np.abs(caller.heard[-4800:].astype(int)).max() < 100


async def test_calls_are_refused_where_sessions_are() -> None:
    caller = Caller(np.zeros(0, np.int16))
    await caller.gather()

    async def ask(key: str, **session: Any) -> None:
        async with AsyncOpenAI(api_key=key, base_url=server.base_url, max_retries=0) as client:
            sdp = caller.connection.localDescription.sdp
            await client.realtime.calls.create(sdp=sdp, session=SESSION | session)  # type: ignore[arg-type]

    with RealtimeServer() as server:
        with pytest.raises(AuthenticationError):
            await ask("sk-wrong")
        with pytest.raises(BadRequestError, match="gpt-realtime-9"):
            await ask(server.key, model="gpt-realtime-9")
        with pytest.raises(BadRequestError, match="Unknown parameter: 'voice'"):
            await ask(server.key, voice="marin")
    await caller.vanish()
