"""Tool calls over a real socket: declared, made, cancelled and answered in the dialect of `pcm_ws`."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fakes.parties import Caller
from fakes.pcm_server import PcmServer
from fakes.tool_caller import ToolCaller, calls
from fakes.worlds import Shop
from helpers.conformance import assert_leaves_nothing

from fdbcore.recording.files import EVENTS
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

VIRTUAL = LiveSettings(vad="energy", realtime=False)


def held(
    path: Path, system: ToolCaller, world: Shop | None, n_ticks: int = 120, settings: LiveSettings = VIRTUAL
) -> Recording:
    caller = Caller([tick % 50 >= 20 for tick in range(n_ticks)])
    with PcmServer(system) as server:
        return converse(caller, endpoint(server.address), path, settings, {}, Event(), world=world, seed="s")


def tool_events(recording: Recording) -> list[tuple[int, str, str]]:
    """Tick, id, and stage or status of each event of a tool."""
    return [
        (event["tick"], event["id"], event.get("stage") or event["status"])
        for event in recording.events
        if event["kind"].startswith("tool_")
    ]


def test_a_call_and_its_result_cross_the_socket_in_their_ticks(tmp_path: Path) -> None:
    world = Shop([30])
    begin = {"type": "tool_begin", "id": "c1", "name": "add"}
    system = ToolCaller({11: [begin], 21: [calls("c1", "add", item="tea")]})
    recording = held(tmp_path, system, world)
    assert system.offered == [tool.to_json() for tool in world.tools]
    # What it sends before its answer to frame n, which is that of tick n - 1, is known in tick n.
    assert tool_events(recording) == [(11, "c1", "begun"), (21, "c1", "complete"), (51, "c1", "ok")]
    result = {"items": [{"name": "tea", "count": 1}]}
    message = {"type": "tool_result", "id": "c1", "name": "add", "status": "ok", "result": result}
    assert system.results == [(52, message)], "the frame of tick 51 came before it"
    assert recording.meta["outcome"]["kind"] == "done"


def test_parallel_chained_and_cancelled_calls_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    def chained(result: Any) -> Any:
        return calls("c3", "add", item=result["items"][0]["name"], count=5)

    def hold(name: str) -> tuple[ToolCaller, Recording]:
        system = ToolCaller(
            {
                0: [calls("c0", "basket")],
                11: [calls("c1", "add", item="tea"), calls("c2", "add", item="milk"), calls("c4", "wait")],
                15: [{"type": "tool_cancel", "id": "c4"}],
                21: [calls("c5", "nothing"), {**calls("c6", "add"), "arguments": "{,"}],
                41: [{**calls("c8", "add"), "arguments": '{"item": "milk", "count": 2}'}],
                118: [calls("c7", "basket")],
            },
            {"c2": chained},
        )
        return system, held(tmp_path / name, system, Shop([0, 20, 10, 5, 5, 5, 5, 5, 50], timeout_s=0.2))

    system, first = hold("first")
    assert tool_events(first) == [
        (1, "c0", "begun"),
        (1, "c0", "complete"),
        (2, "c0", "ok"),
        (11, "c1", "begun"),
        (11, "c1", "complete"),
        (11, "c2", "begun"),
        (11, "c2", "complete"),
        (11, "c4", "begun"),
        (11, "c4", "complete"),
        (15, "c4", "cancelled"),
        (21, "c5", "begun"),
        (21, "c5", "complete"),
        (21, "c6", "begun"),
        (21, "c6", "complete"),
        (21, "c2", "ok"),
        (23, "c3", "begun"),
        (23, "c3", "complete"),
        (26, "c5", "unknown"),
        (26, "c6", "malformed"),
        (28, "c3", "ok"),
        (31, "c1", "ok"),
        (41, "c8", "begun"),
        (41, "c8", "complete"),
        (46, "c8", "ok"),
        (118, "c7", "begun"),
        (118, "c7", "complete"),
        (120, "c7", "ended"),
    ]
    chain = [event for event in first.events if event["kind"] == "tool_call" and event["id"] == "c3"][1]
    assert chain["arguments"] == {"item": "tea", "count": 5}
    assert first.meta["tools"]["state"] == {"tea": 6, "milk": 3}
    statuses = {event["id"]: event["status"] for _, event in system.results}
    assert statuses == {"c0": "ok", "c1": "ok", "c2": "ok", "c3": "ok", "c5": "unknown", "c6": "malformed", "c8": "ok"}
    _, second = hold("second")
    assert (first.path / EVENTS).read_bytes() == (second.path / EVENTS).read_bytes()


def test_what_is_no_call_is_an_event_like_any_other(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"type": "tool_call", "id": 7, "name": "add"},
        {"type": "tool_call", "id": "c1"},
        {"type": "tool_call", "name": "add"},
        {"type": "tool_begin", "id": "c1", "name": ["add"]},
        {"type": "tool_cancel"},
    ]
    recording = held(tmp_path, ToolCaller({11: odd}), Shop())
    logged = [(event["name"], event["data"]) for event in recording.events if event["kind"] == "event"]
    assert logged == [(each["type"], {k: v for k, v in each.items() if k != "type"}) for each in odd]
    assert tool_events(recording) == []


def test_without_tools_a_call_is_only_logged(tmp_path: Path) -> None:
    system = ToolCaller({11: [calls("c1", "add", item="tea")]})
    recording = held(tmp_path, system, None)
    assert system.offered == []
    (event,) = (event for event in recording.events if event["kind"] == "event")
    assert (event["tick"], event["name"], event["data"]["arguments"]) == (11, "tool_call", {"item": "tea"})
    assert tool_events(recording) == []
    assert "tools" not in recording.meta


def test_a_system_that_leaves_gets_no_more_results(tmp_path: Path) -> None:
    system = ToolCaller({11: [calls("c1", "add", item="tea")]}, bye_after=80)
    recording = held(tmp_path, system, Shop([100]))
    assert tool_events(recording)[-1] == (recording.n_ticks, "c1", "ended")
    assert system.results == []
    assert recording.meta["outcome"]["kind"] == "done"


def test_a_flood_of_calls_ends_the_call(tmp_path: Path) -> None:
    system = ToolCaller({11: [calls(f"c{n}", "basket") for n in range(3000)]})
    recording = held(tmp_path, system, Shop([50] * 5000))
    assert recording.meta["outcome"]["reason"] == "floods: more than 1000 events a second"


@pytest.mark.live
@pytest.mark.parametrize("clocking", ["input", "burst"])
def test_live_the_result_comes_in_its_tick_and_no_tick_waits(tmp_path: Path, clocking: str) -> None:
    system = ToolCaller({11: [calls("c1", "add", item="tea"), calls("c2", "wait")]}, clocking=clocking)
    settings = LiveSettings(vad="energy", max_s=1.5, spin_ns=0)
    recording = held(tmp_path, system, Shop([30, 30], timeout_s=0.5), 150, settings)
    ticks = {(number, what): tick for tick, number, what in tool_events(recording)}
    assert 10 <= ticks["c1", "complete"] <= 20
    assert ticks["c1", "ok"] - ticks["c1", "complete"] == 30
    assert ticks["c2", "timeout"] - ticks["c2", "complete"] == 50
    assert recording.meta["timing"]["missed"] == 0


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    system = ToolCaller({11: [calls("c1", "wait")]})
    assert_leaves_nothing(lambda: held(tmp_path, system, Shop(timeout_s=0.1)))
