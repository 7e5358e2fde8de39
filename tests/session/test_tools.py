"""Tool calls on the loop: when each result comes, and what becomes of each call that goes wrong."""

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
from fakes.parties import Caller
from fakes.worlds import Customer, Shop, call
from helpers.conformance import assert_leaves_nothing

from fdbcore.errors import SettingsError
from fdbcore.recording.files import EVENTS
from fdbcore.recording.reader import Recording
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.session.tools import MOST_AT_ONCE, ToolDesk
from fdbcore.types.tools import ToolCall

Does = Mapping[int, Sequence[ToolCall]]


def stepped(
    world: Shop, does: Does, n_ticks: int = 100, lockstep: bool = True
) -> tuple[Customer, list[dict[str, Any]]]:
    """What a party got, and the events, of so many ticks as fast as they go (in lockstep) or of 2 ms each."""
    party = Customer(does, n_ticks)
    desk = ToolDesk(world, party, "seed", lockstep)
    happened = []
    for tick in range(n_ticks):
        happened += desk.step(tick)
        time.sleep(0 if lockstep else 0.002)
    happened += desk.finish(n_ticks)
    desk.close()
    return party, [{"tick": tick, "kind": kind, **fields} for tick, kind, fields in happened]


def results(party: Customer) -> list[tuple[int, str, str, Any]]:
    return [(tick, result.id, result.status, result.value) for tick, result in party.results]


@pytest.mark.parametrize(("latency_ticks", "comes"), [(0, 6), (1, 6), (2, 7), (40, 45)])
def test_a_result_comes_after_its_latency_and_not_in_the_tick_of_the_call(latency_ticks: int, comes: int) -> None:
    does = {5: [call("1", "add", {"item": "tea"})]}
    items = {"items": [{"name": "tea", "count": 1}]}
    ((tick, *result),) = results(stepped(Shop([latency_ticks]), does, lockstep=False)[0])
    assert tick >= comes
    assert result == ["1", "ok", items]
    party, events = stepped(Shop([latency_ticks]), does)
    assert results(party) == [(comes, "1", "ok", items)]
    common = {"id": "1", "name": "add"}
    drawn = {"arguments": {"item": "tea"}, "latency_ms": 10 * latency_ticks}
    assert events == [
        {"tick": 5, "kind": "tool_call", **common, "stage": "begun"},
        {"tick": 5, "kind": "tool_call", **common, "stage": "complete", **drawn},
        {"tick": comes, "kind": "tool_result", **common, "status": "ok", "result": items},
    ]


def test_a_call_that_begins_before_its_arguments_are_complete() -> None:
    does = {3: [ToolCall("begun", "1", "add")], 8: [call("1", "add", {"item": "tea", "count": 2})]}
    party, events = stepped(Shop([4]), does)
    assert [(event["tick"], event.get("stage")) for event in events] == [(3, "begun"), (8, "complete"), (12, None)]
    assert events[1]["arguments"] == {"item": "tea", "count": 2}
    assert results(party)[0][2:] == ("ok", {"items": [{"name": "tea", "count": 2}]})


def test_parallel_calls_run_in_their_order_and_come_back_as_their_latencies_say() -> None:
    does = {5: [call(str(n), "add", {"item": name}) for n, name in enumerate(("tea", "milk", "rice"))]}
    party, _ = stepped(Shop([30, 10, 20]), does)
    assert [(tick, number, len(value["items"])) for tick, number, _, value in results(party)] == [
        (15, "1", 2),
        (25, "2", 3),
        (35, "0", 1),
    ]


@pytest.mark.parametrize(
    ("made", "status", "reason"),
    [
        (call("1", "ad", {"item": "tea"}), "unknown", "expected one of add, basket, .*, got 'ad'; perhaps add"),
        (call("1", "add", "{item: tea"), "malformed", "expected an object as JSON, got '{item: tea'"),
        (call("1", "add", "[" * 50_000), "malformed", "expected an object as JSON, got"),
        (call("1", "add", ["tea"]), "malformed", r"\['tea'\] is not of type 'object'"),
        (call("1", "add", {}), "malformed", "'item' is a required property"),
        (call("1", "add", {"item": "tea", "count": "2"}), "malformed", "^count: '2' is not of type 'integer'"),
        (call("1", "add", {"item": "tea", "size": 2}), "malformed", "'size' was unexpected"),
        (call("1", "fail"), "error", "^ValueError: sold out$"),
        (call("1", "odd"), "error", "^TypeError: .*set is not JSON serializable"),
        (call("1", "big"), "error", "its result has 300002 bytes, more than 262144"),
    ],
)
def test_a_call_that_fails_is_answered_after_the_same_latency(made: ToolCall, status: str, reason: str) -> None:
    party, events = stepped(Shop([20]), {5: [made]})
    ((tick, _, found, value),) = results(party)
    assert (tick, found) == (25, status)
    assert isinstance(value, str)
    assert len(value) <= 300
    assert re.search(reason, value)
    assert events[-1] == {"tick": 25, "kind": "tool_result", **party.results[0][1].to_json()}
    json.dumps(events, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize("latency_ticks", [3, 500])
def test_a_tool_that_takes_too_long_has_failed_when_its_time_is_over(lockstep: bool, latency_ticks: int) -> None:
    """Whether the tool itself takes too long, or its latency."""
    world = Shop([latency_ticks], timeout_s=0.2)
    name = "wait" if latency_ticks == 3 else "basket"
    party, _ = stepped(world, {5: [call("1", name)]}, 60, lockstep)
    assert results(party) == [(25, "1", "timeout", "it took longer than 0.2 s")]


def test_live_nobody_waits_for_a_slow_tool() -> None:
    class Slow(Shop):
        async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
            await asyncio.sleep(0.05)
            return "at last"

    party, _ = stepped(Slow([1]), {5: [call("1", "basket")]}, 500, lockstep=False)
    ((tick, _, status, value),) = results(party)
    assert (status, value) == ("ok", "at last")
    assert tick >= 15  # 2 ms and more a tick


def test_a_cancelled_call_gets_no_result_but_what_it_did_stays() -> None:
    world = Shop([20, 20])
    does = {
        5: [call("1", "add", {"item": "tea"}), call("2", "basket")],
        10: [ToolCall("cancelled", "1"), ToolCall("cancelled", "nobody")],
        50: [ToolCall("cancelled", "2")],
    }
    party, events = stepped(world, does)
    assert results(party) == [(25, "2", "ok", {"tea": 1})]
    cancelled = [event for event in events if event.get("stage") == "cancelled"]
    assert [(event["tick"], event["id"], event["name"]) for event in cancelled] == [
        (10, "1", "add"),
        (10, "nobody", ""),
        (50, "2", "basket"),
    ]
    assert world.basket == {"tea": 1}


def test_an_id_that_is_used_again_is_malformed() -> None:
    does = {5: [call("1", "add", {"item": "tea"})], 20: [call("1", "add", {"item": "tea"})]}
    world = Shop()
    party, events = stepped(world, does)
    assert [(tick, status) for tick, _, status, _ in results(party)] == [(6, "ok"), (21, "malformed")]
    assert results(party)[1][3] == "the id 1 was used before"
    assert [event["stage"] for event in events if event["kind"] == "tool_call"] == ["begun", "complete"] * 2
    assert world.basket == {"tea": 1}


def test_too_many_calls_at_once_fail() -> None:
    does = {5: [call(str(n), "basket") for n in range(MOST_AT_ONCE + 1)]}
    party, _ = stepped(Shop([20] * 100), does)
    assert [status for _, _, status, _ in results(party)] == ["ok"] * MOST_AT_ONCE + ["error"]
    assert results(party)[-1][3] == "64 calls are under way"


@pytest.mark.parametrize("lockstep", [True, False])
def test_a_result_that_is_not_due_before_the_end_is_not_given(lockstep: bool) -> None:
    does = {5: [call("1", "wait"), ToolCall("begun", "2", "add")], 6: [call("3", "add", {"item": "tea"})]}
    world = Shop([0, 900], timeout_s=0.3)
    party, events = stepped(world, does, 20, lockstep)
    assert results(party) == []
    reason = "the conversation ended before the result was due"
    assert events[-2:] == [
        {"tick": 20, "kind": "tool_result", "id": "1", "name": "wait", "status": "ended", "error": reason},
        {"tick": 20, "kind": "tool_result", "id": "3", "name": "add", "status": "ended", "error": reason},
    ]
    assert world.basket == {"tea": 1}


def test_what_a_world_gave_is_not_what_it_changes_later() -> None:
    does = {5: [call("1", "basket")], 10: [call("2", "add", {"item": "tea"})]}
    party, events = stepped(Shop(), does)
    assert results(party)[0][3] == {} == events[2]["result"]


def test_a_secret_reaches_neither_the_party_nor_the_recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Telltale(Shop):
        async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
            raise RuntimeError("401 for https://shop.example/?key=hush-hush-1")

    party, _ = stepped(Telltale(), {5: [call("1", "basket")]})
    assert results(party)[0][3] == "RuntimeError: 401 for https://shop.example/?key=***"


class Counting(Shop):
    """Draws its latencies, as worlds do."""

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        return random.randint(1, 1000)


def drawn(seed: str) -> list[int]:
    party = Customer({5: [call(str(n), "basket") for n in range(5)]}, 10)
    desk = ToolDesk(Counting(), party, seed, lockstep=True)
    events = [event for tick in range(10) for event in desk.step(tick)]
    desk.close()
    return [event.fields["latency_ms"] for event in events if event.fields.get("stage") == "complete"]


def test_latencies_follow_the_seed() -> None:
    assert drawn("7/user/1") == drawn("7/user/1")
    assert drawn("7/user/1") != drawn("7/user/2")


def held(path: Path, does: Does, world: Shop | None, realtime: bool = False) -> tuple[Customer, Recording]:
    party, settings = Customer(does, 120), LiveSettings(vad="energy", realtime=realtime, max_s=1.2)
    caller = Caller([tick % 50 >= 20 for tick in range(120)])
    return party, converse(caller, party, path, settings, {}, Event(), world=world, seed="s")


def test_a_conversation_with_tools_records_them_and_the_state_that_they_leave(tmp_path: Path) -> None:
    world = Shop([30, 2])
    does = {5: [call("1", "add", {"item": "tea"})], 110: [call("2", "add", {"item": "milk"})]}
    party, recording = held(tmp_path, does, world)
    assert party.tools == world.tools
    kinds = [(event["tick"], event["side"], event["kind"]) for event in recording.events if "tool" in event["kind"]]
    assert kinds == [
        (5, "B", "tool_call"),
        (5, "B", "tool_call"),
        (35, "B", "tool_result"),
        (110, "B", "tool_call"),
        (110, "B", "tool_call"),
        (112, "B", "tool_result"),
    ]
    stated = recording.meta["tools"]
    assert (stated["kind"], stated["seed"], stated["state"]) == ("shop", "s", {"tea": 1, "milk": 1})
    assert [each["name"] for each in stated["functions"]][:2] == ["add", "basket"]
    assert not world.closed, "who opened it closes it"


def test_a_call_in_the_last_tick_is_recorded(tmp_path: Path) -> None:
    world = Shop()
    _, recording = held(tmp_path, {120: [call("1", "add", {"item": "tea"})]}, world)
    assert [event["kind"] for event in recording.events][-3:] == ["tool_call", "tool_call", "tool_result"]
    assert recording.events[-1]["status"] == "ended"
    assert recording.meta["tools"]["state"] == {"tea": 1}


def test_two_conversations_are_the_same_bytes(tmp_path: Path) -> None:
    does = {
        tick: [call(f"{tick}-{name}", name, {"item": "tea"} if name == "add" else None) for name in ("add", "fail")]
        for tick in range(5, 100, 7)
    }
    lines = [(held(tmp_path / name, does, Counting())[1].path / EVENTS).read_bytes() for name in ("one", "two")]
    assert lines[0] == lines[1]
    assert lines[0].count(b"tool_result") == lines[0].count(b"complete") == 28


def test_who_cannot_call_tools_is_refused(tmp_path: Path) -> None:
    settings = LiveSettings(vad="energy", realtime=False)
    with pytest.raises(SettingsError, match="it cannot call tools"):
        converse(Caller([True]), Caller([True]), tmp_path / "call", settings, {}, Event(), world=Shop())
    assert not (tmp_path / "call").exists()


@pytest.mark.parametrize("realtime", [True, False])
def test_nothing_is_left_behind(tmp_path: Path, realtime: bool) -> None:
    def act() -> None:
        held(tmp_path, {5: [call("1", "wait")]}, Shop(timeout_s=0.1 if not realtime else 30), realtime)

    assert_leaves_nothing(act)


def test_nothing_is_left_behind_when_a_conversation_is_stopped(tmp_path: Path) -> None:
    def act() -> None:
        stop = Event()
        party = Customer({5: [call("1", "wait")]}, 10_000)
        settings = LiveSettings(vad="energy", realtime=True, spin_ns=0)
        caller = Caller([True] * 10_000)
        with pytest.raises(KeyboardInterrupt):
            converse(
                caller, party, tmp_path, settings, {}, stop, lambda tick: stop.set() if tick > 20 else None, Shop()
            )

    assert_leaves_nothing(act)
