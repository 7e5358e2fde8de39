"""What the harness adds to a latency: read from the delay log, at the tick of each answer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.recordings import drawn_recording

from fdbcore._ext.jitter import DelayChange
from fdbcore.endpoints.playout import Playout
from fdbcore.endpoints.webrtc.leg import DelayLog
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.quantities import Values
from fdbcore.measures.reading import Reading
from fdbcore.measures.timing import timing_quantities

DRAWING = "A 0-1 3-4 | B 1.5-2.5 4.3-5"  # B answers after 0.5 s and after 0.3 s


def live(path: Path, log: list[dict[str, Any]], out_samples: int | None, drawing: str = DRAWING) -> Reading:
    measured = {} if out_samples is None else {"out_delay_samples": out_samples}
    recording = drawn_recording(path, drawing, timing={"sides": {"A": {"out_delay_samples": 9999}, "B": measured}})
    with open(recording.path / "events.jsonl", "a") as lines:
        lines.writelines(json.dumps(event) + "\n" for event in log)
    return Reading(recording.path)


def delay(tick: int, samples: int, side: str = "B") -> dict[str, Any]:
    return {"tick": tick, "side": side, "kind": "delay", "delay_samples": samples}


def arrivals(log: DelayLog, samples: int) -> dict[str, Any]:
    none: dict[str, list[int]] = {"at_us": [], "start_sample": [], "samples": []}
    return {"tick": 2999, "side": "B", "kind": "arrivals", **none, "delay_samples": samples, **log.waits.take()}


def test_both_legs_of_side_b_are_taken_off_as_they_were_when_it_answered(tmp_path: Path) -> None:
    log = [delay(0, 480), delay(0, 4800, "A"), delay(300, 960), delay(431, 4800)]
    quantities = timing_quantities(live(tmp_path, log, 120).dialogue)
    raw, without = quantities["response_latency_ms"], quantities["response_latency_minus_harness_ms"]
    assert isinstance(raw, Values)
    assert isinstance(without, Values)
    assert raw.values == [500.0, 300.0]
    assert without.values == [500.0 - 2.5 - 10.0, 300.0 - 2.5 - 20.0]
    assert without.excluded == raw.excluded


@pytest.mark.parametrize("step_ms", [80, 84, 105, 210])
def test_how_late_a_system_is_itself_stays_in_its_answer_times(tmp_path: Path, step_ms: int) -> None:
    """Each step of 80 ms comes `step_ms` after the one before; B answers with the first that is heard after 1.5 s."""
    playout, log, heard = Playout(8, kept_frames=1), list[dict[str, Any]](), list[int]()
    playout.start(0)
    steps = 0
    for tick in range(400):
        for steps in range(steps + 1, tick * 10 // step_ms + 1):  # noqa: B020 it goes on where it was
            playout.push(np.full(3840, steps, np.int16), steps * step_ms * 1_000_000)
        heard.append(int(playout.frame[0]) if playout.play(tick) else 0)
        log += [delay(change.tick, change.delay_samples) for change in playout.drain()]
        log += [{**delay(tick, playout.delay_samples), **playout.arrivals()}] * (tick % 100 == 99)
    answer = next(step for step in range(1, steps) if heard.index(step) > 150)
    speech = f"A 0-1 | B {heard.index(answer) / 100}-3.5"
    minus = timing_quantities(live(tmp_path, log, 0, speech).dialogue)["response_latency_minus_harness_ms"]
    assert isinstance(minus, Values)
    assert minus.values == [pytest.approx(answer * step_ms - 1000, abs=1.1)]


def test_a_change_told_before_it_holds_is_in_its_place(tmp_path: Path) -> None:
    log = [delay(0, 480), delay(150, 960), delay(149, 480), delay(300, 1440), delay(299, 960)]
    legs = HarnessLegs.of(live(tmp_path, log, 0), "B")
    assert legs is not None
    assert [legs.round_trip_ms(tick) for tick in (149, 150, 299, 300)] == [10, 20, 20, 30]


def test_more_delay_changes_than_are_listed_are_all_stated(tmp_path: Path) -> None:
    delays: dict[int, int] = {}
    log, events = DelayLog(), list[dict[str, Any]]()
    for tick in range(3000):
        of_tick = [DelayChange(tick, "slip", 0, 480 + 7 * tick + n, 0) for n in range(tick % 3)]
        delays[tick] = of_tick[-1].delay_samples if of_tick else delays.get(tick - 1, 480 + 7)
        events += [
            {"side": "B", "tick": told.tick, "kind": told.kind, **told.fields}
            for told in log.log(tick, of_tick, delays[tick])
        ]
    events.append(arrivals(log, delays[2999]))
    legs = HarnessLegs.of(live(tmp_path, events, 0), "B")
    assert legs is not None
    assert [legs.round_trip_ms(tick) for tick in delays] == [samples / 48 for samples in delays.values()]
    assert (len(log.listed), log.unlisted) == (1000, 1000)


def test_a_delay_that_moves_between_its_changes_is_stated_to_within_1_ms(tmp_path: Path) -> None:
    delays = [480, 480, *range(900, 400, -7), *range(400, 900, 31)]
    log, events = DelayLog(), list[dict[str, Any]]()
    for tick, samples in enumerate(delays):
        changes = [] if tick else [DelayChange(0, "anchor", 0, samples, 0)]
        events += [
            {"side": "B", "tick": told.tick, "kind": told.kind, **told.fields}
            for told in log.log(tick, changes, samples)
        ]
    events.append(arrivals(log, delays[-1]))
    legs = HarnessLegs.of(live(tmp_path, events, 0), "B")
    assert legs is not None
    assert max(abs(legs.round_trip_ms(tick) - samples / 48) for tick, samples in enumerate(delays)) <= 1
    assert [change["why"] for change in log.listed] == ["anchor"]


def test_what_a_transport_does_not_state_is_not_guessed(tmp_path: Path) -> None:
    for name, log, out_samples in (("a", [delay(0, 480)], None), ("b", [], 120), ("c", [delay(0, 480, "A")], 120)):
        recording = live(tmp_path / name, log, out_samples)
        assert HarnessLegs.of(recording, "B") is None
        assert "response_latency_minus_harness_ms" not in timing_quantities(recording.dialogue)
    assert HarnessLegs.of(drawn_recording(tmp_path / "d", DRAWING), "B") is None
