"""Agreement of labels against naive counts, on hand-made pairs, and the whole command over files and runs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.recordings import drawn_recording
from helpers.commands import agree
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.label_agreement import labels_of
from fdbcore.analysis.score import score
from fdbcore.analysis.span_agreement import edge_errors, found_by_both, items_of_side, kind_agreement, span_agreement
from fdbcore.recording.files import META, TURNS, write_json
from fdbcore.recording.labels import CONTRIBUTIONS, Label, LabelKind
from fdbcore.report.exports.formats import export
from fdbcore.report.run.tables import write_tables
from fdbcore.stats.raters import MISSING

Spans = npt.NDArray[np.float64]

GAPS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12)


def spans_of(gaps: list[tuple[int, int]]) -> Spans:
    """Spans that do not overlap, from silences and lengths in tenths of a second."""
    return np.cumsum(np.array(gaps, dtype=np.float64).reshape(-1)).reshape(-1, 2) / 10


@given(GAPS, GAPS, st.integers(1, 8))
def test_spans_found_by_both_are_the_most_that_can_be_matched(
    a: list[tuple[int, int]], b: list[tuple[int, int]], tolerance: int
) -> None:
    first, second = spans_of(a), spans_of(b)
    fits = (np.abs(first[:, None] - second[None]).max(axis=2, initial=0) <= tolerance / 10 + 1e-9).astype(int)
    rows, columns = linear_sum_assignment(-fits)
    assert found_by_both(first, second, tolerance / 10) == fits[rows, columns].sum()


@given(GAPS, GAPS)
def test_edge_errors_are_of_mutual_nearest(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    first, second = spans_of(a)[:, 0], spans_of(b)[:, 0]
    errors = edge_errors(first, second)
    assert all(abs(error) < 1 for error in errors)
    assert len(errors) <= min(len(first), len(second))
    for error in errors:
        pairs = [(x, y) for x in first for y in second if y - x == error]
        assert any(np.abs(second - x).min() == abs(error) == np.abs(first - y).min() for x, y in pairs)
    swapped = edge_errors(second, first)
    if len(set(np.abs(np.subtract.outer(first, second)).round(6).reshape(-1).tolist())) == len(first) * len(second):
        assert sorted(np.round(errors, 6)) == sorted(-np.round(swapped, 6))  # where no two are equally near


def labels(text: str, side: str = "A") -> list[Label]:
    """Labels of "interruption 1-2, noise 3-4"."""
    found = []
    for item in filter(None, text.split(",")):
        kind, span = item.split()
        start, end = span.split("-")
        known: LabelKind = next(each for each in (*CONTRIBUTIONS, "speech", "pause", "turn_end") if each == kind)
        found.append(Label("A" if side == "A" else "B", known, float(start), float(end)))
    return found


def numbers(*rows: str) -> list[list[int]]:
    """Kinds by their first letter, "." for MISSING."""
    return [[MISSING if c == "." else "ibsn".index(c) for c in row] for row in rows]


def test_items_are_stretches_that_overlap_with_the_longest_label_of_each() -> None:
    first = labels(
        "interruption 0-5, backchannel 10-10.5, noise 20-21, interruption 30-31, noise 50-52, interruption 52-53"
    )
    second = labels(
        "backchannel 1-1.5, side_talk 4-6, backchannel 10.4-11, noise 21-22, interruption 40-41, side_talk 51-53"
    )
    third = labels("interruption 5.5-7")
    assert items_of_side([first, second], "A").tolist() == numbers("is", "bb", "n.", ".n", "i.", ".i", "ns")
    assert items_of_side([first, second, third], "A").tolist()[0] == numbers("isi")[0]
    assert items_of_side([first, second], "B").tolist() == []


def test_boundary_errors_bias_and_f1_of_a_worked_pair() -> None:
    first = labels("speech 0-1, speech 2-3, speech 5-6, speech 9-9.5")
    second = labels("speech 0.1-1.1, speech 2.1-3.4, speech 4.9-6")
    found = span_agreement([[first, second]], "speech", ["A"], 200)
    assert found["n"] == [4, 3]
    assert found["f1"]["value"] == pytest.approx(2 * 2 / 7)
    assert found["onset"]["pairs"] == 3
    assert found["onset"]["median_ms"]["value"] == pytest.approx(100)
    assert found["onset"]["bias_ms"]["value"] == pytest.approx(100 / 3)
    assert found["offset"]["p90_ms"]["value"] == pytest.approx(np.quantile([100, 400, 0], 0.9))


def test_speech_labels_that_overlap_are_one() -> None:
    found = span_agreement([[labels("speech 0-2, speech 1-3"), labels("speech 0-3")]], "speech", ["A"], 10)
    assert (found["n"], found["f1"]["value"]) == ([1, 1], 1.0)


def test_kappa_is_over_what_both_have_and_the_rest_is_counted() -> None:
    calls = [
        [labels("interruption 0-1, backchannel 5-6, noise 8-9"), labels("interruption 0-1, backchannel 5-6")],
        [labels("interruption 0-1, backchannel 5-6"), labels("backchannel 0-1, backchannel 5-6, side_talk 9-10")],
    ]
    found = kind_agreement(calls, ["A"])
    assert found is not None
    assert (found["labelled_by_both"], found["only_first"], found["only_second"]) == (4, 1, 1)
    # observed 3 of 4; by chance (2 x 1 + 2 x 3) / 16
    assert found["kappa"]["value"] == pytest.approx((0.75 - 0.5) / 0.5)
    assert found["confusion"][0][:2] == [1, 1]
    assert found["both_share"]["value"] == pytest.approx(4 / 6)


def test_the_intervals_are_over_calls() -> None:
    """Two hundred items that agree in half of four calls, and never in the others, are four observations, not 200."""
    good, bad = [labels("speech 0-1"), labels("speech 0-1")], [labels("speech 0-1"), labels("speech 3-4")]
    few = span_agreement([good, bad] * 2, "speech", ["A"], 100)["f1"]
    many = span_agreement([good, bad] * 50, "speech", ["A"], 100)["f1"]
    assert few["value"] == many["value"] == 0.5
    assert few["ci95"] is not None
    assert many["ci95"] is not None
    assert few["ci95"][1] - few["ci95"][0] > 3 * (many["ci95"][1] - many["ci95"][0])


def document(*arguments: object) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(agree(*arguments, "--json").stdout)
    return content


DRAWINGS = {"one": "A 0-2 2.5-4 7-9 | B 4.4-6.1 8.2-8.9", "two": "A 0-3 5-6 | B 2.2-2.6 3.4-4.8 5.3-7"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name, drawing in DRAWINGS.items():
        score(drawn_recording(tmp_path / "RUN" / name, drawing))
    return tmp_path / "RUN"


def table(path: Path, run: Path, shift_s: float = 0.0, only: str = "") -> Path:
    """What a run says, as a table of labels, later by so much; of one call only."""
    rows = ["call,side,kind,start_s,end_s"]
    for name in [only] if only else DRAWINGS:
        for label in labels_of(drawn_recording(path.parent / "again" / name, DRAWINGS[name])):
            rows.append(f"{name},{label.side},{label.kind},{label.start_s + shift_s},{label.end_s + shift_s}")
    path.write_text("\n".join(rows))
    return path


def test_a_run_agrees_with_its_own_labels(run: Path, tmp_path: Path) -> None:
    content = document(table(tmp_path / "hand.csv", run), run)
    assert content["calls"] == ["one", "two"]
    assert content["problems"] == {}
    (pair,) = content["pairs"]
    assert {kind: found["f1"]["value"] for kind, found in pair["spans"].items()} == dict.fromkeys(pair["spans"], 1.0)
    assert {"speech", "pause", "turn_end"} <= set(pair["spans"])
    assert pair["kinds"]["only_first"] == pair["kinds"]["only_second"] == 0


@pytest.mark.parametrize("fmt", ["textgrid", "audacity", "csv", "rttm", "events.csv"])
def test_a_run_agrees_with_its_own_exports(fmt: str, tmp_path: Path) -> None:
    drawings = DRAWINGS | {"a b\u2028c%20d": "A 0-3 4-5 9-12 | B 2.5-2.8 4.2-4.6 5.5-8 11-11.4"}
    recordings = [drawn_recording(tmp_path / "RUN" / name, text, 0) for name, text in drawings.items()]
    for recording in recordings:
        score(recording)
    if fmt == "events.csv":
        write_tables(Run(tmp_path / "RUN"))
        content = document(tmp_path / "RUN" / fmt, tmp_path / "RUN")
    else:
        export(recordings, fmt, tmp_path / "out")
        content = document(tmp_path / "out", tmp_path / "RUN")
    assert content["problems"] == {}
    assert set(content["calls"]) == set(drawings)
    spans = content["pairs"][0]["spans"]
    assert {kind: found["f1"]["value"] for kind, found in spans.items()} == dict.fromkeys(spans, 1.0)
    assert set(spans) == ({"speech"} if fmt == "rttm" else {"speech", "pause", "turn_end"})
    for kind, found in spans.items():
        assert found["n"][0] == found["n"][1] > 0, kind


def test_a_bias_has_its_sign(run: Path, tmp_path: Path) -> None:
    content = document(table(tmp_path / "early.csv", run), table(tmp_path / "late.csv", run, 0.05))
    speech = content["pairs"][0]["spans"]["speech"]
    assert speech["onset"]["bias_ms"]["value"] == pytest.approx(50)
    assert speech["offset"]["bias_ms"]["value"] == pytest.approx(50)
    assert speech["f1"]["value"] == 1.0


def test_calls_that_not_all_have_labelled_are_named_or_counted(run: Path, tmp_path: Path) -> None:
    one, both = table(tmp_path / "one.csv", run, only="one"), table(tmp_path / "both.csv", run)
    against_run, against_labels = document(one, run), document(both, one)
    assert (against_run["calls"], against_run["calls_not_labelled_by_all"]) == (["one"], 1)
    assert against_run["problems"] == {}
    assert against_labels["problems"] == {"calls that some raters labelled and others did not, left out": ["two"]}


def test_a_single_recording_and_a_file_that_names_no_call(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "anna.txt"
    path.write_text("0\t2\tA speech\n2.6\t4\tA speech\n7\t9\tA speech\n99\t100\tA speech\n")
    content = document(path, run / "one")
    speech = content["pairs"][0]["spans"]["speech"]
    assert (content["calls"], speech["sides"], speech["n"]) == (["one"], ["A"], [3, 3])
    assert list(content["problems"]) == ["calls with labels that do not fit"]


def test_several_raters_have_an_alpha_and_all_pairs(tmp_path: Path) -> None:
    rows = {"a": "interruption", "b": "interruption", "c": "backchannel"}
    paths = []
    for name, kind in rows.items():
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_text(f"side,kind,start_s,end_s\nA,{kind},1,2\nA,noise,3,4\n")
    content = document(*paths)
    assert len(content["pairs"]) == 3
    assert content["alpha"]["n"] == 2
    # six ratings: 2 interruptions, 1 backchannel, 3 noises; one item of two disagrees: 4 of its pairs, over 2
    assert content["alpha"]["value"] == pytest.approx(1 - 5 * (4 / 2) / (36 - 4 - 1 - 9))
    text = agree(*paths).stdout
    assert "alpha of kinds 0.545 | 2 items, 3 raters" in text
    assert max(map(len, text.splitlines())) <= 100


def test_what_cannot_be_read_or_compared_is_one_line(run: Path, tmp_path: Path) -> None:
    hand = table(tmp_path / "hand.csv", run)
    assert agree(hand).exit_code == 2
    assert agree(hand, tmp_path / "none.csv").exit_code == 2
    assert agree(hand, tmp_path / "acts.jsonl").exit_code == 2
    assert agree(hand, run, "--as-given").exit_code == 2
    other = tmp_path / "other.csv"
    other.write_text("call,side,kind,start_s,end_s\nthree,A,pause,1,2\n")
    result = agree(other, run)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "expected calls that all have labelled, got none" in result.stderr


def test_an_unreadable_recording_among_many_is_named(run: Path, tmp_path: Path) -> None:
    hand = table(tmp_path / "hand.csv", run)
    write_json(run / "two" / TURNS, {})
    assert "calls that cannot be read, left out: 1: " in " ".join(agree(hand, run, code=1).stdout.split())
    meta = json.loads((run / "one" / META).read_text())
    write_json(run / "one" / META, meta | {"status": "interrupted"})
    assert "got none" in agree(hand, run).stderr
