"""Figures and tables of runs for a paper: what they draw is what was measured."""

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fakes.recordings import drawn_recording, sample_recording
from helpers.commands import report
from helpers.drawn import dialogue
from helpers.planted import Planted, planted_run
from scipy.stats import gaussian_kde

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.floor_transfers import BANDWIDTH_MS, density
from fdbcore.analysis.score import score
from fdbcore.analysis.survey import survey
from fdbcore.analysis.systems import cut_off_against_latency
from fdbcore.errors import InputError
from fdbcore.recording.labels import Label, keep_labels
from fdbcore.report.paper.bundle import strips_of
from fdbcore.report.paper.drawings import BOTTOM, TOP
from fdbcore.report.paper.strip import strip_figure
from fdbcore.report.paper.tables import latex_text
from fdbcore.report.run.page import write_index
from fdbcore.report.svg.charts import Axis, Point, plane

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures of a run of two systems, in which B cuts off many turns, against a baseline and a reference."""
    folder = tmp_path_factory.mktemp("paper")
    slow = Planted(12, 0.2, 1, 1.2, prefix="s", columns={"system": "slow & <safe>"})
    quick = Planted(12, 0.2, 2, prefix="q", columns={"system": "quick"})
    planted_run(folder / "run", slow, quick)
    shutil.copytree(folder / "run", folder / "same")
    planted_run(folder / "old", Planted(10, 0.0, 3))
    arguments = ("--by", "system", "--reference", folder / "old", "--strip", "q0000@0:05-0:12.5")
    report(folder / "run", "--baseline", folder / "same", *arguments, "--figures", folder / "figures", code=0)
    return folder


def test_all_files_are_written_and_well_formed(drawn: Path) -> None:
    names = ["differences", "fto", "response", "strip-1", "table"]
    files = sorted(path for path in (drawn / "figures").iterdir() if path.name[0] != ".")
    assert sorted({path.stem for path in files}) == names
    for path in files:
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_bytes())
            assert root.find(f"{SVG}style") is not None
            assert root.get("aria-label")


def lines(path: Path, css: str) -> list[list[tuple[float, float]]]:
    root = ElementTree.fromstring(path.read_bytes())
    paths = [each.get("d", "") for each in root.iter(f"{SVG}path") if (each.get("class") or "").startswith(css)]
    found = [re.findall(r"(-?[\d.]+) (-?[\d.]+)", path) for path in paths]
    return [[(float(x), float(y)) for x, y in points] for points in found if len(points) > 2]


def test_the_response_curve_ends_at_the_share_of_all_turns(drawn: Path) -> None:
    path = drawn / "figures" / "response.svg"
    texts = "".join(ElementTree.fromstring(path.read_bytes()).itertext())
    ends = []
    for name in ("quick", "slow & <safe>"):
        counts = re.search(re.escape(name) + r" \((\d+) of 96\)", texts)
        assert counts
        ends.append(int(counts[1]) / 96)
    assert all(end < 0.95 for end in ends)  # what was cut off is in the denominator
    shown = [(BOTTOM - points[-1][1]) / (BOTTOM - TOP) for points in lines(path, "line")][:2]
    assert shown == pytest.approx(ends, abs=0.06)  # answers after five seconds are beyond the edge


def test_densities_are_those_of_another_library() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(300, 200, 200).round(-1)
    at = np.arange(-2000, 4000, 20.0)
    theirs = gaussian_kde(values, BANDWIDTH_MS / values.std(ddof=1))(at) * 1000
    found = density(values.tolist(), at)
    np.testing.assert_allclose(found, theirs, atol=1e-9)
    assert found.sum() * 0.02 == pytest.approx(1, abs=1e-6)


def test_tables_state_n_and_denominators(drawn: Path) -> None:
    text = (drawn / "figures" / "table.md").read_text()
    assert "quick: 12 calls, 96 opportunities" in text
    assert re.search(r"premature responses \| \d+\.\d % \\\[\d+\.\d, \d+\.\d\\\], n = 96", text)
    tex = (drawn / "figures" / "table.tex").read_text()
    assert r"slow \& \textless{}safe\textgreater{}" in tex
    for line in tex.splitlines():
        if line.endswith(r" \\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 3
    rows = list(csv.DictReader(io.StringIO((drawn / "figures" / "table.csv").read_text())))
    cut = next(row for row in rows if (row["measure"], row["system"]) == ("premature_per_turn", "quick"))
    assert float(cut["value"]) == int(cut["count"]) / int(cut["n"])
    assert float(cut["low"]) < float(cut["value"]) < float(cut["high"])
    assert (cut["calls"], cut["clusters"]) == ("12", "12")
    assert "the same 12 calls in both" in (drawn / "figures" / "differences.tex").read_text()


def test_captions_name_the_unit_that_was_resampled(drawn: Path, tmp_path: Path) -> None:
    tables = drawn / "figures"
    assert "95 % intervals over calls (shares" in (tables / "table.md").read_text()
    assert "over what the sides are paired by, else over calls;" in (tables / "differences.md").read_text()
    planted_run(tmp_path / "run", *(Planted(3, 0.2, k, prefix=f"p{k}", columns={"spk": f"s{k}"}) for k in range(4)))
    same = shutil.copytree(tmp_path / "run", tmp_path / "same")
    report(tmp_path / "run", "--baseline", same, "--cluster", "spk", "--figures", tmp_path)
    text = (tmp_path / "table.md").read_text()
    assert "run: 12 calls, 4 values of spk, 96 opportunities" in text
    assert "95 % intervals over values of spk" in text
    assert "else over values of spk;" in (tmp_path / "differences.md").read_text()


def test_differences_are_numbers_in_the_csv_file(drawn: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((drawn / "figures" / "differences.csv").read_text())))
    cut = next(row for row in rows if row["measure"] == "premature_per_turn")
    assert (cut["of"], cut["group_a"], cut["group_b"], cut["unit"]) == ("system = quick", "run", "baseline", "share")
    assert float(cut["value_a"]) == int(cut["count_a"]) / int(cut["n_a"])
    assert float(cut["difference"]) == float(cut["value_a"]) - float(cut["value_b"])
    assert float(cut["low"]) <= float(cut["difference"]) <= float(cut["high"])
    assert 0 <= float(cut["p"]) <= float(cut["p_holm"]) <= 1
    assert float(cut["detectable"]) >= 0


def test_latex_says_what_it_needs_and_sets_minus_signs(drawn: Path) -> None:
    tex = (drawn / "figures" / "differences.tex").read_text()
    assert "% \\usepackage{booktabs}\n\\begin{table*}" in tex
    assert r"\label{tab:differences}" in tex
    shown = latex_text("a - b: -50 ms [-50, -3], gpt-4 by A–B, v-2 \N{MINUS SIGN}1")
    assert shown == "a $-$ b: $-$50 ms {[}$-$50, $-$3], gpt-4 by A--B, v-2 $-$1"


def test_a_strip_names_the_offset_of_each_transfer(tmp_path: Path) -> None:
    recording = sample_recording(tmp_path / "sample")
    root = ElementTree.fromstring(strip_figure(recording, 28.0, 44.0).encode())
    texts = [each.text for each in root.iter(f"{SVG}text")]
    events = [e for e in recording.turn_events if e.kind in ("gap", "overlap_between")]
    within = [e for e in events if e.start_tick < 4400 and (e.end_tick or 0) > 2800]
    assert within
    assert [text for text in texts if text and text.endswith(" s")] == [
        f"{(e.fto_ticks or 0) / 100:+.2f} s" for e in within
    ]
    assert "0:30" in texts
    spoken = [float(each.get("width", "0")) for each in root.iter(f"{SVG}rect") if each.get("class") == "ipu-b"]
    assert spoken
    assert all(0 < width <= 692 for width in spoken)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q0000", "expected CALL@START-END"),
        ("q0000@5", "expected CALL@START-END"),
        ("q000@1-2", "got q000; perhaps q00"),
        ("q0000@5-5", "expected START before END"),
        ("q0000@5-9:00", "within the"),
    ],
)
def test_a_strip_that_is_none_is_one_line(drawn: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        strips_of(Run(drawn / "run"), [text])
    assert message in str(caught.value)


def test_figures_alone_need_no_baseline(drawn: Path, tmp_path: Path) -> None:
    assert report(drawn / "old", "--figures", tmp_path).stdout.splitlines()[-1] == str(tmp_path / "table.csv")
    assert "A after B, same calls" in (tmp_path / "fto.svg").read_text()
    assert not (tmp_path / "differences.md").exists()
    assert report(drawn / "old", "--strip", "call0000@1-2").exit_code == 2


def test_a_call_without_turns_draws_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    assert dialogue("A 0-1 |").uncensored("gap") == []
    planted_run(tmp_path / "run", Planted(2, 0.0, 1, turns=1))
    assert report(tmp_path / "run", "--figures", tmp_path / "figures").exit_code == 0
    ElementTree.fromstring((tmp_path / "figures" / "fto.svg").read_bytes())


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
