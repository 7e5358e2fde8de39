"""The application side of Media Streams: what it does, and that it finds whatever a network does wrong."""

import asyncio
import base64
import copy
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import aiohttp
import numpy as np
import pytest
from fakes.far_end import Reply
from fakes.planted_speech import find
from fakes.realtime.plan import Wave, tones
from fakes.realtime.sound import companded, decoded
from fakes.twilio_bot import SOUND, Quirks, TwilioBot
from scipy.signal import resample_poly

STREAM, ACCOUNT, CALL = "MZ" + "1" * 32, "AC" + "2" * 32, "CA" + "3" * 32
CONNECTED = {"event": "connected", "protocol": "Call", "version": "1.0.0"}
START = {
    "event": "start",
    "streamSid": STREAM,
    "start": {
        "streamSid": STREAM,
        "accountSid": ACCOUNT,
        "callSid": CALL,
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        "customParameters": {},
    },
}


def told(event: str, **fields: object) -> dict[str, Any]:
    return {"event": event, "streamSid": STREAM, event: fields}


STOP = told("stop", accountSid=ACCOUNT, callSid=CALL)
TURN = np.concatenate([tones(0.4, 99, 8000), np.zeros(4800, np.int16)])
BARGE_IN = tones(0.2, 98, 8000)


def media(pcm: Wave, first: int = 0) -> list[dict[str, Any]]:
    """Messages of 20 ms."""
    messages = []
    for at, frame in enumerate(pcm[: len(pcm) // 160 * 160].reshape(-1, 160), start=first):
        payload = base64.b64encode(companded(frame)).decode()
        messages.append(told("media", track="inbound", chunk=str(at + 1), timestamp=str(at * 20), payload=payload))
    return messages


def numbered(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [dict(CONNECTED), *({**each, "sequenceNumber": str(at)} for at, each in enumerate(messages, start=1))]


CALLED = numbered([START, *media(TURN)])


class Network:
    """One stream as the network has it: says what it is told at once, and plays what comes on a clock of its own."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.audio: list[Wave] = []

    async def hold(
        self,
        bot: TwilioBot,
        says: Sequence[Mapping[str, Any]] = CALLED,
        until: "Callable[[Network], bool]" = lambda network: False,
        answers: Callable[[dict[str, Any]], Iterable[Mapping[str, Any]]] = lambda message: (),
    ) -> "Network":
        async with aiohttp.ClientSession() as session, session.ws_connect(bot.url("ws") + "/media") as ws:
            self._ws, self._number, self._plays_until = ws, len(says), 0.0
            with suppress(ConnectionError):  # the bot may leave before it has heard all
                for message in says:
                    await ws.send_json(message)
            cleared, marks = asyncio.Event(), []
            async for received in ws:
                self.got.append(message := json.loads(received.data))
                match message["event"]:
                    case "media":
                        self.audio.append(decoded(base64.b64decode(message["media"]["payload"]), SOUND))
                        self._plays_until = max(self._plays_until, time.monotonic()) + len(self.audio[-1]) / 8000
                    case "mark":
                        marks.append(asyncio.create_task(self._give_back(message["mark"], cleared)))
                    case "clear":
                        self._plays_until = 0.0
                        cleared.set()
                        cleared = asyncio.Event()
                for answer in answers(message):
                    await self._send(answer)
                if until(self):
                    await asyncio.gather(*marks)
                    await self._send(STOP)
                    break
        return self

    async def _give_back(self, mark: Mapping[str, Any], cleared: asyncio.Event) -> None:
        """When all before it has played, or was cleared."""
        with suppress(TimeoutError):
            await asyncio.wait_for(cleared.wait(), max(0.001, self._plays_until - time.monotonic()))
        await self._send(told("mark", **mark))

    async def _send(self, message: Mapping[str, Any]) -> None:
        self._number += 1
        await self._ws.send_json({**message, "sequenceNumber": str(self._number - 1)})

    @property
    def kinds(self) -> list[str]:
        events = [str(message["event"]) for message in self.got]
        return [event for at, event in enumerate(events) if at == 0 or events[at - 1] != event]


async def test_a_turn() -> None:
    keys = [told("dtmf", track="inbound_track", digit=key) for key in "4#"]
    with TwilioBot(Quirks([Reply(0.5)], think_s=0.05)) as bot:
        says = numbered([START, *keys, *media(TURN)])
        network = await Network().hold(bot, says, until=lambda network: network.kinds == ["media", "mark"])
        party = bot.parties[0]
    assert (party.digits, party.stopped, party.start["callSid"]) == ("4#", True, CALL)
    assert np.corrcoef(np.concatenate(network.audio), tones(0.5, 0, 8000))[0, 1] > 0.999
    assert np.corrcoef(np.concatenate(party.heard), TURN)[0, 1] > 0.999
    (mark,) = party.marks.values()
    assert mark.back_s is not None
    assert 0 <= mark.back_s - mark.due_s < 0.3


async def test_a_greeting() -> None:
    with TwilioBot(Quirks(greeting=Reply(0.2))) as bot:
        network = await Network().hold(bot, numbered([START]), until=lambda network: network.kinds == ["media", "mark"])
    assert sum(map(len, network.audio)) == 1600


async def test_a_barge_in_clears_and_brings_the_marks_back() -> None:
    expected = ["media", "mark", "clear"]
    with TwilioBot(Quirks([Reply(3)], think_s=0, faster=100)) as bot:
        network = await Network().hold(
            bot,
            until=lambda network: network.kinds == expected,
            answers=lambda message: media(BARGE_IN, len(TURN) // 160) if message["event"] == "mark" else (),
        )
        mark = bot.parties[0].marks["mark 1"]
    assert network.kinds == expected
    assert mark.back_s is not None
    assert mark.back_s - mark.due_s < 1


def changed(number: int, *path: str, to: object = None) -> list[dict[str, Any]]:
    """A call in which one field is another one, or is missing."""
    called = copy.deepcopy([*CALLED, {**STOP, "sequenceNumber": str(len(CALLED))}])
    at: Any = called[number]
    for name in path[:-1]:
        at = at[name]
    at.pop(path[-1], None)
    if to is not None:
        at[path[-1]] = to
    return called


@pytest.mark.parametrize(
    ("says", "found"),
    [
        (CALLED[1:], "first message"),
        (changed(0, "version", to="2.0.0"), "first message"),
        ([CONNECTED, *CALLED[2:]], "message 1 is 'media'"),
        ([*CALLED[:4], {**START, "sequenceNumber": "4"}], "message 4 is 'start'"),
        ([*CALLED[:2], {"event": "hello", "sequenceNumber": "2"}], "message 2 is 'hello'"),
        (changed(1, "sequenceNumber", to=1), "sequenceNumber 1"),
        (changed(3, "sequenceNumber", to="7"), "sequenceNumber '7'"),
        (changed(3, "streamSid"), "media has the fields"),
        (changed(3, "streamSid", to="MZ" + "9" * 32), "is of stream"),
        (changed(1, "start", "customParameters"), "start holds"),
        (changed(1, "start", "callSid", to="call"), "start.callSid is 'call'"),
        (changed(1, "start", "mediaFormat", "sampleRate", to="8000"), "mediaFormat"),
        (changed(1, "start", "tracks", to=["outbound"]), "tracks"),
        (changed(3, "media", "track", to="outbound"), "media.track"),
        (changed(3, "media", "chunk", to="9"), "media.chunk '9', expected '2'"),
        (changed(3, "media", "timestamp", to=20), "media.timestamp is 20"),
        (changed(3, "media", "timestamp", to="21"), "media.timestamp '21', expected '20'"),
        (changed(3, "media", "payload", to="/w=="), "1 bytes"),
        ([*changed(0, "x"), CALLED[3]], f"message {len(CALLED) + 1} is 'media'"),
        (numbered([START, told("mark", name="none")]), "'none' was not sent"),
        (numbered([START, told("dtmf", track="inbound", digit="1")]), "dtmf.track"),
    ],
)
async def test_what_a_network_does_wrong_is_found(says: list[Mapping[str, Any]], found: str) -> None:
    with pytest.raises(AssertionError, match=found), TwilioBot(Quirks(mute=True)) as bot:
        await say_all(bot, says)


async def say_all(bot: TwilioBot, says: Iterable[Mapping[str, Any]]) -> None:
    """Not looking at what comes."""
    async with aiohttp.ClientSession() as session, session.ws_connect(bot.url("ws") + "/media") as ws:
        with suppress(ConnectionError):
            for message in says:
                await ws.send_json(message)
        await ws.close()


async def test_a_mark_that_comes_back_before_its_audio_has_played() -> None:
    with (
        pytest.raises(AssertionError, match=r"'mark 1' is returned 0\.\d+ s before its audio has played"),
        TwilioBot(Quirks([Reply(0.5)], think_s=0, faster=100)) as bot,
    ):
        await Network().hold(
            bot,
            until=lambda network: network.kinds[-1:] == ["mark"],
            answers=lambda message: [{**message}] if message["event"] == "mark" else (),
        )


async def test_marks_that_come_back_in_another_order() -> None:
    back = told("mark", name="mark 2")
    with (
        pytest.raises(AssertionError, match="'mark 2' is returned before one that was sent earlier"),
        TwilioBot(Quirks(cues={20: "mark", 40: "mark"})) as bot,
    ):
        await say_all(bot, numbered([START, *media(BARGE_IN), back]))


def test_speech_is_found_again() -> None:
    """Cut off, moved by 12,345 samples, and through mu-law."""
    through = decoded(companded(tones(1.0, 5, 8000)), SOUND)
    for wave, rate_hz in ((tones(1.0, 5, 24_000), 24_000), (through, 8000)):
        heard = np.rint(resample_poly(wave.astype(float), 48_000, rate_hz)).astype(np.int16)
        heard = np.concatenate([np.zeros(12_345, np.int16), heard[:33_600], np.zeros(20_000, np.int16)])
        at, n_heard = find(heard, tones(1.0, 5, rate_hz), rate_hz)
        assert abs(at - 12_345) <= 2
        assert n_heard == 33_600
    with pytest.raises(AssertionError, match="never heard"):
        find(heard, tones(1.0, 6, 24_000), 24_000)
