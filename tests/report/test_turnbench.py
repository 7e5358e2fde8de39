"""What is exported for TurnBench, by the rules of its scorer, on dialogues drawn as its annotators would label them."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fakes.recordings import drawn_recording
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.turnbench import SPEAKERS, Segment, TaskFigures, gold, problems, scored

from fdbcore.measures.reading import Reading
from fdbcore.report.exports.formats import export

KINDS = {"": "turn", "i": "interruption", "b": "backchannel"}


def segments_of(drawing: str) -> list[Segment]:
    """The labels of "A 0-2 5-7 | B 2.3-4.6 i5.5-6 b1-1.4". i: an interruption that takes the floor; b: backchannel."""
    return [
        Segment(speaker, KINDS[kind], float(start), float(end))  # type: ignore[arg-type]
        for speaker, side in zip(SPEAKERS, drawing.split("|"), strict=True)
        for kind, start, end in re.findall(r"([ib]?)([\d.]+)-([\d.]+)", side)
    ]


def exported(folder: Path, drawings: Sequence[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """The submission of drawn recordings, and their lengths in seconds."""
    drawn = [re.sub("[ib](?=[0-9])", "", drawing) for drawing in drawings]
    recordings = [drawn_recording(folder / "RUN" / str(number), each) for number, each in enumerate(drawn)]
    (path,) = export(recordings, "turnbench")
    lengths_s = {each.path.name: Reading(each.path).n_ticks / 100 for each in recordings}
    return json.loads(path.read_text()), lengths_s


def figures(folder: Path, drawing: str) -> dict[str, TaskFigures]:
    submission, lengths_s = exported(folder, [drawing])
    assert problems(submission, lengths_s) == []
    return dict(scored(submission["predictions"][0], segments_of(drawing)))


def test_the_rules_give_all_to_who_commits_to_the_labels_themselves() -> None:
    """ "A correct model scores recall 1.0, fp_rate 0.0 by construction", says the scorer's README."""
    drawing = "A 0-2 2.6-4 9-12 b5.5-5.9 | B 4.4-8 i11.5-15 b3-3.3"
    wanted = gold(segments_of(drawing))
    itself: dict[str, Any] = {each: {task: of.moments[each] for task, of in wanted.items()} for each in SPEAKERS}
    found = scored(itself, segments_of(drawing))
    assert [(of.missed, of.false) for of in found.values()] == [(0, 0), (0, 0)]
    assert wanted["eot"].moments == {"speaker_1": [4.0, 12.0], "speaker_2": [8.0, 15.0]}
    assert wanted["eot"].spans["speaker_1"] == [(2.0, 2.6)]
    assert wanted["interruption"].moments["speaker_2"] == [11.5]
    assert wanted["interruption"].spans == {"speaker_1": [(5.5, 5.9)], "speaker_2": [(3.0, 3.3)]}


@pytest.mark.parametrize("gap_s", [0.0, 0.3, 0.9, 1.5])
def test_turns_that_are_answered_in_time_are_found_in_time(gap_s: float, tmp_path: Path) -> None:
    """It is known once the other side has spoken for short_ms, and min_silence_ms and the activity's delay are over."""
    starts = [n * (2 + gap_s) for n in range(6)]
    a, b = (" ".join(f"{start:.2f}-{start + 2:.2f}" for start in starts[side::2]) for side in (0, 1))
    found = figures(tmp_path, f"A {a} | B {b}")["eot"]
    assert (found.found, found.missed) == (5, 1), "nobody takes the floor after the last turn"
    assert all(latency_s == pytest.approx(gap_s + 1 + 0.2 + 0.2, abs=0.03) for latency_s in found.latencies_s)


def test_an_answer_after_1_6_s_is_known_too_late(tmp_path: Path) -> None:
    found = figures(tmp_path, "A 0-2 7-9 | B 4-6")["eot"]
    assert (found.found, found.missed) == (1, 2), "only B's turn, which A follows within 1 s"


def test_pauses_and_backchannels_fool_it_not(tmp_path: Path) -> None:
    drawing = "A 0-2 2.6-4 5-7 | B b1-1.4 b4.3-4.7 b6-6.5 7.4-10"
    found = figures(tmp_path, drawing)
    assert (found["eot"].false, found["eot"].quiet) == (0, 2)
    assert (found["interruption"].false, found["interruption"].quiet) == (0, 3)
    assert (found["eot"].found, found["eot"].missed) == (1, 1)


def test_who_takes_the_floor_in_overlap_interrupts_and_ends_the_other_turn(tmp_path: Path) -> None:
    found = figures(tmp_path, "A i2-6 | B 0-2.5 6.4-9")
    assert (found["interruption"].found, found["interruption"].missed) == (1, 0)
    assert found["interruption"].latencies_s[0] <= 3
    assert (found["eot"].found, found["eot"].missed) == (2, 1), "B's cut turn, and A's; not the last one"
    kept = figures(tmp_path / "kept", "A 2-2.5 | B 0-5")
    assert (kept["interruption"].found, kept["interruption"].missed) == (0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 300), st.integers(-40, 250)), min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)
def test_any_dialogue_is_a_valid_submission(drawn: list[tuple[bool, int, int]]) -> None:
    at, sides = 50, (["0-0.01"], ["0-0.01"])
    for is_a, length, gap in drawn:
        start = max(at + gap, 5)
        sides[is_a].append(f"{start / 100:.2f}-{(start + length) / 100:.2f}")
        at = start + length
    with TemporaryDirectory() as folder:
        submission, lengths_s = exported(Path(folder), [f"A {' '.join(sides[0])} | B {' '.join(sides[1])}"] * 2)
        assert problems(submission, lengths_s) == []
