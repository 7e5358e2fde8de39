"""One system that tells without end fails by name, and leaves its neighbours alone."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from fakes.parties import Caller
from fakes.pcm_server import Call, PcmServer
from helpers.conformance import hold
from helpers.exec_scripts import script
from helpers.patience import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.clock import VirtualClock
from fdbcore.endpoints.frames import MOST_EARLY_EVENTS
from fdbcore.endpoints.moshi_connection import MoshiConnection
from fdbcore.endpoints.pcm_ws import MOST_GREETINGS, PcmWs
from fdbcore.endpoints.playout import Playout
from fdbcore.endpoints.webrtc.seats import LOGGED_REFUSALS_AT_ONCE, Refusal
from fdbcore.endpoints.webrtc.signalling import SignallingServer
from fdbcore.errors import PartyError
from fdbcore.recording.files import EVENTS
from fdbcore.recording.floods import (
    MOST_BYTES,
    MOST_BYTES_AT_ONCE,
    MOST_EVENTS,
    MOST_EVENTS_AT_ONCE,
    MOST_EVENTS_PER_S,
    EventAllowance,
    TokenBucket,
)
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.runtime.network import await_result
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_BYTES

SPEAKS = [tick % 50 >= 20 for tick in range(300)]
OFTEN = "floods: more than 1000 events a second"
MUCH = "floods: more than 1 MB of events a second"


def called(system: str, path: Path, realtime: bool = True) -> Recording:
    settings = LiveSettings(vad="energy", realtime=realtime, spin_ns=0)
    return converse(Caller(SPEAKS), endpoint(system), path, settings, {}, Event())


async def echo(call: Call) -> None:
    await call.ready(clocking="input")
    async for frame in call.listen():
        await call.say([frame])


@contextmanager
def flooding(text: str) -> Iterator[str]:
    """The address of a system in another process that echoes, and after half a second sends `text` without end."""
    command = (sys.executable, str(Path(__file__).parents[1] / "fakes" / "flooding_server.py"), text)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"pcm_ws://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("text", "reason"),
    [('{"type": "x"}', OFTEN), ("no event", OFTEN), (json.dumps({"type": "text", "text": "x" * 60_000}), MUCH)],
)
def test_a_server_that_floods_fails_and_its_neighbours_do_not(tmp_path: Path, text: str, reason: str) -> None:
    with flooding(text) as bad, PcmServer(echo) as good, ThreadPoolExecutor(4) as pool:
        addresses = [bad, good.address, good.address, good.address]
        held = list(pool.map(called, addresses, [tmp_path / str(number) for number in range(4)]))
    outcome = held[0].meta["outcome"]
    assert (outcome["kind"], outcome["side"], outcome["reason"]) == ("failed", "B", reason)
    assert (held[0].path / EVENTS).stat().st_size < 3 * MOST_BYTES_AT_ONCE
    assert not any(one.meta["outcome"]["kind"] == "failed" for one in held[1:])
    told = [event for event in held[0].events if event["kind"] == "event"]
    assert len(told) <= MOST_EVENTS_AT_ONCE + 10 * MOST_EVENTS_PER_S


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("'api_key=' + 'key' * 150 + '\\n'", OFTEN),
        ("'x' * 20_000_000", OFTEN),
        pytest.param("'\\n'", None, marks=pytest.mark.live),
    ],
)
def test_a_command_that_floods_its_standard_error_fails(tmp_path: Path, line: str, reason: str | None) -> None:
    code = f"n = 0\nwhile len(f := sys.stdin.buffer.read({FRAME_BYTES})) == {FRAME_BYTES}:\n    write(f)\n    n += 1\n"
    code += f"    if n == 50:\n        for _ in range(20_000): sys.stderr.write({line})\n"
    held = called(script(code), tmp_path)
    assert (held.meta["outcome"]["kind"], held.meta["outcome"]["reason"]) == ("failed" if reason else "done", reason)
    assert (held.path / EVENTS).stat().st_size < 3 * MOST_BYTES_AT_ONCE


def test_in_lockstep_a_flood_ends_at_the_same_tick_in_every_run(tmp_path: Path) -> None:
    async def chatter(call: Call) -> None:
        await call.ready(clocking="input")
        async for frame in call.listen():
            for _ in range(30):  # 3000 a second
                await call.tell("x")
            await call.say([frame])

    with PcmServer(chatter) as server:
        held = [called(server.address, tmp_path / str(number), realtime=False) for number in range(2)]
    assert held[0].meta["outcome"]["reason"] == OFTEN
    assert held[0].n_ticks == held[1].n_ticks == 100
    assert held[0].events == held[1].events


def test_what_a_command_tells_while_it_loads_is_cut_and_no_failure(tmp_path: Path) -> None:
    code = "for n in range(5000): print(n, file=sys.stderr)\n"
    code += f"while len(f := sys.stdin.buffer.read({FRAME_BYTES})) == {FRAME_BYTES}: write(f)"
    held = called(script(code), tmp_path, realtime=False)
    assert held.meta["outcome"]["kind"] == "done"
    lost = sum(event["count"] for event in held.events if event["kind"] == "events_lost")
    lines = [event["data"] for event in held.events if event.get("name") == "stderr"]
    assert lines[:MOST_EARLY_EVENTS] == [str(n) for n in range(MOST_EARLY_EVENTS)]
    assert len(lines) + lost == 5000


def test_a_flood_before_it_is_ready_is_no_greeting() -> None:
    async def flood(call: Call) -> None:
        while True:
            await call.tell("x")

    with PcmServer(flood) as server:
        party = PcmWs(server.address)
        with pytest.raises(PartyError, match=f"floods: {MOST_GREETINGS} messages before `ready`"):
            party.open("B")
        party.close()


def test_a_flood_of_words_ends_a_moshi_server() -> None:
    line = MoshiConnection("ws://nowhere", Playout())
    for _ in range(MOST_EVENTS_AT_ONCE + 10 * MOST_EVENTS_PER_S):
        line._take_text(b"word")  # as its messages do, which come no faster than the network
    assert line.ended == OFTEN


def test_refusals_are_told_up_to_a_rate_and_then_counted(caplog: pytest.LogCaptureFixture) -> None:
    server = SignallingServer()
    with caplog.at_level(logging.WARNING):
        for number in range(1000):
            server.turn_away("somebody", Refusal(403, f"no {number}"))
        await_result(server.stop(), PATIENCE_S)
    told = [record.getMessage() for record in caplog.records]
    assert LOGGED_REFUSALS_AT_ONCE < len(told) < LOGGED_REFUSALS_AT_ONCE + 10
    counted = [int(line.split()[0]) for line in told if "more were turned away" in line]
    assert len(told) - len(counted) + sum(counted) == 1000
    assert server.last_refusal == "no 999"


@given(
    per_s=st.floats(1, 1000),
    at_once=st.floats(1, 100),
    pauses_ns=st.lists(st.integers(0, 10**9), min_size=1, max_size=100),
)
def test_a_bucket_lets_through_its_rate_and_no_more(per_s: float, at_once: float, pauses_ns: list[int]) -> None:
    bucket, now_ns, passed = TokenBucket(per_s, at_once), 0, []
    for pause_ns in pauses_ns:
        now_ns += pause_ns
        if bucket.take(now_ns):
            passed.append(now_ns)
    assert passed[0] == pauses_ns[0]
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            assert last - first + 1 <= at_once + per_s * (passed[last] - passed[first]) / 1e9 + 1e-6
    assert bucket.take(now_ns + 10**9)


def test_what_one_may_tell_in_all() -> None:
    for size_bytes, count, what in ((10, MOST_EVENTS, "200,000 events"), (1000, MOST_BYTES // 1000, "64 MB of events")):
        allowance = EventAllowance()
        told = [allowance.take(n * 2_000_000, size_bytes) for n in range(count + 1)]
        assert told[:-1] == [None] * count
        assert told[-1] == f"floods: more than {what} in a call"


def test_an_event_a_tick_is_no_flood() -> None:
    async def talkative(call: Call) -> None:
        await call.ready(clocking="input")
        async for frame in call.listen():
            await call.say([frame])
            for _ in range(9):
                await call.tell("text", text="word")

    with PcmServer(talkative) as server:
        party = PcmWs(server.address)
        party.open("B")
        heard = hold(party, 500, VirtualClock())
        party.close()
    assert not heard.ended
    assert len([h for h in heard.happenings if h.kind == "event"]) >= 9 * 490
