"""The system's own turns against ours, on recordings whose events the test writes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fdbcore.measures.live_record import system_turns
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
