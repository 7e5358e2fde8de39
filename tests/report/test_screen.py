"""The terminal screen: what it says of drawn dialogues, and that it fits."""

import re
from pathlib import Path
from typing import Any

import pytest
from fakes.recordings import META, drawn_recording, sample_recording
from helpers.documents import document_of

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.score import score
from fdbcore.analysis.survey import survey
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import HEALTH, write_json
from fdbcore.recording.labels import Label, keep_labels
from fdbcore.report.call.screen import in_words, run_screen, screen

SILENT = "A 0-3 |"
ONE_ANSWER = "A 0-3 5-6 | B 3.4-3.8"
NO_ANSWER = "A 0-2 13-15 | B 30-31"


def shown(path: Path, drawing: str, **meta: Any) -> str:
    recording = drawn_recording(path, drawing, **meta)
    return screen(recording, document_of(recording))


def test_the_sample(tmp_path: Path) -> None:
    recording = sample_recording(tmp_path / "sample")
    lines = screen(recording, document_of(recording)).splitlines()
    assert lines[0] == "sample.flac 1:06   A left   B right   VAD silero 0.4.0-2, 10 ms"
    assert lines[1] == "health              ok"
    del lines[1]
    text = " ".join("\n".join(lines[1:]).split())
    assert re.fullmatch(
        r"response rate 6/7 \| response latency 0\.60 s \(median\) \| premature responses 1/7 \| "
        r"no response within 10 s 0/7 "
        r"A talks over B 3 times for more than 1 s \| barge-in yield rate 1/3 \(a deaf system: 1\.\d\), "
        r"stop latency 0\.50 s \(median\) \| backchannels 1, yield rate 0/1 "
        r"B talks over A twice for more than 1 s \| A stopped at once 1 \(by chance 0\.\d\) \| backchannels 0 \| "
        r"lapses \(> 3 s\) 1, longest 4\.00 s \| B's initial silence 0\.70 s "
        r"worst 0:35 slow response 4\.0 s 0:50 talk-over 1\.6 s report\.html#t=34\.99",
        text,
    )


def test_nothing_is_invented_where_there_is_nothing(tmp_path: Path) -> None:
    text = shown(tmp_path / "call", SILENT)
    assert "!! B never spoke: no speech found, digitally silent" in text
    assert "no finished turn of A to answer" in text
    assert "no speech of B" in text
    assert "nothing out of the ordinary" not in text
    assert not re.search(r"\bnan\b", text.lower())
    assert "None" not in text


def test_no_answers_are_no_latency(tmp_path: Path) -> None:
    told = "0/2 | no responses | premature responses 0/2 | no response within 10 s 2/2"
    assert told in " ".join(shown(tmp_path / "call", NO_ANSWER).split())


def test_a_barge_in_that_was_obeyed_at_once_is_told(tmp_path: Path) -> None:
    text = shown(tmp_path / "call", "A 0-2 6-9 | B 2.5-6.15 9.5-11")
    assert re.search(r"A talks over B +once for more than 1 s \| B stopped at once 1 \(by chance 0\.\d\) \| ", text)
    assert "stopped at once" not in shown(tmp_path / "other", "A 0-2 6-9 | B 2.5-8 9.5-11")


def test_speech_over_the_other_is_counted_alike_on_both_sides(tmp_path: Path) -> None:
    """Four long onsets: after one the other stops at once, after one within 2 s, after one never; one began with it."""
    one, other = "0-2 6-9 16-19 26-28 36-39", "2.5-6.15 9.5-11 12-17 22-30 35.9-41"
    found = []
    for name, drawing in (("call", f"A {one} | B {other}"), ("mirrored", f"A {other} | B {one}")):
        recording = drawn_recording(tmp_path / name, drawing)
        lines = screen(recording, document_of(recording))
        tiles = in_words(score(recording)["measures"], recording.dialogue).tiles("call tile")
        page = " ".join(f"{tile.figure.name} {tile.figure.value}" for tile in tiles)
        found += [dict(re.findall(r"^([AB] talks over [AB]) +(never|once|twice|\d times)", lines, re.MULTILINE))]
        found += [dict(re.findall(r"([AB] talks over [AB]) (never|once|twice|\d times)", page))]
    assert found[0] == found[1] == {"A talks over B": "3 times", "B talks over A": "never"}
    assert found[2] == found[3] == {"B talks over A": "3 times", "A talks over B": "never"}


def test_the_line_with_echo_tells_of_the_last_turn_with_echo(tmp_path: Path) -> None:
    """B spoke last; with its echo A did, and was not answered."""
    recording = drawn_recording(tmp_path / "call", "A 0-2 7-8 | B 2.4-6")
    health = {"schema": "fdbcore.health/2", "verdict": "ok", "sides": {}, "findings": []}
    write_json(recording.path / HEALTH, health | {"suspect": {"A": [[700, 800]], "B": []}})
    recording = Reading(recording.path)
    lines = screen(recording, document_of(recording)).splitlines()
    (own,) = (line for line in lines if line.startswith("response rate"))
    assert own.endswith("1/1 | response latency 0.40 s (median) | premature responses 0/1 | no response")
    assert "  with echo         1/1" in lines[lines.index(own) + 2]
    assert " ".join(" ".join(lines[lines.index(own) + 2 :]).split()).find("A's last turn: unanswered, or hung up") > 0


def test_labelled_turn_ends_that_a_silent_system_left_are_in_the_denominator(tmp_path: Path) -> None:
    """Of 26 labelled turn ends, mostly 3 to 7 s apart, the last alone may be a hang-up."""
    starts = [6.0 * k for k in range(26)]
    recording = drawn_recording(tmp_path / "call", "A {} |".format(" ".join(f"{s:g}-{s + 2:g}" for s in starts)))
    keep_labels(recording.path, "hand.csv", [Label("A", "turn_end", s + 2, s + 2) for s in starts])
    assert "by your labels      response rate 0/25 turn ends" in screen(recording, document_of(recording))


def test_the_90th_percentile_needs_ten_answers(tmp_path: Path) -> None:
    text = " ".join(f"{4 * turn}-{4 * turn + 1}" for turn in range(12))
    answers = " ".join(f"{4 * turn + 1.5}-{4 * turn + 3.5}" for turn in range(12))
    assert "12/12 | response latency 0.50 s (median), p90 0.50 s" in shown(tmp_path / "many", f"A {text} | B {answers}")
    assert "p90" not in shown(tmp_path / "one", ONE_ANSWER)


def test_two_files_are_named_by_side(tmp_path: Path) -> None:
    files = [{"path": "calls/agent.wav"}, {"path": "calls/caller.wav"}]
    sides = {"A": {"file": 1, "channel": "mono"}, "B": {"file": 0, "channel": "mono"}}
    source = {"files": files, "sides": sides, "playable_in_browser": False}
    assert "   A caller.wav   B agent.wav   " in shown(tmp_path / "call", ONE_ANSWER, source=source)


def test_detectors_that_differ_are_both_named(tmp_path: Path) -> None:
    vad = {"A": {"name": "silero", "version": "1"}, "B": {"name": "energy"}}
    text = shown(tmp_path / "call", ONE_ANSWER, settings={**META["settings"], "vad": vad})
    assert "VAD silero 1 / energy, 10 ms" in text


def test_a_long_line_is_broken_between_words_and_no_number_is_cut(tmp_path: Path) -> None:
    recording = sample_recording(tmp_path / "sample")
    scores = document_of(recording)
    for size in ("long", "short"):
        scores["measures"][f"b_stopped_within_2s_per_{size}_a_onset"] |= {"n": 1_234_567, "count": 1_234_567}
    text = screen(recording, scores)
    assert max(map(len, text.splitlines())) <= 100
    assert "backchannels 1234567, yield rate 1234567/1234567" in " ".join(text.split())


@pytest.mark.parametrize("drawing", [SILENT, ONE_ANSWER, NO_ANSWER])
def test_lines_fit_a_terminal(drawing: str, tmp_path: Path) -> None:
    text = shown(tmp_path / ("a-name-that-is-longer-than-a-line-can-hold-" * 4), drawing)
    assert max(map(len, text.splitlines())) <= 100


def test_a_run_has_a_line_a_session_and_one_of_all(tmp_path: Path) -> None:
    recordings = [drawn_recording(tmp_path / f"call-{n}", d) for n, d in enumerate([SILENT, ONE_ANSWER, NO_ANSWER])]
    for recording in recordings:
        score(recording)
    lines = run_screen(survey(Run(tmp_path))).splitlines()
    assert lines[0].startswith("3 calls, 0:49")
    assert lines[1] == "!! call-0: B never spoke: no speech found, digitally silent"
    table = next(number for number, line in enumerate(lines) if line.startswith("call "))
    assert not [line for line in lines[table + 5 :] if line.startswith("!! call")], "known before any number"
    lines = lines[table + 1 :]
    of_calls, findings = [line for line in lines if line[0] != " "], [line for line in lines if line[0] == " "]
    assert [line.split()[:3] for line in of_calls[:4]] == [
        ["call-0", "0:06", "0/0"],
        ["call-1", "0:09", "1/1"],
        ["call-2", "0:34", "0/2"],
        ["all", "0:49", "1/3"],
    ]
    assert findings == ["  !! B never spoke: no speech found, digitally silent", "  0:15 no response 15.0 s"]
    assert "median response latency 0.40 s" in of_calls[4]
    assert max(map(len, lines)) <= 100
