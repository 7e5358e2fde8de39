"""What must be known before any number is told first, on the screen and on the page."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from fakes.parties import Caller, Speaker
from fakes.recordings import drawn_recording
from helpers.documents import document_of

from fdbcore.analysis.comparison import Sides
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.input_notes import input_notes
from fdbcore.analysis.score import score
from fdbcore.analysis.survey import survey
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.call_warnings import MOST_MADE_UP_SHARE, MOST_SHOWN, call_warnings
from fdbcore.measures.reading import Reading
from fdbcore.registry import endpoint
from fdbcore.report.call.page import page
from fdbcore.report.call.screen import run_screen, screen
from fdbcore.report.comparison.junit import junit
from fdbcore.report.run.page import write_index
from fdbcore.report.run.screen import corpus_screen
from fdbcore.report.run.tables import write_calls
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import SAMPLE_RATE_HZ

DRAWING = "A 0-3 5-6 | B 3.4-3.8"
QUIET, SPEECH = [False] * 100, [tick % 50 >= 20 for tick in range(100)]
DONE = {"kind": "done", "side": None, "reason": None}
FAILED = {"kind": "failed", "side": "B", "reason": "hung up on us"}
SELFTEST = {"schema": "fdbcore.selftest/1", "created": "2026-01-31T09:30:00Z", "broke": []}


def held(path: Path, b: dict[str, Any] | None = None, **meta: Any) -> Reading:
    timing = {"realtime": True, "late": 0, "missed": 0, "suspends": [], "sides": {"A": {}, "B": b or {}}}
    return drawn_recording(path, DRAWING, **{"outcome": DONE, "timing": timing, **meta})


def test_nothing_is_said_of_a_call_that_went_well(tmp_path: Path) -> None:
    assert call_warnings(held(tmp_path / "call", selftest=SELFTEST | {"passed": True})) == []
    assert call_warnings(drawn_recording(tmp_path / "replayed", DRAWING)) == []


def test_a_failure_and_a_distrusted_clock_stand_before_all_numbers(tmp_path: Path) -> None:
    selftest = SELFTEST | {"passed": False, "broke": ["2 ticks missed"]}
    recording = held(tmp_path / "call", outcome=FAILED, selftest=selftest)
    scores = document_of(recording)
    failed, distrusted = scores["warnings"]
    assert failed == "the call failed: side B: hung up on us"
    assert "self-test" in distrusted
    assert "2 ticks missed" in distrusted
    text = page(recording, scores)
    assert text.index("The call failed") < text.index("At a glance")
    assert text.index("outcome: failed: side B: hung up on us") < text.index("At a glance")
    assert text.index("2 ticks missed") < text.index("At a glance")
    assert f"!! {failed}" in screen(recording, scores)
    of_run = run_screen(survey(Run(tmp_path)))
    assert "!! the call failed" in of_run
    assert "1 of 1 scored calls failed" in of_run.splitlines()[0]


def test_what_a_server_did_not_confirm_is_named_of_each_call(tmp_path: Path) -> None:
    told = [("voice", "marin", "alloy"), ("speed", 1.2, None), ("prompt", "x" * 99, "y"), ("a", 1, 2), ("b", 1, 2)]
    differs = [dict(zip(("setting", "asked", "confirmed"), each, strict=True)) for each in told]
    recording = held(tmp_path / "call", parties={"B": {"kind": "openai-realtime", "differs": differs}})
    (warning,) = document_of(recording)["warnings"]
    assert warning == (
        "B's server did not confirm what was asked for: voice (marin; it confirmed alloy); speed (1.2; nothing "
        f"confirmed); prompt ({'x' * 15}…{'x' * 14}; it confirmed y) and 2 more"
    )


def test_texts_of_a_system_of_ones_own_that_hold_no_text_are_named(tmp_path: Path) -> None:
    """Also where the times of one are no numbers, or in no order; what can be read of it counts."""
    recording = held(tmp_path / "call")
    told = [
        {"text": "Yes."},
        {"text": 5},
        {"text": "No.", "start_ms": "soon"},
        "no object",
        {"text": "", "end_ms": 3.5},
        {"text": "At once.", "start_ms": 3, "end_ms": 3},
        {"text": "Back.", "start_ms": 900, "end_ms": 890.5},
        {"text": "Half.", "start_ms": 900, "end_ms": "soon"},
    ]
    told_by_b(recording.path, *told)
    (warning,) = call_warnings(Reading(recording.path))
    assert warning == (
        "`text` events of B: expected a text, and times in ms if any, got 5 such, the first \"{'text': 5}\"; "
        "texts with wrong times are read without them"
    )


def test_of_a_long_text_with_wrong_times_its_beginning_and_the_times_are_shown(tmp_path: Path) -> None:
    recording = held(tmp_path / "call")
    text = "We have a table for four at eight, by the window, and another one at nine in the garden."
    told_by_b(recording.path, {"text": text, "start_ms": 4000, "end_ms": 1200})
    (warning,) = call_warnings(Reading(recording.path))
    shown = warning.partition("the first ")[2].partition("; texts")[0].strip('"')
    assert len(shown) == MOST_SHOWN
    assert shown.startswith("{'text': 'We have a table for four")
    assert shown.endswith("'start_ms': 4000, 'end_ms': 1200}")


def told_by_b(path: Path, *told: object) -> None:
    """Add to a recording what B told as `text`."""
    with (path / "events.jsonl").open("a") as events:
        for data in told:
            events.write(json.dumps({"tick": 9, "side": "B", "kind": "event", "name": "text", "data": data}) + "\n")


def test_a_call_that_outlasted_the_system_says_since_when(tmp_path: Path) -> None:
    (failed,) = call_warnings(held(tmp_path / "call", outcome={**FAILED, "gone_tick": 430}))
    assert failed == (
        "the call failed: side B: hung up on us (nothing came from it after 0:04; what had come was still heard, "
        "and later turns went unanswered)"
    )


@pytest.mark.parametrize("counted", ["padded_samples", "concealed_samples", "lost_samples"])
@pytest.mark.parametrize("more", [0, 1])
def test_audio_that_was_made_up_is_told_above_a_stated_share(tmp_path: Path, counted: str, more: int) -> None:
    n_samples = held(tmp_path / "whole").n_ticks * 480
    recording = held(tmp_path / "call", {counted: int(MOST_MADE_UP_SHARE * n_samples) + more})
    assert len(call_warnings(recording)) == more


def test_half_a_second_lost_in_one_piece_is_told_of_any_call(tmp_path: Path) -> None:
    share = int(MOST_MADE_UP_SHARE * held(tmp_path / "whole").n_ticks * 480)
    for longest, told in ((SAMPLE_RATE_HZ // 2, 1), (SAMPLE_RATE_HZ // 2 - 1, 0)):
        recording = held(tmp_path / "call", {"lost_samples": share, "longest_loss_samples": longest})
        assert len(call_warnings(recording)) == told


def test_silence_that_nothing_explains_is_told_unless_the_side_is_known_to_pause(tmp_path: Path) -> None:
    (told,) = call_warnings(held(tmp_path / "x", {"unexplained_samples": 3 * SAMPLE_RATE_HZ, "paused_samples": 480}))
    assert told == "nothing came from B for 3.0 s: it may have paused, or its packets may have been lost"
    assert not call_warnings(held(tmp_path / "y", {"unexplained_samples": 23_999}))
    paused = {"unexplained_samples": 3 * SAMPLE_RATE_HZ, "paused_samples": SAMPLE_RATE_HZ}
    assert not call_warnings(held(tmp_path / "z", paused))


def test_what_a_decoder_makes_up_in_a_pause_is_no_loss(tmp_path: Path) -> None:
    assert not call_warnings(held(tmp_path / "x", {"concealed_samples": 48_000, "lost_samples": 0}))


def test_many_small_losses_have_no_piece_to_tell_of(tmp_path: Path) -> None:
    (told,) = call_warnings(held(tmp_path / "x", {"lost_samples": 48_000, "longest_loss_samples": 960}))
    assert told.startswith("1.0 s of B's audio (")
    assert "in one piece" not in told


def test_lost_audio_is_told_of_a_run_before_its_figures(tmp_path: Path) -> None:
    calls = []
    for n, lost_s in enumerate((1.5, 2.5, 0.0)):
        measured = {"lost_samples": int(lost_s * SAMPLE_RATE_HZ), "longest_loss_samples": int(lost_s * SAMPLE_RATE_HZ)}
        recording = held(tmp_path / f"call_{n}", measured)
        score(recording)
        calls.append(Call(recording.name, recording.path, columns={"system": "ab"[n % 2]}))
    found = survey(Run(tmp_path, calls))
    (warned,) = found.warned().items()
    assert warned[0].startswith("1.5 s of B's audio (")
    assert warned[0].endswith(", and the like")
    assert warned[1] == ["call_0", "call_1"]
    for calls_of_run in (found, survey(Run(tmp_path, [replace(call, columns={}) for call in calls]))):
        told = corpus_screen(calls_of_run, 100)
        assert told.index("!!") < told.index("response")
    write_calls(tmp_path, found.rows)
    rows = list(csv.DictReader((tmp_path / "calls.csv").read_text("utf-8-sig").splitlines()))
    assert ["never" in row["warnings"] for row in rows] == [True, True, False]
    index = write_index(found).read_text()
    assert index.index("1.5 s of B&#39;s audio") < index.index("<table")
    note, *_ = input_notes(calls)
    assert note.text.startswith("audio missing in 2 calls: call_0 (1.5 s of B's audio (")
    notes = [f"run: {note.text}"]
    compared = Sides(Run(tmp_path, calls), CallGroup("", [], []), None, None, notes).compared(None, None)
    compared["gates"] = {
        "file": "gates.toml",
        "level": 0.95,
        "cannot_tell": "error",
        "exit_code": 0,
        "results": [],
        "calls": [],
    }
    assert "audio missing in 2 calls" in junit(compared)


def test_a_system_slower_than_real_time_is_told_with_its_speed(tmp_path: Path) -> None:
    measured = {"padded_samples": 81_600, "underruns": 83, "received_samples_per_s": 32_000.0}
    (told,) = call_warnings(held(tmp_path / "call", measured))
    assert told.startswith("1.7 s of B's audio (")
    assert told.endswith("came too late or never: 83 holes in its speech, it ran at 0.67 of real time")


def test_a_clip_that_is_cut_short_is_named(tmp_path: Path) -> None:
    clip = tmp_path / "user.wav"
    with WavWriter(clip, channels=1) as wav:
        wav.write(np.zeros(SAMPLE_RATE_HZ, np.int16))
    clip.write_bytes(clip.read_bytes()[:-4800])
    settings = LiveSettings(vad="energy", realtime=False)
    recording = converse(
        endpoint(f"clip:{clip}?tail_s=0"), Speaker([False] * 50), tmp_path / "x", settings, {}, Event()
    )
    assert any(text.startswith("user.wav: ") for text in call_warnings(recording))


@pytest.mark.parametrize(
    ("a", "b", "kind", "side"),
    [(QUIET, QUIET, "invalid", "A"), (SPEECH, QUIET, "failed", "B"), (QUIET, SPEECH, "done", None)],
)
def test_a_user_who_says_nothing_is_not_the_fault_of_the_system(
    tmp_path: Path, a: list[bool], b: list[bool], kind: str, side: str | None
) -> None:
    settings = LiveSettings(vad="energy", realtime=False)
    outcome = converse(Caller(a), Caller(b), tmp_path, settings, {}, Event()).meta["outcome"]
    assert (outcome["kind"], outcome["side"]) == (kind, side)
