"""The fake of Freeze-Omni's demo server: its quirks, and its wire beside that of the library which the demo uses."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import aiohttp
import numpy as np
import pytest
from fakes.freeze_omni_model import Habits
from fakes.freeze_omni_server import FreezeOmniServer, Quirks
from fakes.outside import Outside
from fakes.realtime.plan import Wave, tones

PATH = "/socket.io/?EIO=4&transport=websocket"
AT_ONCE = Habits((2.0, 1.2), think_s=0, faster=1e9)
"""All pieces are there as soon as an answer begins, so that what comes depends on events alone."""
PIECE = 400 * 48
SPEECH = tones(0.4, 99, 16_000)
SILENCE = np.zeros(9600, np.int16)


def event(name: str, *data: object) -> str:
    return json.dumps([name, *data])


def audio(pcm: Wave, rate_hz: int = 16_000) -> list[str]:
    """Events of 16 ms, as the demo's page sends them."""
    blocks = pcm[: len(pcm) // 256 * 256].reshape(-1, 256)
    told = ({"sample_rate": rate_hz, "audio": list(block.astype("<i2").tobytes())} for block in blocks)
    return [event("audio", json.dumps(each)) for each in told]


class Talk:
    """A connection: sends events one by one, each once the one before was handled. packets: all that came.

    pongs: whether pings are answered.
    """

    def __init__(self, pongs: bool = True) -> None:
        self.packets: list[Any] = []
        self._pongs = pongs

    async def hold(self, url: str, events: Sequence[str], more_s: float = 0) -> "Talk":
        async with aiohttp.ClientSession() as session, session.ws_connect(url + PATH) as ws:
            await ws.send_str("40")
            with suppress(asyncio.TimeoutError, ConnectionError):
                await self._until(ws, "40")
                for number, told in enumerate(events):
                    await ws.send_str(f"42{number}{told}")
                    if not await self._until(ws, f"43{number}"):
                        break
                await asyncio.wait_for(self._until(ws, "none"), more_s)
        return self

    async def _until(self, ws: aiohttp.ClientWebSocketResponse, start: str) -> bool:
        async for received in ws:
            self.packets.append(received.data)
            if received.data == "2" and self._pongs:
                await ws.send_str("3")
            if isinstance(received.data, str) and received.data.startswith(start):
                return True
        return False

    @property
    def kinds(self) -> list[str]:
        """What came but acknowledgements: events by their name, audio by its length."""
        named = [_kind(packet) for packet in self.packets]
        return [kind for kind in named if not kind.startswith("43")]

    @property
    def audio(self) -> Wave:
        return np.frombuffer(b"".join(packet for packet in self.packets if isinstance(packet, bytes)), "<i2")


def _kind(packet: str | bytes) -> str:
    if isinstance(packet, bytes):
        return str(len(packet))
    if packet.startswith(("42", "451-")):
        return str(json.loads(packet[packet.index("[") :])[0])
    return packet.partition("{")[0]


STARTED = [event("recording-started")]
TURN = audio(np.concatenate([SPEECH, SILENCE]))


async def test_audio_comes_only_for_audio() -> None:
    """One piece for each event, whatever is waiting; the turn begins with a stop."""
    with FreezeOmniServer(Quirks(AT_ONCE)) as server:
        talk = await Talk().hold(
            server.url("ws"), [event("prompt_text", "Be short."), *STARTED, *TURN, *audio(SILENCE)]
        )
        user = server.parties[0].user
    assert talk.kinds == ["0", "40", "prompt_success", *["stop_tts"] * 3, *["audio", str(PIECE)] * 5]
    assert np.array_equal(talk.audio, tones(2.0, 0, 24_000))
    assert user is not None
    assert (user.prompt, user.early, user.wrong_rates) == ("Be short.", 0, [])
    assert np.array_equal(np.concatenate(user.heard)[:6400], SPEECH)


async def test_without_audio_nothing_comes() -> None:
    with FreezeOmniServer(Quirks(AT_ONCE)) as server:
        talk = await Talk().hold(server.url("ws"), [*STARTED, *TURN[:57]], more_s=0.3)
    assert talk.kinds == ["0", "40", *["stop_tts"] * 2]


async def test_an_interruption_waits_for_the_client() -> None:
    """What was still queued comes first, piece by piece, and is stale; then the stop, and the next answer."""
    habits = Habits((8.0, 0.4), think_s=0, faster=1e9)
    with FreezeOmniServer(Quirks(habits)) as server:
        talk = await Talk().hold(
            server.url("ws"), [*STARTED, *TURN, *audio(SPEECH[:1600]), *audio(SILENCE), *audio(SILENCE)]
        )
    told = [kind for kind in talk.kinds if kind != str(PIECE)]
    assert told == ["0", "40", *["stop_tts"] * 3, *["audio"] * 20, "stop_tts", "audio"]
    assert np.array_equal(talk.audio, np.concatenate([tones(8.0, 0, 24_000), tones(0.4, 1, 24_000)]))


@pytest.mark.live
async def test_the_pace_of_the_model() -> None:
    """Pieces that are not there yet do not come; an interruption keeps them from coming."""
    with FreezeOmniServer(Quirks(Habits((2.0,), think_s=0.1, faster=0.01))) as server:
        talk = await Talk().hold(server.url("ws"), [*STARTED, *TURN, *audio(SILENCE)])
    assert talk.audio.size == 0


async def test_too_many_users_and_a_user_who_is_forgotten() -> None:
    with FreezeOmniServer(Quirks(max_users=1)) as server:
        async with aiohttp.ClientSession() as session, session.ws_connect(server.url("ws") + PATH):
            second = await Talk().hold(server.url("ws"), STARTED)
    assert second.kinds == ["0", "too_many_users", "40", "41"]
    with FreezeOmniServer(Quirks(cues={100: "time_out"})) as server:
        talk = await Talk().hold(server.url("ws"), [*STARTED, *TURN[:8]])
    assert talk.kinds[4:] == ["out_time", "41"]


async def test_events_that_nobody_handles() -> None:
    with FreezeOmniServer() as server:
        async with aiohttp.ClientSession() as session, session.ws_connect(server.url("ws") + PATH) as ws:
            for packet in ("40", '421["hello",1]', '422["recording-stopped"]'):
                await ws.send_str(packet)
            assert [_kind((await ws.receive()).data) for _ in range(4)] == ["0", "40", "stop_tts", "432[]"]


@pytest.mark.parametrize("pongs", [True, False])
async def test_who_does_not_answer_a_ping_is_left(pongs: bool) -> None:
    with FreezeOmniServer(Quirks(ping_s=0.1, pong_s=0.2)) as server:
        talk = await Talk(pongs).hold(server.url("ws"), STARTED, more_s=0.7)
    assert talk.packets.count("2") > 3 if pongs else talk.packets.count("2") == 1


def with_names_of_its_own(packets: Iterable[Any]) -> list[Any]:
    """The packets, but for the names of the connection."""
    told = []
    for packet in packets:
        named = isinstance(packet, str) and packet.startswith(("0{", "40{"))
        told.append(json.loads(packet[packet.index("{") :]) | {"sid": "any"} if named else packet)
    return told


@pytest.mark.outside
@pytest.mark.parametrize("max_users", [5, 0])
async def test_the_wire_is_that_of_the_library(max_users: int) -> None:
    """The same conversation, packet by packet: with an answer, an interruption, and an end; or with no seat."""
    events = [event("prompt_text", "Be short."), *STARTED, *TURN, *audio(SILENCE), *audio(SPEECH), *audio(SILENCE)]
    events += [*audio(SILENCE), event("recording-stopped")]
    events = events[: len(events) if max_users else 1]
    told = json.dumps({"max_users": max_users, "habits": asdict(AT_ONCE)})
    with Outside("freeze_omni_flask", "fakes.freeze_omni_flask.server", told) as library:
        theirs = await Talk().hold(f"ws://127.0.0.1:{library.port}", events)
    with FreezeOmniServer(Quirks(AT_ONCE, max_users=max_users)) as server:
        ours = await Talk().hold(server.url("ws"), events)
    assert with_names_of_its_own(ours.packets) == with_names_of_its_own(theirs.packets)
    assert len(ours.packets) > (100 if max_users else 3)
