"""What the harness adds to a latency: read from the delay log, at the tick of each answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fakes.recordings import drawn_recording

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.harness import HarnessLegs
from fdbcore.measures.quantities import Values
from fdbcore.measures.timing import timing
from fdbcore.recording import Recording

DRAWING = "A 0-1 3-4 | B 1.5-2.5 4.3-5"  # B answers after 0.5 s and after 0.3 s


def live(path: Path, log: list[dict[str, Any]], out_samples: int | None) -> Recording:
    measured = {} if out_samples is None else {"out_delay_samples": out_samples}
    recording = drawn_recording(path, DRAWING, timing={"sides": {"A": {"out_delay_samples": 9999}, "B": measured}})
    with open(recording.path / "events.jsonl", "a") as lines:
        lines.writelines(json.dumps(event) + "\n" for event in log)
    return Recording(recording.path)


def delay(tick: int, samples: int, side: str = "B") -> dict[str, Any]:
    return {"tick": tick, "side": side, "kind": "delay", "delay_samples": samples}


def test_both_legs_of_side_b_are_taken_off_as_they_were_when_it_answered(tmp_path: Path) -> None:
    log = [delay(0, 480), delay(0, 4800, "A"), delay(300, 960), delay(431, 4800)]
    quantities = timing(Dialogue.of(live(tmp_path, log, 120)))
    raw, without = quantities["response_latency_ms"], quantities["response_latency_minus_harness_ms"]
    assert isinstance(raw, Values)
    assert isinstance(without, Values)
    assert raw.values == [500.0, 300.0]
    assert without.values == [500.0 - 2.5 - 10.0, 300.0 - 2.5 - 20.0]
    assert without.excluded == raw.excluded


def test_what_a_transport_does_not_state_is_not_guessed(tmp_path: Path) -> None:
    for name, log, out_samples in (("a", [delay(0, 480)], None), ("b", [], 120), ("c", [delay(0, 480, "A")], 120)):
        recording = live(tmp_path / name, log, out_samples)
        assert HarnessLegs.of(recording, "B") is None
        assert "response_latency_minus_harness_ms" not in timing(Dialogue.of(recording))
    assert HarnessLegs.of(drawn_recording(tmp_path / "d", DRAWING), "B") is None
