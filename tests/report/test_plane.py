"""False cut-ins against response latency: one point a system, where its measures say it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fakes.recordings import drawn_recording

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import score
from fdbcore.analysis.survey import survey
from fdbcore.analysis.systems import cut_off_against_latency
from fdbcore.recording.labels import Label, keep_labels
from fdbcore.report.run.page import write_index
from fdbcore.report.svg.charts import Axis, Point, plane

HASTY = "A 0-2 3-5 8-9 | B 2.3-2.7 5.2-7 9.2-10"
PATIENT = "A 0-2 3-5 8-9 | B 6-7 10-11"
LABELS = [Label("A", "pause", 2, 3), Label("A", "turn_end", 5, 5), Label("A", "turn_end", 9, 9)]


def run_of(path: Path, calls: dict[str, tuple[str, str]], labels: list[Label]) -> Path:
    """A run of drawn calls: name to system and drawing."""
    for name, (system, drawing) in calls.items():
        case = {"name": name, "system": system, "trial": 1, "clip": None} if system else {}
        outcome = {"kind": "done", "side": None, "reason": None}
        meta: dict[str, Any] = {"case": case, "outcome": outcome} if case else {}
        recording = drawn_recording(path / name, drawing, **meta)
        keep_labels(recording.path, "by hand", labels)
        score(recording)
    return path


def test_each_system_is_where_it_was_built_to_be(tmp_path: Path) -> None:
    calls = {f"h{n}": ("hasty", HASTY) for n in range(3)} | {f"p{n}": ("patient", PATIENT) for n in range(3)}
    run = survey(Run(run_of(tmp_path, calls | {"h3": ("hasty", PATIENT)}, LABELS)))
    hasty, patient = cut_off_against_latency(run)
    assert (hasty.name, hasty.share["mean"], hasty.latency["median"]) == ("hasty", 0.75, 200.0)
    assert (patient.name, patient.share["mean"], patient.latency["median"]) == ("patient", 0.0, 1000.0)
    assert hasty.share["ci95"] is not None
    low, high = hasty.share["ci95"]
    assert low < 0.75 < high
    page = write_index(run).read_text()
    assert "<title>hasty: 75.0 %, 0.20 s; 4 pauses, 8 answers, 4 calls</title>" in page
    assert "<title>patient: 0.0 %, 1.00 s; 3 pauses, 6 answers, 3 calls</title>" in page


def test_without_labelled_turn_ends_all_answers_are_timed(tmp_path: Path) -> None:
    run = survey(Run(run_of(tmp_path, {"one": ("", PATIENT)}, LABELS[:1])))
    (system,) = cut_off_against_latency(run)
    assert (system.name, system.share["mean"]) == ("", 0.0)
    assert (system.latency["median"], system.latency["ci95"]) == (1000.0, None)


def test_without_labelled_pauses_there_is_no_plane(tmp_path: Path) -> None:
    run = survey(Run(run_of(tmp_path, {"one": ("", PATIENT)}, LABELS[1:])))
    assert cut_off_against_latency(run) == []
    assert "False cut-ins against response latency" not in write_index(run).read_text()


def test_points_beyond_the_axis_widen_it() -> None:
    points = [Point("<slow>", 4.0, 0.5, "", (3.0, 5.0), (0.2, 0.9)), Point("early", -0.1, 0.0, "")]
    drawing = plane("P", "n", Axis(0, 2, 0.1, range(11), "seconds"), points).svg
    xs = [float(x) for x in re.findall(r'(?:cx|x1|x2)="([-\d.]+)"', drawing)]
    assert 40 <= min(xs) <= max(xs) <= 352
    assert "&lt;slow&gt;" in drawing
    assert "<slow>" not in drawing
