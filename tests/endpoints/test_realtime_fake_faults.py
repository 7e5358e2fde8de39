"""What goes wrong with the fake of OpenAI's realtime interface when a test asks for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fakes.realtime.checks import check
from fakes.realtime_server import RATE_HZ, Faults, Plan, RealtimeServer, Reply
from helpers.realtime_talk import QUICK, SOUND, TYPES, Talk, hold, talking
from openai import AsyncOpenAI
from websockets.exceptions import InvalidStatus

ENDINGS = [
    ("insufficient_quota", "failed", "insufficient_quota"),
    ("rate_limit_exceeded", "failed", "rate_limit_exceeded"),
    ("server_error", "failed", "server_error"),
    ("content_filter", "incomplete", "content_filter"),
    ("max_output_tokens", "incomplete", "max_output_tokens"),
]


@pytest.mark.parametrize(("ends", "status", "why"), ENDINGS)
def test_replies_that_fail(ends: Any, status: str, why: str) -> None:
    async def script(talk: Talk) -> None:
        await talk.turn()
        await talk.until("response.done")
        await talk.turn()
        await talk.until("response.done")

    talk = hold(RealtimeServer(Plan([Reply("Well", ends=ends), Reply("Again.")], pace=QUICK)), script)
    first, second = (event["response"] for event in talk.all("response.done"))
    details = first["status_details"]
    assert (first["status"], details["type"]) == (status, status)
    assert why in (details.get("reason"), details.get("error", {}).get("code"), details.get("error", {}).get("type"))
    assert second["status"] == "completed"
    if ends == "rate_limit_exceeded":
        assert "Please try again in 1.3s" in details["error"]["message"]


@pytest.mark.parametrize(("status", "after_s"), [(401, None), (403, None), (429, 2.5), (429, None), (503, 1.0)])
def test_refused_at_the_upgrade(status: int, after_s: float | None) -> None:
    server = RealtimeServer(faults=Faults(http_status=status, retry_after_s=after_s, refused=1))

    async def script(talk: Talk) -> None:
        await talk.until("session.created")

    async def refused() -> None:
        with pytest.raises(InvalidStatus) as raised:
            async with talking(server):
                pass
        response = raised.value.response
        assert (response.status_code, response.headers.get("Retry-After")) == (status, after_s and f"{after_s:g}")
        async with talking(server) as talk:
            await script(talk)

    with server:
        asyncio.run(refused())
    assert [request.path for request in server.asked] == ["/v1/realtime"] * 2


@pytest.mark.parametrize("dialect", ["openai", "grok", "azure"])
def test_a_wrong_key_is_refused(dialect: str) -> None:
    server = RealtimeServer(dialect=dialect)

    async def refused() -> None:
        with pytest.raises(InvalidStatus) as raised:
            async with talking(server, key="sk-another-key-000000", headers={}):
                pass
        assert raised.value.response.status_code == 401
        assert json.loads(raised.value.response.body or b"")["error"]["code"] == "invalid_api_key"

    with server:
        asyncio.run(refused())
    assert server.sessions == []


TURNED_AWAY: list[tuple[dict[str, Any], Faults, str]] = [
    ({"headers": {"OpenAI-Beta": "realtime=v1"}}, Faults(), "beta_api_shape_disabled"),
    ({"model": "gpt-realtime-9"}, Faults(), "model_not_found"),
    ({"model": "gpt-live-1"}, Faults(), "invalid_model"),
    ({}, Faults(at_once="insufficient_quota"), "insufficient_quota"),
]


@pytest.mark.parametrize(("options", "faults", "code"), TURNED_AWAY)
def test_turned_away_after_the_upgrade(options: dict[str, Any], faults: Faults, code: str) -> None:
    async def script(talk: Talk) -> None:
        end = await talk.ended()
        assert end.rcvd is not None
        assert (end.rcvd.code, end.rcvd.reason) == (4000, f"invalid_request_error.{code}")

    talk = hold(RealtimeServer(faults=faults), script, **options)
    assert talk.types == ["error"]
    check(talk.events[0], TYPES["error"])
    assert talk.events[0]["error"]["code"] == code


@pytest.mark.parametrize("code", [1006, 1011])
def test_it_breaks_off_in_the_middle_of_a_sentence(code: int) -> None:
    async def script(talk: Talk) -> None:
        await talk.turn()
        end = await talk.ended()
        assert (end.rcvd.code if end.rcvd else 1006) == code

    plan = Plan([Reply("one two three four", cut_at_ms=600, cut_by=code)], pace=QUICK)
    talk = hold(RealtimeServer(plan), script)
    assert talk.types[-1] == SOUND
    assert len(talk.heard(talk.all(SOUND)[0]["item_id"])) == 0.6 * RATE_HZ


def test_a_session_ends_at_its_cap() -> None:
    async def script(talk: Talk) -> None:
        end = await talk.ended()
        assert end.rcvd is not None
        assert (end.rcvd.code, end.rcvd.reason) == (1001, "Your session hit the maximum duration of 60 minutes.")

    server = RealtimeServer(faults=Faults(cap_s=0.2))
    talk = hold(server, script)
    assert talk.all("error")[0]["error"]["code"] == "session_expired"
    assert server.sessions[0].closed == (1001, "Your session hit the maximum duration of 60 minutes.")


def test_it_says_nothing_at_all() -> None:
    async def script(talk: Talk) -> None:
        await talk.client.session.update(session={"type": "realtime"})
        await talk.turn()
        await talk.until("conversation.item.done")
        await asyncio.sleep(0.1)

    talk = hold(RealtimeServer(faults=Faults(mute={"greeting", "updates", "replies"})), script)
    assert talk.types[-1] == "conversation.item.done"
    assert not any(kind.startswith(("session", "response")) for kind in talk.types)


def test_garbage_comes_between_what_can_be_read() -> None:
    server = RealtimeServer(Plan([Reply("Good day.")], pace=QUICK), faults=Faults(garbage=True))
    frames: list[bytes] = []

    async def run() -> None:
        async with AsyncOpenAI(api_key=server.key, base_url=server.base_url) as client:
            async with client.realtime.connect(model=server.model) as connection:
                await connection.response.create()
                while not frames or b'"response.done"' not in frames[-1]:
                    frames.append(await connection.recv_bytes())

    with server:
        asyncio.run(asyncio.wait_for(run(), 10))
    kinds = []
    for frame in frames:
        try:
            kinds.append(json.loads(frame))
        except ValueError:
            kinds.append("unreadable")
    assert kinds.count("unreadable") == 2
    assert [] in kinds
    assert server.sessions[0].told("response.done")[0]["response"]["status"] == "completed"


def test_input_that_nobody_can_read_is_answered_and_the_session_lives_on() -> None:
    async def script(talk: Talk) -> None:
        for data in ('{"type":', "[1]", '{"type":"input_audio_buffer.push"}'):
            await talk.client._connection.send(data)
        await talk.client.input_audio_buffer.append(audio="!!", event_id="mine")
        for _ in range(4):
            await talk.until("error")
        await talk.turn()
        await talk.until("response.done")

    server = RealtimeServer(Plan(pace=QUICK))
    with server:

        async def run() -> Talk:
            async with talking(server) as talk:
                await script(talk)
            return talk

        talk = asyncio.run(run())
    codes = [event["error"]["code"] for event in talk.all("error")]
    assert codes == ["invalid_json", "missing_required_parameter", "invalid_value", "invalid_value"]
