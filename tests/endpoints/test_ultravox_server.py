"""The fake of Ultravox: what a caller sees of it, message by message."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import numpy as np
import pytest
from fakes.far_end import Reply, Use
from fakes.realtime.plan import tones
from fakes.ultravox_server import Quirks, UltravoxServer
from helpers.patience import PATIENCE_S

from fdbcore.types import Pcm

BODY: dict[str, Any] = {
    "systemPrompt": "Be short.",
    "model": "ultravox-v0.7",
    "firstSpeakerSettings": {"user": {}},
    "medium": {
        "serverWebSocket": {
            "inputSampleRate": 16_000,
            "outputSampleRate": 24_000,
            "clientBufferSizeMs": 30_000,
            "dataMessages": {"userStartedSpeaking": True, "userStoppedSpeaking": True, "toolUsed": True},
        }
    },
}
TURN = np.concatenate([tones(0.4, 99, 16_000), np.zeros(9600, np.int16)])
BARGE_IN = tones(0.2, 98, 16_000)


def body(buffer_ms: int = 30_000, **more: Any) -> dict[str, Any]:
    medium = BODY["medium"]["serverWebSocket"] | {"clientBufferSizeMs": buffer_ms}
    return {**BODY, "medium": {"serverWebSocket": medium}, **more}


def quick(replies: Iterable[Reply] = (Reply(0.3, "it is noon"),), **more: Any) -> Quirks:
    return Quirks(tuple(replies), think_s=0.01, **more)


class Talk:
    """A call: what came, with when. texts: the JSON alone."""

    def __init__(self) -> None:
        self.got: list[tuple[float, Any]] = []

    @property
    def texts(self) -> list[dict[str, Any]]:
        return [message for _, message in self.got if isinstance(message, dict)]

    @property
    def kinds(self) -> list[str]:
        """What came, with the states; runs of the same are named once."""
        names = [
            "audio" if isinstance(message, bytes) else message.get("state", message["type"]) for _, message in self.got
        ]
        return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]

    @property
    def audio(self) -> Pcm:
        data = b"".join(message for _, message in self.got if isinstance(message, bytes))
        return np.frombuffer(data, "<i2").astype(np.int16)


Sent = bytes | Mapping[str, Any]


async def hold(
    server: UltravoxServer,
    says: Iterable[Sent] = (TURN.tobytes(),),
    until: Callable[[Talk], bool] = lambda talk: False,
    answers: Callable[[Any], Iterable[Sent]] = lambda message: (),
    asked: Mapping[str, Any] | None = None,
) -> Talk:
    talk = Talk()

    async def send(ws: aiohttp.ClientWebSocketResponse, message: Sent) -> None:
        with suppress(ConnectionError):  # the server may close before it has heard all
            await (ws.send_bytes(message) if isinstance(message, bytes) else ws.send_json(message))

    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession(headers={"X-API-Key": UltravoxServer.KEY}) as session:
        async with session.post(server.url("http") + "/api/calls", json=asked or BODY) as response:
            assert response.status == 201
            join_url = (await response.json())["joinUrl"]
        async with session.ws_connect(join_url + "&apiVersion=1") as ws:
            for message in says:
                await send(ws, message)
            async for received in ws:
                is_text = received.type is aiohttp.WSMsgType.TEXT
                came = json.loads(received.data) if is_text else received.data
                talk.got.append((time.monotonic(), came))
                for message in answers(came):
                    await send(ws, message)
                if until(talk):
                    break
    return talk


def is_over(talk: Talk) -> bool:
    """The agent has spoken, and listens again."""
    return talk.kinds[-1] == "listening" and "audio" in talk.kinds


async def test_a_turn() -> None:
    with UltravoxServer(quick()) as server:
        talk = await hold(server, until=is_over)
        leg = server.parties[0]
    assert [kind for kind in talk.kinds if kind not in ("audio", "transcript")] == [
        "call_started",
        "listening",
        "user_started_speaking",
        "user_stopped_speaking",
        "thinking",
        "speaking",
        "listening",
    ]
    assert np.array_equal(talk.audio, tones(0.3, 0, 24_000))
    assert np.array_equal(np.concatenate(leg.heard), TURN)
    user, *agent = (message for message in talk.texts if message["type"] == "transcript")
    assert (user["role"], user["text"], user["final"]) == ("user", "what is the time", True)
    assert "".join(message.get("delta", "") for message in agent) == "it is noon"
    assert (agent[-1]["text"], agent[-1]["final"], agent[-1]["ordinal"]) == ("it is noon", True, 1)


async def test_the_agent_speaks_first_unless_it_is_told_not_to() -> None:
    asked = {name: value for name, value in BODY.items() if name != "firstSpeakerSettings"}
    with UltravoxServer(quick(greeting=Reply(0.2, "good day"))) as server:
        talk = await hold(server, (), until=is_over, asked=asked)
        asked["firstSpeaker"] = "FIRST_SPEAKER_USER"
        waits = await hold(server, (), until=lambda talk: talk.kinds[-1] == "listening", asked=asked)
    assert (len(talk.audio), len(waits.audio)) == (4800, 0)


@pytest.mark.parametrize(("buffer_ms", "least_s", "most_s"), [(60, 0.6, 1.5), (30_000, 0, 0.5)])
async def test_the_buffer_of_the_client_sets_the_pace(buffer_ms: int, least_s: float, most_s: float) -> None:
    with UltravoxServer(quick([Reply(0.8)])) as server:
        talk = await hold(server, until=is_over, asked=body(buffer_ms))
    at = [when for when, message in talk.got if isinstance(message, bytes)]
    assert least_s <= at[-1] - at[0] <= most_s
    ends = [when for when, message in talk.got if isinstance(message, dict) and message.get("state") == "listening"]
    assert ends[-1] - at[0] >= 0.7, "it is taken to speak until it was played"


@pytest.mark.parametrize("late", [0, 3])
async def test_an_interruption(late: int) -> None:
    """What is sent after the buffer was to be cleared belongs to nobody."""
    with UltravoxServer(quick([Reply(5, "one two three four")], late_chunks=late)) as server:
        talk = await hold(
            server,
            until=lambda talk: talk.kinds[-1] == "listening" and "playback_clear_buffer" in talk.kinds,
            answers=lambda came: [BARGE_IN.tobytes()] if isinstance(came, dict) and "delta" in came else (),
            asked=body(60),
        )
    got = [message for _, message in talk.got]
    after = got[got.index({"type": "playback_clear_buffer"}) + 1 :]
    assert [type(message) for message in after] == [bytes] * late + [dict, dict]
    assert after[-2]["final"]
    assert "one two three four".startswith(after[-2]["text"])


def result(message: Any) -> list[Sent]:
    if not isinstance(message, dict) or message["type"] != "client_tool_invocation":
        return []
    told = {"type": "client_tool_result", "invocationId": message["invocationId"], "result": "12:00"}
    return [{**told, "responseType": "tool-response"}]


async def test_all_waits_for_the_result_of_a_tool() -> None:
    """What is said meanwhile is not heard as a turn; what the tool says twice counts once."""
    reply = Reply(0.2, uses=[Use("get_time", {"city": "Oslo"}), Use("get_time")])
    with UltravoxServer(quick([reply])) as server:
        talk = await hold(
            server, until=is_over, answers=lambda came: [s for s in result(came) for s in (BARGE_IN.tobytes(), s, s)]
        )
        leg = server.parties[0]
    assert talk.kinds.index("client_tool_invocation") < talk.kinds.index("tool_used") < talk.kinds.index("speaking")
    assert talk.kinds.count("user_started_speaking") == 1
    assert [told["result"] for told in leg.results] == ["12:00"] * 4
    calls = [message for message in talk.texts if message["type"] == "client_tool_invocation"]
    assert [call["parameters"] for call in calls] == [{"city": "Oslo"}, {}]
    assert len(talk.audio) == 4800


async def test_uninterruptible() -> None:
    forced = {"type": "forced_agent_message", "content": "Listen to me.", "uninterruptible": True}
    with UltravoxServer(quick()) as server:
        talk = await hold(server, [forced, BARGE_IN.tobytes()], until=is_over)
    assert "playback_clear_buffer" not in talk.kinds
    assert len(talk.audio) == 24_000


@pytest.mark.parametrize("gives", [True, False])
async def test_a_tool_is_waited_for_as_long_as_was_asked(gives: bool) -> None:
    tool = {"temporaryTool": {"modelToolName": "get_time", "timeout": "0.2s", "client": {}}}
    with UltravoxServer(quick([Reply(0.2, uses=[Use("get_time")])])) as server:
        answers = result if gives else lambda message: []
        talk = await hold(server, until=is_over, answers=answers, asked=body(selectedTools=[tool]))
        assert len(server.parties[0].results) == gives
    assert len(talk.audio) == 4800


@pytest.mark.parametrize(
    ("quirks", "key", "asked", "status"),
    [
        (Quirks(), None, BODY, 403),
        (Quirks(), "wrong", BODY, 401),
        (Quirks(), UltravoxServer.KEY, body(model="ultravox-v9"), 400),
        (Quirks(), UltravoxServer.KEY, body(instructions="Be short."), 400),
        (Quirks(), UltravoxServer.KEY, body(maxDuration="10m"), 400),
        (Quirks(), UltravoxServer.KEY, body(medium={"serverWebSocket": {}}), 400),
        (Quirks(refuses=402), UltravoxServer.KEY, BODY, 402),
        (Quirks(refuses=429), UltravoxServer.KEY, BODY, 429),
        (Quirks(refuses=503), UltravoxServer.KEY, BODY, 503),
    ],
)
async def test_what_the_vendor_refuses(quirks: Quirks, key: str | None, asked: Mapping[str, Any], status: int) -> None:
    headers = {} if key is None else {"X-API-Key": key}
    with UltravoxServer(quirks) as server:
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(server.url("http") + "/api/calls", json=asked) as response,
        ):
            assert (response.content_type, response.status) == ("application/json", status)


async def test_an_address_to_join_works_once_and_a_call_that_is_over_says_why() -> None:
    with UltravoxServer(quick()) as server:
        await hold(server, until=is_over)
        (number,) = server.calls
        async with aiohttp.ClientSession(headers={"X-API-Key": UltravoxServer.KEY}) as session:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await session.ws_connect(server.url("ws") + f"/calls/{number}/server_web_socket?token=once")
            async with session.get(f"{server.url('http')}/api/calls/{number}") as response:
                assert (await response.json())["endReason"] == "hangup"
