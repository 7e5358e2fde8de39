"""What a system tells of its own turns and its calls of tools, on events that the test writes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fdbcore.measures.live_record import system_turns
from fdbcore.measures.tool_calls import tool_calls_in
from fdbcore.recording.reader import Recording
from fdbcore.types import TurnEvent


def recording(ours: list[tuple[int, int]], told: list[dict[str, Any]]) -> Recording:
    """A recording in which A spoke in these spans of ticks, and B told these turns."""
    turns = [TurnEvent("speech_start", "A", start, None, start + 10) for start, _ in ours]
    turns += [TurnEvent("speech_end", "A", start, end, end + 30) for start, end in ours]
    events = [{"kind": "system_turn", "side": "B", **each} for each in told]
    return cast(Recording, SimpleNamespace(events=events, turn_events=turns))


def test_differences_and_delays() -> None:
    ours = [(100, 200), (400, 500), (900, 1000)]
    told = [
        {"name": "speech_started", "tick": 120, "at_ms": 1010.0},
        {"name": "speech_stopped", "tick": 260, "at_ms": 1980.0},
        {"name": "speech_started", "tick": 425, "at_ms": 4030.0},
        {"name": "speech_stopped", "tick": 560, "at_ms": 5000.0},
        {"name": "speech_started", "tick": 700, "at_ms": 6900.0},
    ]
    found = system_turns(recording(ours, told))
    assert found is not None
    assert found["starts"] == pytest.approx(
        {"n": 2, "of": 3, "told": 3, "median_ms": 20, "p10_ms": 12, "p90_ms": 28, "told_after_ms": 225}
    )
    assert (found["ends"]["median_ms"], found["ends"]["told_after_ms"]) == (-10, 600)


def test_a_system_that_states_no_times_and_one_that_tells_nothing() -> None:
    found = system_turns(recording([(100, 200)], [{"name": "speech_started", "tick": 130}]))
    assert found is not None
    assert (found["starts"]["median_ms"], found["starts"]["told_after_ms"]) == (None, 300)
    assert found["ends"]["n"] == 0
    assert system_turns(recording([(100, 200)], [])) is None


def event(tick: int, kind: str, number: str, **fields: object) -> dict[str, Any]:
    return {"tick": tick, "side": "B", "kind": kind, "id": number, "name": "add", **fields}


def complete(tick: int, number: str, latency_ms: int = 0) -> dict[str, Any]:
    return event(tick, "tool_call", number, stage="complete", arguments={"n": tick}, latency_ms=latency_ms)


def begun(tick: int, number: str) -> dict[str, Any]:
    return event(tick, "tool_call", number, stage="begun")


def test_each_call_is_one_whatever_became_of_it() -> None:
    events = [
        {"tick": 1, "side": "A", "kind": "line_start", "line": 1},
        begun(5, "ok"),
        complete(8, "ok", 90),
        begun(9, "cut"),
        begun(10, "gone"),
        complete(10, "gone"),
        event(12, "tool_call", "gone", stage="cancelled"),
        event(17, "tool_result", "ok", status="ok", result={"a": None}),
        event(18, "tool_call", "ok", stage="cancelled"),  # too late
        event(19, "tool_call", "nobody", stage="cancelled"),
        begun(20, "late"),
        complete(20, "late", 500),
        event(30, "tool_result", "late", status="ended", error="the end"),
    ]
    found = tool_calls_in(events)
    assert [
        (each["id"], each["status"], each["begun_tick"], each["complete_tick"], each["end_tick"]) for each in found
    ] == [
        ("ok", "ok", 5, 8, 17),
        ("cut", "incomplete", 9, None, None),
        ("gone", "cancelled", 10, 10, 12),
        ("late", "ended", 20, 20, 30),
    ]
    assert (found[0]["arguments"], found[0]["latency_ms"], found[0]["result"]) == ({"n": 8}, 90, {"a": None})
    assert "error" not in found[0]
    assert found[3]["error"] == "the end"
    assert "result" not in found[3]


def test_an_id_that_was_used_twice_is_two_calls() -> None:
    events = [
        begun(5, "x"),
        complete(5, "x"),
        event(6, "tool_result", "x", status="ok", result=1),
        begun(9, "x"),
        complete(9, "x"),
        event(10, "tool_result", "x", status="malformed", error="used before"),
    ]
    assert [(each["status"], each["complete_tick"], each["end_tick"]) for each in tool_calls_in(events)] == [
        ("ok", 5, 6),
        ("malformed", 9, 10),
    ]
