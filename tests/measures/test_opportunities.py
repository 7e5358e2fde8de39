"""What B had to answer, in dialogues drawn by hand and against a naive count; what the line says of A's last turn."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from fakes.recordings import META, SIDES, drawn_recording
from helpers.drawn import activity, dialogue
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.score import score
from fdbcore.analysis.sensitivity import reread, variant
from fdbcore.measures.answers import response_curve
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.hang_up import Line
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.moments import moments
from fdbcore.measures.opportunities import opportunities_in
from fdbcore.measures.quantities import Share, Values
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.files import RECORDING_SCHEMA
from fdbcore.recording.labels import KeptLabels, Label, keep_labels
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings


def counts(drawn: Dialogue) -> tuple[int, int, int, int]:
    found = opportunities_in(drawn)
    return len(found.answered), len(found.premature), len(found.missed), found.censored


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("A 0-2 5.1-7 | B 7.4-9", (1, 0, 1, 0)),  # waits 3.1 s, goes on, is answered
        ("A 0-2 4.9-7 | B 7.4-9", (1, 0, 0, 0)),  # 2.9 s are a pause
        ("A 0-2 7-9 | B 3-3.4 9.4-11", (2, 0, 0, 0)),  # a word is an answer, too
        ("A 0-2 13-15 | B 15.4-17", (1, 0, 1, 0)),  # 11 s are one silence, not a wait and a missing answer
        ("A 0-2 6-8 12-14 18-20 | B 20-22", (1, 0, 3, 0)),
        ("A 0-2 | B 12.5-14", (0, 0, 1, 0)),  # too late
        ("A 0-3 | B 2-6", (0, 1, 0, 0)),
        ("A 6-8 14-16 | B 0-4", (0, 0, 1, 1)),
    ],
)
def test_every_end_of_a_turn_and_every_long_wait_is_an_opportunity(
    drawing: str, expected: tuple[int, int, int, int]
) -> None:
    assert counts(dialogue(drawing)) == expected


def test_a_backchannel_of_a_is_no_turn_that_asks_for_an_answer() -> None:
    """It comes in a pause of B, which goes on; and after B's answer, before A's next words."""
    for drawing, before in (
        ("A 0-2 5.2-5.7 9.5-11 | B 2.5-5 6.2-8", (2, 0, 0, 1)),
        ("A 0-2 5.2-5.7 16-18 | B 2.5-5 18.5-20", (2, 0, 1, 0)),
    ):
        drawn = dialogue(drawing)
        assert counts(drawn) == before
        answered, cut_off, missed, censored = before
        told = replace(drawn, backchannels=[(520, 565)])
        assert counts(told) == (answered - (not missed), cut_off, 0, censored)


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("A 0-2 4.9-7 | B 7.4-9", (1, 0, 1, 0)),
        ("A 0-2 5.1-7 | B 7.4-9", (1, 0, 1, 0)),  # a wait by its length, too: it counts once
        ("A 0-2 13-15 | B 15.4-17", (1, 0, 1, 0)),  # so does a missing answer
        ("A 0-2 4.9-7 | B 2.5-4.5 7.4-9", (2, 0, 0, 0)),  # A was wrong
    ],
)
def test_a_silence_that_the_caller_took_for_no_answer_is_an_opportunity(
    drawing: str, expected: tuple[int, int, int, int]
) -> None:
    assert counts(replace(dialogue(drawing), given_up=[350])) == expected


def test_a_system_that_dies_is_counted_against_for_as_long_as_the_caller_asks() -> None:
    """B answers 8 times, and is dead from 0:50 on, while A asks 18 more times, mostly 3 to 7 s apart."""
    asked = [(6.0 * k, 6.0 * k + 2) for k in range(8)]
    answers = [(6.0 * k + 2.5, 6 * k + 5) for k in range(8)]
    start, waits = 48.0, [4.0, 3.5, 6.5, 5.0, 2.0, 7.0] * 3
    for wait in waits:
        asked.append((start, start + 2))
        start += 2 + wait
    drawing = "A {} | B {}".format(*(" ".join(f"{a:g}-{b:g}" for a, b in side) for side in (asked, answers)))
    measures = timing_quantities(dialogue(drawing))
    long_waits = sum(wait > 3 for wait in waits[:-1])
    expected = Share(8, 8 + long_waits, {"censored": 1})
    assert measures["answered_per_turn"] == expected
    assert measures["no_response_per_turn"] == Share(long_waits, 8 + long_waits, {"censored": 1})
    assert response_curve(dialogue(drawing))[1] == 8 + long_waits


def test_the_wait_that_counts_is_a_setting() -> None:
    a, b = activity("A 0-2 7-9 | B 9.4-11")
    longer = TurnSettings(lapse_ms=5000)
    assert counts(Dialogue(detect_turns(a, b, longer), len(a), longer)) == (1, 0, 0, 0)
    assert (
        timing_quantities(Dialogue(detect_turns(a, b, longer), len(a), longer))["lapse_s"]
        == timing_quantities(dialogue("A 0-1 | B 1-2"))["lapse_s"]
    )


def test_what_is_called_a_pause_is_waited_through() -> None:
    drawn = dialogue("A 0-2 6-8 12-14 26-27 | B 27.5-29", pauses=[(190, 610), (1400, 2600)])
    assert counts(drawn) == (1, 0, 1, 0)
    assert timing_quantities(drawn)["answered_per_turn"] == Share(1, 2, {"censored": 0, "waited": 2})
    told = [(moment.kind, moment.start_tick) for moment in moments(drawn)]
    assert told == [("no_answer", 800), ("lapse", 1400), ("lapse", 200)]


@pytest.mark.parametrize(
    ("drawing", "pause", "expected", "excluded"),
    [
        ("A 0-2 3.6-5 | B 2.4-4 5.9-8", (200, 360), (1, 0, 0), {"cut_in": 1}),
        ("A 0-2 5.6-7 | B 4.4-6 7.9-10", (200, 560), (1, 0, 0), {"cut_in": 1}),
        ("A 0-2 | B 2-4", (200, 300), (0, 0, 0), {"cut_in": 1}),
        ("A 0-3 | B 2.7-5", (265, 500), (0, 0, 0), {"cut_in": 1}),  # A ended earlier, by label
        ("A 0-2 | B 11-12", (200, 1000), (0, 0, 0), {"waited": 1}),  # B came when the pause was over
        ("A 0-3 | B 2.5-4", (300, 600), (0, 1, 0), {}),  # and here before it
        ("A 0-2 | B 3-4", (200, 240), (1, 0, 0), {}),
        ("A 0-2 | B 2-4", (400, 500), (1, 0, 0), {}),
    ],
)
def test_what_b_begins_in_a_pause_of_a_is_no_answer(
    drawing: str, pause: tuple[int, int], expected: tuple[int, int, int], excluded: dict[str, int]
) -> None:
    drawn, plain = dialogue(drawing, pauses=[pause]), dialogue(drawing)
    assert counts(drawn)[:3] == expected
    assert timing_quantities(drawn)["answered_per_turn"] == Share(
        expected[0], sum(expected), {"censored": 0, **excluded}
    )
    latencies_ms, eligible = response_curve(drawn)
    assert (len(latencies_ms), eligible) == (expected[0], sum(expected))
    of_answers = ("slow_answer", "no_answer", "cut_off")
    told, unlabelled = ([m.kind for m in moments(each) if m.kind in of_answers] for each in (drawn, plain))
    assert told == ([] if excluded else unlabelled)


def test_a_call_whose_pauses_b_cuts_into_has_as_many_opportunities_as_turn_ends(tmp_path: Path) -> None:
    """Six times A pauses for 1.6 s, into which B cuts after 0.4 s; to the end of each turn it answers after 1.5 s."""
    starts = [12.0 * k for k in range(6)]
    a = " ".join(f"{s:g}-{s + 2:g} {s + 3.6:g}-{s + 7:g}" for s in starts)
    b = " ".join(f"{s + 2.4:g}-{s + 5.4:g} {s + 8.5:g}-{s + 11:g}" for s in starts)
    recording = drawn_recording(tmp_path / "call", f"A {a} | B {b}")
    labels = [Label("A", "pause", s + 2, s + 3.6) for s in starts]
    labels += [Label("A", "turn_end", s + 7, s + 7) for s in starts]
    keep_labels(recording.path, "hand.csv", labels)
    measures = score(recording)["measures"]
    for name in ("answered_per_turn", "answered_per_labelled_turn_end", "cut_off_per_labelled_a_pause"):
        assert (measures[name]["count"], measures[name]["n"]) == (6, 6)
    assert measures["response_latency_ms"]["median"] == 1500
    assert measures["answered_per_turn"]["excluded"]["cut_in"] == 6
    varied = reread(recording.path, [variant({})]).headlines[0]
    assert varied["answered_per_turn"] == Share(6, 6, {"censored": 0, "cut_in": 6})


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [([], [4, 11.5]), ([(200, 600)], [11.5]), ([(800, 1350)], [4]), ([(190, 610), (800, 1950)], [])],
)
def test_waits_are_a_part_of_the_missing_answers(pauses: list[tuple[int, int]], expected: list[float]) -> None:
    """A silence of 11.5 s is missing after 10 s: of these a pause of 5.5 s is the greater part."""
    drawn = dialogue("A 0-2 6-8 19.5-21 | B 21.5-23", pauses=pauses)
    measures = timing_quantities(drawn)
    assert measures["a_unanswered_wait_s"] == Values("s", expected)
    assert measures["no_response_per_turn"] == Share(
        len(expected), len(expected) + 1, {"censored": 0} | ({"waited": len(pauses)} if pauses else {})
    )


@pytest.mark.parametrize(
    ("line", "tail_s", "expected"),
    [
        ("closed", 14, (0, 0, 0, 1)),  # nobody recorded this silence
        ("recorded", 14, (0, 0, 1, 0)),  # who hangs up leaves none behind
        ("recorded", 9.9, (0, 0, 0, 1)),
        ("held", 14, (0, 0, 1, 0)),
        ("held", 10, (0, 0, 1, 0)),
        ("held", 9.9, (0, 0, 0, 1)),
        ("open", 14, (0, 0, 1, 0)),
        ("open", 1, (0, 0, 1, 0)),
        ("open", 0.1, (0, 0, 0, 1)),  # A may be speaking still
    ],
)
def test_the_last_turn_of_a_is_missed_where_the_line_was_open(
    line: Line, tail_s: float, expected: tuple[int, int, int, int]
) -> None:
    drawn = dialogue("A 0-2 |", tail_s, line)
    assert counts(drawn) == expected
    turn = next(event for event in drawn.events if event.kind == "turn")
    assert turn.censored == (not expected[2])  # the turn is drawn as its answer is counted
    silence = [event for event in drawn.events if event.kind == "no_response"]
    assert all(event.censored == turn.censored for event in silence)
    assert [moment.kind for moment in moments(drawn)] == (["no_answer"] if expected[2] and tail_s > 1 else [])
    by_hand = KeptLabels("by hand", [Label("A", "turn_end", 2.0, 2.0)], [])
    assert labelled_quantities(drawn, by_hand)["answered_per_labelled_turn_end"] == Share(
        0, expected[2], {"censored": expected[3]}
    )


@pytest.mark.parametrize("line", ["closed", "held", "open"])
def test_the_line_says_nothing_where_b_spoke_last(line: Line) -> None:
    drawn = dialogue("A 0-2 6-8 | B 2.5-5 8.5-10", 14, line)
    assert drawn.events == drawn.detected
    assert counts(drawn) == (2, 0, 0, 0)


def test_a_labelled_turn_end_after_which_a_goes_on_is_unanswered() -> None:
    ends = [Label("A", "turn_end", end, end) for end in (2.0, 7.0, 12.0)]
    measures = labelled_quantities(dialogue("A 0-2 5-7 10-12 |", 2), KeptLabels("by hand", ends, []))
    assert measures["answered_per_labelled_turn_end"] == Share(0, 2, {"censored": 1})


PARTY: Final = {"A": {"kind": "replay"}, "B": {"kind": "replay"}}
V1: Final = {"files": [{"path": "1/input.wav"}, {"path": "1/output.wav"}], "playable_in_browser": False}


HELD = {**META, "schema": RECORDING_SCHEMA, "status": "complete", "parties": {**PARTY, "B": {"kind": "moshi"}}}


@pytest.mark.parametrize(
    ("meta", "line"),
    [
        ({}, "recorded"),
        ({"parties": {**PARTY, "B": {"kind": "webrtc"}}}, "held"),
        ({"held": {"path": "", "meta": HELD}}, "held"),
        ({"parties": {**PARTY, "B": {"kind": "webrtc"}}, "settings": META["settings"] | {"max_s": 14.0}}, "cut"),
        ({"parties": {"A": {"kind": "clip"}, "B": {"kind": "moshi"}}}, "open"),
        ({"source": V1 | {"sides": SIDES}}, "open"),
        ({"settings": META["settings"] | {"line_open": True}}, "open"),
    ],
)
def test_the_line_of_a_recording(meta: dict[str, Any], line: str, tmp_path: Path) -> None:
    drawn = drawn_recording(tmp_path / "call", "A 0-2 |", 12, **meta).dialogue
    assert drawn.line == line
    assert counts(drawn) == ((0, 0, 1, 0))


@pytest.mark.parametrize(("max_s", "expected"), [(600.0, (0, 0, 1, 0)), (5.0, (0, 0, 0, 1))])
def test_a_limit_that_cuts_the_answer_off_leaves_none_missing(
    max_s: float, expected: tuple[int, int, int, int], tmp_path: Path
) -> None:
    """A clip waits 3 s for the answer: B has had its chance if the clip ended the call, not if the limit did."""
    parties = {"A": {"kind": "clip"}, "B": {"kind": "moshi"}}
    settings = META["settings"] | {"max_s": max_s}
    reading = drawn_recording(tmp_path / "call", "A 0-2 |", 3, parties=parties, settings=settings)
    assert reading.n_ticks == 500
    assert counts(reading.dialogue) == expected


def test_a_pause_that_the_clip_of_a_call_has_is_waited_through(tmp_path: Path) -> None:
    labels = {"pause": [{"text": "[PAUSE]", "timestamp": [2.0, 6.0]}]}
    clip = {"name": "pause-1", "path": "clips/pause-1", "group": "pause", "labels": labels}
    case = {"name": "call", "system": "moshi", "trial": 1, "clip": clip}
    meta: dict[str, Any] = {"parties": {"A": {"kind": "clip"}, "B": {"kind": "moshi"}}, "case": case}
    found = opportunities_in(drawn_recording(tmp_path / "call", "A 0-2 6-8 | B 8.5-9", **meta).dialogue)
    assert (len(found.answered), len(found.missed), len(found.waited)) == (1, 0, 1)


RUNS = st.lists(st.integers(25, 1500), min_size=1, max_size=15)


@given(RUNS, st.sampled_from(["closed", "held", "open"]))
def test_a_silent_system_misses_every_long_silence(runs: list[int], line: Any) -> None:
    """Against a count by eye: silences of A longer than 3 s, and the last one as the line says."""
    track = "".join("#."[k % 2] * length for k, length in enumerate(runs))
    a = np.array([tick == "#" for tick in track])
    drawn = Dialogue(detect_turns(a, np.zeros_like(a)), len(a), TurnSettings(), line=line)
    last = len(re.search(r"\.*$", track)[0])  # type: ignore[index]
    expected = len(re.findall(r"(?=#\.{301,}#{20,})", track))
    expected += (line == "open" and last >= 20) or (line == "held" and last >= 1000)
    assert len(opportunities_in(drawn).missed) == expected
    assert all(not a[e.start_tick : e.end_tick].any() for e in opportunities_in(drawn).missed)
