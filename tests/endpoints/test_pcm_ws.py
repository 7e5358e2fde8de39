"""The plain WebSocket contract, over real sockets: kept, stretched and broken."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fakes.parties import Caller
from fakes.pcm_server import Call, PcmServer, Script, frames, hang
from helpers.conformance import TURN, Heard, Recovery, assert_leaves_nothing, hold, numbered, silence, tone
from helpers.patience import PATIENCE_S

from fdbcore.clock import MonotonicClock, now_ns
from fdbcore.endpoints.frames import MOST_UNSENT_FRAMES
from fdbcore.endpoints.pcm_ws import PcmWs
from fdbcore.errors import PartyError, SettingsError
from fdbcore.registry import endpoint
from fdbcore.runs.plan import PlannedSystem, make_plan
from fdbcore.runtime.network import await_result
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_BYTES, FRAME_SAMPLES, Happening, User


@contextmanager
def talking(script: Script, timeout_s: float = 10) -> Iterator[tuple[PcmWs, PcmServer]]:
    """An open party and its system."""
    with PcmServer(script) as server:
        party = PcmWs(server.address, timeout_s)
        try:
            party.open("B")
            yield party, server
        finally:
            party.close()


def spoken(heard: Heard) -> list[int]:
    """Which of the fake's numbered frames were said."""
    return [int(frame[0]) for frame in heard.frames if frame.any()]


def events(heard: Heard) -> list[Happening]:
    return [happening for happening in heard.happenings if happening.kind == "event"]


def test_the_greeting_and_the_farewell() -> None:
    async def listen(call: Call) -> None:
        await call.ready(version=1, sample_rate_hz=48_000, settings={"model": "m1"})
        await call.listen_to_the_end()

    with talking(listen) as (party, server):
        hold(party, 5)
        assert party.describe() == {
            "kind": "pcm_ws",
            "address": server.address,
            "version": 1,
            "clocking": "burst",
            "step_ms": 10,
            "turns": False,
            "timeout_s": 10,
            "settings": {"model": "m1"},
        }
    (call,) = server.calls
    hello = {"type": "hello", "version": 1, "side": "B", "sample_rate_hz": 48_000, "channels": 1, "frame_samples": 480}
    assert call.hello == hello
    assert call.heard == [tone(tick).tobytes() for tick in range(5)]
    assert call.events == [{"type": "bye", "reason": "closed"}]


@pytest.mark.parametrize("clocking", ["input", "burst"])
def test_whether_a_virtual_clock_can_drive_it_is_known_once_it_is_ready(tmp_path: Path, clocking: str) -> None:
    async def echo(call: Call) -> None:
        await call.ready(clocking=clocking)
        async for frame in call.listen():
            await call.say([frame])

    settings = LiveSettings(vad="energy", realtime=False)
    with PcmServer(echo) as server:
        plan = make_plan([PlannedSystem.of(server.address)], [User("", "echo")], settings)
        party = endpoint(plan.cases[0].system.address)
        if clocking == "input":
            held = converse(Caller([tick % 50 >= 20 for tick in range(100)]), party, tmp_path, settings, {}, Event())
            assert (held.n_ticks, held.meta["outcome"]["kind"]) == (100, "done")
        else:
            with pytest.raises(SettingsError, match="cannot drive side B, which follows burst"):
                converse(Caller([tick % 50 >= 20 for tick in range(100)]), party, tmp_path, settings, {}, Event())


@pytest.mark.live
def test_live_a_hold_up_of_150_ms_does_not_stay() -> None:
    async def echo(call: Call) -> None:
        await call.ready(clocking="input")
        async for frame in call.listen():
            if len(call.heard) == 100:
                await asyncio.sleep(0.15)
            await call.say([frame])

    recovery = Recovery()
    with talking(echo) as (party, _):
        hold(party, 3000, MonotonicClock(spin_ns=0), numbered, recovery)
    assert recovery.is_over


def test_turn_events_are_for_those_who_ask() -> None:
    async def ask(call: Call) -> None:
        await call.ready(turns=True)
        await call.listen_to_the_end()

    with talking(ask) as (party, server):
        hold(party, 10)
    assert server.calls[0].events[0] == {"type": "turn", "event": TURN.to_json()}


def test_what_is_said_is_what_was_sent() -> None:
    async def answer_once(call: Call) -> None:
        await call.say(frames(3))  # nobody listens yet
        await call.ready()
        async for _ in call.listen():
            if len(call.heard) == 1:
                await call.say(frames(20, first=100))
                await call.tell("text", text="héllo", tick=3)
                await call.tell("bye")

    with talking(answer_once) as (party, _):
        heard = hold(party, 200, speech=silence)
        assert heard.ended
        assert party.left == "finished"
        assert spoken(heard) == list(range(100, 120))
        assert [h.fields for h in events(heard)] == [{"name": "text", "data": {"text": "héllo", "tick": 3}}]
        measured = party.measured()
    assert measured["heard_samples"] == measured["received_samples"] == 20 * FRAME_SAMPLES
    assert measured["dropped_samples"] == 3 * FRAME_SAMPLES
    assert measured["wire"]["n"] > 0


async def close_with_a_reason(call: Call) -> None:
    await call.ws.close(code=1011, message=b"out of\nmemory")


async def send_short(call: Call) -> None:
    await call.say([bytes(FRAME_BYTES - 1)])


async def send_cd_audio(call: Call) -> None:
    await call.say([bytes(1764)])


async def send_stereo(call: Call) -> None:
    await call.say([bytes(2 * FRAME_BYTES)])


async def send_nothing_at_length(call: Call) -> None:
    await call.say([b""])


async def send_too_much(call: Call) -> None:
    await call.say([bytes(1 << 20)])


async def flood(call: Call) -> None:
    await call.say(frames(1) * 20_000)


async def crash(call: Call) -> None:
    call.break_off()


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (close_with_a_reason, "closed by the system: 1011 out of memory"),
        (send_short, "sent a frame of 959 bytes, expected 960 (10 ms of 48000 Hz mono, 16 bit)"),
        (
            send_cd_audio,
            "sent a frame of 1764 bytes, expected 960 (10 ms of 48000 Hz mono, 16 bit); 44100 Hz stereo would have it",
        ),
        (
            send_stereo,
            "sent a frame of 1920 bytes, expected 960 (10 ms of 48000 Hz mono, 16 bit); 48000 Hz stereo would have it",
        ),
        (send_nothing_at_length, "sent a frame of 0 bytes, expected 960 (10 ms of 48000 Hz mono, 16 bit)"),
        (send_too_much, "broke the WebSocket protocol: Message size 1048576 exceeds limit 65536"),
        (flood, "sent 60 s of audio more than was played"),
        (crash, "the connection was lost"),
    ],
)
def test_a_fault_has_a_name_and_loses_nothing_before_it(fault: Script, left: str) -> None:
    async def speak_and_fail(call: Call) -> None:
        await call.ready()
        async for _ in call.listen():
            if len(call.heard) == 1:
                await call.say(frames(10, first=100))
            if len(call.heard) == 5:
                await fault(call)

    def converse() -> None:
        with talking(speak_and_fail) as (party, _):
            heard = hold(party, 300, enough=lambda heard: bool(party.left) and len(spoken(heard)) >= 10)
            assert party.left == left
            assert spoken(heard)[:10] == list(range(100, 110))

    assert_leaves_nothing(converse)


@pytest.mark.parametrize("reads", [True, False])
def test_who_stops_reading_is_noticed_and_not_waited_for(reads: bool) -> None:
    async def listen_or_not(call: Call) -> None:
        await call.ready()
        await (call.listen_to_the_end() if reads else hang(call))

    def converse() -> None:
        with talking(listen_or_not) as (party, _):
            party.start(now_ns())
            for tick in range(15_000):
                party.hear(tick, tone(tick))
                if tick % 20 == 0:  # the network keeps up, although this is faster than real time
                    await_result(asyncio.sleep(0.001), PATIENCE_S)
                if party.say(tick) is None or (reads and tick == 2000):
                    break
            seconds = MOST_UNSENT_FRAMES // 100
            assert party.left == (None if reads else f"stopped reading: {seconds} s of audio wait to be sent")

    assert_leaves_nothing(converse)


HOSTILE = [
    "",
    "{",
    "[]",
    "null",
    '"flush"',
    '{"type": 3}',
    '{"text": "no type"}',
    '{"type": "x", "v": NaN}',
    '{"type": "x", "v": -Infinity}',
    '{"type": "x", "v": 1e999}',
    '{"type": "x", "v": "\\ud800"}',
    '{"type": "\\udfff"}',
    '{"type": "x", "\\ud800": 1}',
    '{"type": "x", "v": ' + "9" * 5000 + "}",
    '{"type": "x", "v": ' + "[" * 40 + "]" * 40 + "}",
    "[" * 30_000,
    '{"a":' * 10_000,
]


def test_what_is_no_event_is_logged_as_such_and_changes_nothing() -> None:
    async def babble(call: Call) -> None:
        await call.ready()
        async for _ in call.listen():
            if len(call.heard) == 1:
                for text in HOSTILE:
                    await call.ws.send_str(text)
                await call.tell("end")
                await call.say(frames(2))

    with talking(babble) as (party, _):
        heard = hold(party, 300, enough=lambda heard: any(h.fields.get("name") == "end" for h in heard.happenings))
        logged = [h.fields for h in events(heard)]
        assert [fields["name"] for fields in logged] == ["not an event"] * len(HOSTILE) + ["end"]
        assert [fields["data"] for fields in logged][:3] == HOSTILE[:3]
        assert all(len(fields["data"]) <= 200 for fields in logged)
        assert party.left is None


@pytest.mark.parametrize(
    ("ready", "message"),
    [
        ({"sample_rate_hz": 44_100}, "ready: expected sample_rate_hz 48000, got 44100"),
        ({"channels": 2}, "ready: expected channels 1, got 2"),
        ({"frame_samples": 960}, "ready: expected frame_samples 480, got 960"),
        ({"version": 2}, "ready: expected version 1, got 2"),
        ({"clocking": "tick"}, "ready: clocking: expected one of input, burst, realtime, got 'tick'"),
        ({"clocking": ["input"]}, "ready: clocking: expected one of"),
        ({"clocking": "input", "step_ms": 15}, "ready: step_ms: expected a multiple of 10"),
        ({"turns": "yes"}, "ready: expected turns to be true or false"),
        ({"settings": []}, "and settings an object"),
    ],
)
def test_terms_that_cannot_be_met(ready: dict[str, Any], message: str) -> None:
    async def demand(call: Call) -> None:
        await call.ready(**ready)
        await call.listen_to_the_end()

    with pytest.raises(PartyError) as error, talking(demand):
        pass
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not error.value.transient


async def close_busy(call: Call) -> None:
    await call.ws.close(code=1013, message=b"one at a time")


async def close_for_good(call: Call) -> None:
    await call.ws.close(code=1008, message=b"who are you")


async def greet_in_prose(call: Call) -> None:
    await call.ws.send_str("ready when you are\n")
    await hang(call)


@pytest.mark.parametrize(
    ("script", "status", "message", "transient"),
    [
        (close_busy, 101, "closed by the system: 1013 one at a time before `ready`", True),
        (close_for_good, 101, "closed by the system: 1008 who are you before `ready`", False),
        (crash, 101, "the connection was lost before `ready`", False),
        (send_short, 101, "sent a frame of 959 bytes, expected 960 (10 ms of 48000 Hz mono, 16 bit)", False),
        (greet_in_prose, 101, "expected a JSON object with a type, got 'ready when you are\\n'", False),
        (hang, 101, "no `ready` within 0.3 s", True),
        (hang, 503, "refused with HTTP 503", True),
        (hang, 401, "refused with HTTP 401", False),
    ],
)
def test_who_cannot_be_had_says_why_and_whether_to_come_again(
    script: Script, status: int, message: str, transient: bool
) -> None:
    with PcmServer(script, status=status) as server:
        party = PcmWs(server.address, timeout_s=0.3 if "0.3" in message else 10)
        with pytest.raises(PartyError) as error:
            party.open("B")
        party.close()
    assert str(error.value) == f"{server.address}: {message}"
    assert error.value.transient == transient


def test_nobody_there() -> None:
    with PcmServer(hang) as server:
        address = server.address
    party = PcmWs(address)
    with pytest.raises(PartyError, match="cannot connect") as error:
        party.open("B")
    party.close()
    assert "\n" not in str(error.value)
    assert error.value.transient


def test_after_a_crash_the_next_conversation_is_whole() -> None:
    calls = 0

    async def crash_once(call: Call) -> None:
        nonlocal calls
        calls += 1
        await call.ready()
        async for _ in call.listen():
            await call.say(frames(1, first=len(call.heard)))
            if calls == 1 and len(call.heard) == 3:
                call.break_off()

    with PcmServer(crash_once) as server:
        ends = []
        for _ in range(2):
            party = PcmWs(server.address)
            party.open("B")
            ends.append(hold(party, 50).ended)
            party.close()
    assert ends == [True, False]
    assert len(server.calls[1].heard) == 50


@pytest.mark.parametrize("trusted", [True, False])
def test_tls(certificate: Path, tls: ssl.SSLContext, trusted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(call: Call) -> None:
        await call.ready(clocking="input")
        async for frame in call.listen():
            await call.say([frame])

    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with PcmServer(answer, tls) as server:
        party = PcmWs(server.address)
        if trusted:
            party.open("B")
            assert hold(party, 20).audio.any()
        else:
            with pytest.raises(PartyError, match=r"cannot connect.*certificate") as error:
                party.open("B")
            assert "\n" not in str(error.value)
            assert not error.value.transient
        party.close()


@pytest.mark.parametrize(
    "address",
    ["pcm_ws", "pcm_ws:", "pcm_ws://", "pcm_ws:///talk", "pcm_ws://h:word", "pcm_ws://u:pass-word@h:70000", "ws://h"],
)
def test_an_address_that_leads_nowhere(address: str) -> None:
    with pytest.raises(SettingsError, match="expected pcm_ws://host:port/path") as error:
        PcmWs(address)
    assert "word" not in str(error.value)
