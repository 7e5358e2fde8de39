"""Calls of tools, put together from events that were written by hand."""

from __future__ import annotations

from typing import Any

from fdbcore.measures.tool_calls import tool_calls_in


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
