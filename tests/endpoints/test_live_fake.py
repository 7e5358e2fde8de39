"""The fake of GPT-Live: held against the vendor's own types, by the vendor's own client, in real time."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import numpy as np
import pytest
from fakes.live.checks import client_events
from fakes.live_server import RATE_HZ, Call, LivePlan, LiveServer, Reply, Wave, place_of, tones
from fakes.realtime.checks import check, literal
from helpers.realtime_talk import Connection
from openai import AsyncOpenAI
from openai.types.live import ServerEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel

TYPES: dict[str, type[BaseModel]] = {literal(kind, "type"): kind for kind in get_args(get_args(ServerEvent)[0])}
INNER: dict[str, type[BaseModel]] = {literal(kind, "type"): kind for kind in get_args(get_args(ResponseStreamEvent)[0])}
SOUND = "session.output_audio.delta"
TOOLS = {"model": "gpt-5.2", "tools": [{"type": "function", "name": "book", "parameters": {"type": "object"}}]}


class Talk(Connection):
    """A connection of the vendor's client, which talks in real time. events: what came."""

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events if event["type"] not in (SOUND, "session.input_audio.append")]

    def checked(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event of the vendor's types, through and through."""
        check(event, TYPES[event["type"]])
        if event["type"] == "response.event":
            check(event["event"], INNER[event["event"]["type"]])
        return event

    async def begin(self, **session: Any) -> dict[str, Any]:
        await self.client.session.start(session={"model": "gpt-live-1", **session})
        return await self.until("session.started", "error")

    async def say(self, *pieces: Wave) -> None:
        """In real time."""
        wave = np.concatenate(pieces).astype("<i2")
        begun_s = asyncio.get_running_loop().time()
        for number, at in enumerate(range(0, len(wave), 480)):
            audio = base64.b64encode(wave[at : at + 480].tobytes()).decode()
            await self.client.session.input_audio.append(audio=audio)
            await asyncio.sleep(begun_s + number / 50 - asyncio.get_running_loop().time())

    @property
    def heard(self) -> Wave:
        return samples(self.all(SOUND), "delta")


def samples(events: list[dict[str, Any]], field: str) -> Wave:
    return np.frombuffer(b"".join(base64.b64decode(event[field]) for event in events), "<i2").astype(np.int16)


def silence(seconds: float) -> Wave:
    return np.zeros(int(seconds * RATE_HZ), np.int16)


@asynccontextmanager
async def talking(server: LiveServer, attached_to: str | None = None, key: str | None = None) -> AsyncIterator[Talk]:
    async with AsyncOpenAI(api_key=key or server.key, base_url=server.base_url) as client:
        opened: Any = (
            client.live.connect() if attached_to is None else client.live.sideband.connect(session_id=attached_to)
        )
        async with opened as connection:
            talk = Talk(connection)
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(talk.listen())
                yield talk
                task.cancel()


@asynccontextmanager
async def conversing(server: LiveServer) -> AsyncIterator[Talk]:
    with server:
        async with talking(server) as talk:
            yield talk


@pytest.mark.live
async def test_audio_flows_both_ways_in_real_time_and_each_piece_has_its_time_beside_it() -> None:
    said = tones(0.75, 5)
    server = LiveServer(
        LivePlan([Reply("Good day to you.", said)], heard=["A table please."], reply_ms=300, usage_s=1.0)
    )
    watched: list[Talk] = []
    async with conversing(server) as talk:
        session = (await talk.begin(instructions="Be brief."))["session"]
        async with talking(server, session["id"]) as watcher:
            watched.append(watcher)
            await talk.say(silence(0.5), tones(0.6, 7), silence(1.9))
            await talk.client.session.close()
            await talk.until("session.closed")
            await watcher.until("session.closed")
    session, heard, begun_ms = server.sessions[0], talk.heard, server.sessions[0].mouth.said[0].start_ms
    place = place_of(said, heard)
    assert place == begun_ms * 24
    np.testing.assert_array_equal(heard[place : place + len(said)], said)
    assert 0 < np.abs(heard[: int(0.4 * RATE_HZ)].astype(int)).max() < 30  # a tick, and then nothing at all
    assert not heard[int(0.4 * RATE_HZ) : place].any()
    assert not heard[place + len(said) :].any()
    assert {len(base64.b64decode(event["delta"])) for event in talk.all(SOUND)} == {4800}
    times = [logged.at_s for logged in session.sent if logged.type == SOUND]
    assert (times[-1] - times[0]) / (len(times) - 1) == pytest.approx(0.1, abs=0.01)

    words = talk.all("session.output_transcript.delta")
    assert "".join(event["delta"] for event in words) == "Good day to you."
    assert words[0]["start_ms"] == begun_ms
    theirs = talk.all("session.input_transcript.delta")
    assert "".join(event["delta"] for event in theirs) == "A table please."
    assert [event["usage"]["seconds"] for event in talk.all("session.usage.updated")][:2] == [1.0, 2.0]
    closed = talk.all("session.closed")[0]
    assert (closed["reason"], closed["session"]["instructions"]) == ("close_requested", "Be brief.")

    chunks = watched[0].all(SOUND)
    at = chunks[0]["start_ms"]
    assert [event["start_ms"] for event in chunks] == list(range(at, at + 100 * len(chunks), 100))
    np.testing.assert_array_equal(samples(chunks, "delta"), heard[at * 24 :][: len(chunks) * 2400])
    their_speech = samples(watched[0].all("session.input_audio.append"), "audio")
    user_ms = at + place_of(tones(0.6, 7), their_speech) / 24
    assert begun_ms == pytest.approx(user_ms + 600 + 300, abs=150)  # frames of 100 ms
    assert theirs[0]["start_ms"] == pytest.approx(user_ms, abs=200)
    assert watched[0].types[-1] == "session.closed"


@pytest.mark.live
async def test_it_yields_to_speech_and_loses_frames_where_it_is_planned() -> None:
    replies = [Reply("one two three four five six seven eight nine ten")]
    server = LiveServer(LivePlan(replies, greets=True, yield_ms=150, dropped={5, 6}))
    watched: list[Talk] = []
    async with conversing(server) as talk:
        session = (await talk.begin())["session"]
        async with talking(server, session["id"]) as watcher:
            watched.append(watcher)
            await talk.say(silence(1.0), tones(0.4, 3), silence(0.3))
    begun_ms = server.sessions[0].mouth.said[0].start_ms
    loud = np.abs(talk.heard.reshape(-1, 2400).astype(int)).max(axis=1) > 1000
    fell_silent_ms = 100 * (int(np.flatnonzero(loud)[-1]) + 1 + 2)  # two frames were lost
    assert begun_ms == 400
    starts = [event["start_ms"] for event in watched[0].all(SOUND)]
    reflected = samples(watched[0].all("session.input_audio.append"), "audio")
    user_ms = starts[0] + place_of(tones(0.4, 3), reflected) / 24
    assert fell_silent_ms == pytest.approx(user_ms + 150 + 100, abs=150)  # frames of 100 ms
    assert len(talk.all("session.output_transcript.delta")) < 10
    assert 700 in starts
    assert not {500, 600} & {*starts}


async def test_the_vendors_own_backend_calls_tools_and_waits_for_their_results() -> None:
    calls = [Call("book", {"name": "Ada", "people": 4}, "call_1"), Call("look", "{broken", "call_2")]
    server = LiveServer(LivePlan([Reply("One.", calls=calls), Reply("It is booked.")], greets=True))
    async with conversing(server) as talk:
        await talk.begin(delegation={"type": "responses", "responses": TOOLS})
        for _ in calls:
            while (await talk.until("response.event"))["event"].get("item", {}).get("type") != "function_call":
                pass
        while (await talk.until("response.event"))["event"]["type"] != "response.completed":
            pass
        await talk.client.response.create(event_id="early")
        await talk.until("error")
        for call_id in ("call_2", "call_1", "call_3"):
            item = {"type": "function_call_output", "call_id": call_id, "output": '{"ok":true}'}
            await talk.client.response.item.create(item=item, event_id=call_id)
        await talk.until("error")
        await talk.client.response.create()
        await talk.until("session.output_transcript.delta")
    created = talk.all("session.delegation.created")[0]
    assert created["delegation"]["target"] == "responses"
    assert created["offset_ms"] == pytest.approx(server.sessions[0].mouth.said[0].start_ms + 300, abs=100)
    inner = [event["event"] for event in talk.all("response.event")]
    done = [event["item"] for event in inner if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["reasoning", "function_call", "function_call", "message"]
    assert json.loads(done[1]["arguments"]) == {"name": "Ada", "people": 4}
    assert [event["response"]["output"] for event in inner if event["type"] == "response.completed"] == [[], []]
    errors = [(event["error"]["code"], event["error"]["client_event_id"]) for event in talk.all("error")]
    assert errors == [("function_call_outputs_required", "early"), ("invalid_call_id", "call_3")]
    assert talk.all("session.output_transcript.delta")[-1]["delta"].startswith("It ")
    assert set(server.sessions[0].backend.results) == {"call_1", "call_2"}


STARTS: list[tuple[dict[str, Any], str, str]] = [
    ({"voice": "marin"}, "unknown_parameter", "session.voice"),
    ({"audio": {"input": {}}}, "unknown_parameter", "session.audio.input"),
    ({"audio": {"format": {"type": "audio/pcm", "rate": 8000}}}, "invalid_value", "session.audio.format.rate"),
    ({"delegation": {"type": "responses"}}, "missing_required_parameter", "session.delegation.responses"),
    ({"model": "gpt-realtime-2.1"}, "model_not_found", "session.model"),
]


async def test_it_is_strict() -> None:
    async with conversing(LiveServer()) as talk:

        async def refused(event: dict[str, Any]) -> dict[str, Any]:
            await talk.client._connection.send(json.dumps(event))
            error: dict[str, Any] = (await talk.until("error"))["error"]
            return error

        early = await refused({"type": "session.input_audio.append", "audio": ""})
        assert early["code"] == "session_not_started"
        for session, code, param in STARTS:
            given = {"model": "gpt-live-1"} | session
            error = await refused({"type": "session.start", "event_id": "mine", "session": given})
            assert (error["code"], error["param"], error["client_event_id"]) == (code, param, "mine")
        await talk.begin()
        unknown = await refused({"type": "input_audio_buffer.commit"})
        assert all(f"'{name}'" in unknown["message"] for name in client_events())
        assert (await refused({"type": "session.close", "event_id": None}))["param"] == "event_id"
        again = {"type": "session.start", "session": {"model": "gpt-live-1"}}
        assert (await refused(again))["code"] == "session_already_started"
        assert (await refused({"type": "response.create"}))["code"] == "invalid_delegation_type"


@pytest.mark.parametrize("rate_hz", [16_000, 8_000])
async def test_other_formats_have_frames_of_the_same_time(rate_hz: int) -> None:
    sound = {"type": "audio/pcm" if rate_hz == 16_000 else "audio/pcmu", "rate": rate_hz}
    async with conversing(LiveServer(LivePlan([Reply("One.")], greets=True, reply_ms=0))) as talk:
        await talk.begin(audio={"format": sound})
        for _ in range(12):
            await talk.until(SOUND)
    data = [base64.b64decode(event["delta"]) for event in talk.all(SOUND)]
    assert {len(each) for each in data} == {3200 if rate_hz == 16_000 else 800}
    assert set(data[10]) == ({0} if rate_hz == 16_000 else {0xFF})


async def test_what_it_is_saying_is_said_to_its_end_before_it_closes() -> None:
    said = tones(0.6, 4)
    async with conversing(LiveServer(LivePlan([Reply("two words", said)], greets=True, reply_ms=0))) as talk:
        await talk.begin()
        for _ in range(2):
            await talk.until(SOUND)
        await talk.client.session.close()
        await talk.until("session.closed")
    np.testing.assert_array_equal(talk.heard[: len(said)], said)


async def test_who_is_attached_learns_that_the_session_was_lost() -> None:
    async with conversing(server := LiveServer()) as talk:
        session = (await talk.begin())["session"]
        async with talking(server, session["id"]) as watcher:
            await watcher.until(SOUND)
            await talk.client.close()
            assert (await watcher.until("session.closed"))["reason"] == "connection_lost"
