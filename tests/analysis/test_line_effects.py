"""What the lines of calls do to a run and to its gates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.recordings import drawn_recording
from helpers.on_lines import health_at

from fdbcore.analysis.comparison import Sides
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.gate_file import gates_of
from fdbcore.analysis.gates import decided
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.line_effects import pooled_text
from fdbcore.analysis.score import score
from fdbcore.analysis.survey import survey
from fdbcore.measures.health.measured_lines import MeasuredLine, measured_lines
from fdbcore.measures.quantities import Values
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import HEALTH, write_json
from fdbcore.report.call.screen import run_screen
from fdbcore.report.comparison.screen import comparison_screen

DRAWING = "A 0-2 5-6 | B 2.4-4"
LATENCY = "response_latency_ms"


@pytest.fixture(scope="module")
def lines() -> dict[str, MeasuredLine]:
    return {line.name: line for line in measured_lines()["silero"].lines}


def calls_on(folder: Path, of_a: MeasuredLine, of_b: MeasuredLine, count: int) -> list[Call]:
    calls = []
    for number in range(count):
        recording = drawn_recording(folder / f"call{number}", DRAWING)
        write_json(recording.path / HEALTH, health_at(of_a, of_b))
        score(Reading(recording.path))
        calls.append(Call(recording.name, recording.path))
    return calls


def note(text: str, run: Sequence[Call], latency_ms: float, baseline: Sequence[Call] | None = None) -> str:
    """What the verdict on a gate says of lines. All answers of the run take so long, those of the baseline 400 ms."""

    def group(calls: Sequence[Call], ms: float) -> CallGroup:
        return CallGroup("", list(calls), [{LATENCY: Values("ms", [ms - 10, ms, ms + 10])} for _ in calls])

    gates = gates_of({"gates": [text]}, "gates.toml")
    run_and_baseline = Sides(Run(Path(), []), group(run, latency_ms), None, group(baseline or (), 400), [])
    (result,) = decided(Path("gates.toml"), gates, run_and_baseline, None)["results"]
    return result.get("lines", "")


def test_a_gate_that_allows_less_than_its_lines_do_says_so(tmp_path: Path, lines: dict[str, MeasuredLine]) -> None:
    room, clean = lines["room 800 ms"], lines["clean"]
    assert room.turn_end_ms is not None
    assert clean.turn_start_ms is not None
    early_ms = round(room.turn_end_ms - clean.turn_start_ms)
    assert early_ms > 15
    in_room = calls_on(tmp_path / "room", room, clean, 12)
    elsewhere = calls_on(tmp_path / "clean", clean, clean, 12)

    found = note(f"{LATENCY} <= {500 + early_ms - 5}", in_room, 500)
    assert (
        found
        == f"the figure is {early_ms - 5} ms from its limit, but on channels like these it is {early_ms} ms too small"
    )
    assert note(f"{LATENCY} <= {500 + early_ms + 5}", in_room, 500) == ""
    assert note(f"{LATENCY} <= 501", elsewhere, 500) == ""  # a tick is said of no gate

    found = note(f"{LATENCY} <= baseline + 15", in_room, 500, elsewhere)
    assert found.startswith(
        f"it allows 15 ms, but on channels like these the figure is {early_ms} ms too small in the run and "
    )
    assert found.endswith(" in the baseline")
    assert note(f"{LATENCY} <= baseline + 200", in_room, 500, elsewhere) == ""
    assert note("answered_per_turn >= 0", in_room, 500) == ""


def test_a_run_says_what_its_lines_do_and_which_calls_are_like_nothing(
    tmp_path: Path, lines: dict[str, MeasuredLine]
) -> None:
    room, clean = lines["room 800 ms"], lines["clean"]
    calls = [*calls_on(tmp_path / "x", room, clean, 2), *calls_on(tmp_path / "y", clean, clean, 3)]
    far = drawn_recording(tmp_path / "far", DRAWING)
    health = health_at(clean, clean)
    health["sides"]["A"] |= {"snr_db": -20.0, "high_drop_db": 40.0, "fall_ms": 300.0}
    write_json(far.path / HEALTH, health)
    score(Reading(far.path))
    found = survey(Run(tmp_path, [*calls, Call("far", far.path)])).lines
    assert found is not None
    assert (found["calls"], found["answers_of"], found["not_placed"]) == (6, 5, {"unlike": ["far"]})
    assert clean.turn_start_ms is not None
    assert clean.turn_end_ms is not None
    assert room.turn_end_ms is not None
    shifts = [clean.turn_start_ms - end for end in (clean.turn_end_ms, room.turn_end_ms, clean.turn_end_ms)]
    assert found["answers_ms"] == pytest.approx((shifts[0], shifts[1], shifts[0]))
    text = pooled_text(found)
    shown = run_screen(survey(Run(tmp_path, calls)))
    assert "channels like" not in shown, "a first screen says nothing that no reader can use yet"
    assert text.startswith(
        f"on channels like these responses of B read {-shifts[0]:.0f} ms early "
        f"(median of 5 of 6 calls, from {-shifts[1]:.0f} ms"
    )
    assert text.endswith("; no measured channel is like that of 1 call: far")
    assert pooled_text({**found, "answers_ms": (-4.0, -4.9, 2.0), "not_placed": {"not known": ["x"]}}) == ""


def test_the_screen_of_gates_shows_it(tmp_path: Path, lines: dict[str, MeasuredLine]) -> None:
    run = calls_on(tmp_path / "room", lines["room 800 ms"], lines["clean"], 12)
    group = CallGroup("", run, [{LATENCY: Values("ms", [500.0, 510.0])} for _ in run])
    gates = gates_of({"gates": [f"{LATENCY} <= 506"]}, "gates.toml")
    found = decided(Path("gates.toml"), gates, Sides(Run(Path(), []), group, None, None, []), None)
    described = {"path": "RUN", "calls": 12, "unscored": {}, "settings": None, "settings_sha256s": {}, "versions": {}}
    document: Any = {"run": described, "baseline": None, "notes": [], "comparisons": [], "gates": found}
    shown = comparison_screen(document, 100)
    assert "  !! the figure is 1 ms from its limit, but on channels like these it is " in " ".join(shown.splitlines())
