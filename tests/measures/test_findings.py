"""What is said of a call before any figure, in calls drawn by hand: on the screen, the page, in tables and as JSON."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.recordings import drawn_recording
from helpers.commands import command, done
from helpers.documents import document_of
from helpers.drawn import activity

from fdbcore.analysis.score import score
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.findings import findings
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import ACTIVITY, EVENTS
from fdbcore.recording.labels import Label, keep_labels
from fdbcore.report.call.page import page
from fdbcore.report.call.screen import screen
from fdbcore.types import FRAME_SAMPLES

ALIVE = "A 0-2 6-8 12-14 18-20 24-26 | B 2.5-5 8.5-11 14.5-17 20.5-23 26.5-29"


def found(path: Path, drawing: str, tail_s: float = 3.0, **meta: Any) -> list[tuple[str, str, float]]:
    scores = score(drawn_recording(path, drawing, tail_s, **meta))
    return [(finding["id"], finding["text"], finding["start_s"]) for finding in scores["findings"]]


def drawing(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> str:
    return "A {} | B {}".format(*(" ".join(f"{start:g}-{end:g}" for start, end in side) for side in (a, b)))


def dead_agent(seconds_apart: float) -> str:
    """B answers seven times, and dies at 0:50; A asks 18 more times."""
    a, b = [(7.0 * k, 7.0 * k + 2) for k in range(7)], [(7.0 * k + 3, 7.0 * k + 5) for k in range(6)] + [(45.0, 50.0)]
    later = [52 + k * (2 + seconds_apart) for k in range(18)]
    return drawing(a + [(start, start + 2) for start in later], b)


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (ALIVE, []),
        (dead_agent(4), [("fell_silent", "B silent from 0:50 to the end while A spoke 18 times", 50.0)]),
        (dead_agent(1.5), [("fell_silent", "B silent from 0:50 to the end while A spoke 18 times", 50.0)]),
        ("A 0-2 6-8 |", [("never_spoke", "B never spoke: no speech found, digitally silent", 0.0)]),
        ("A | B 1-3 8-9", [("never_spoke", "A never spoke: no speech found, digitally silent", 0.0)]),
        # A good-bye of two words, and a long last answer of B to which A listens, are nothing.
        ("A 0-2 6-8 9.5-10 | B 2.5-5", []),
        ("A 0-2 | B 2.5-9 10.5-17 18.5-25 27-33", []),
        # B is gone for a while, and A goes on after pauses that ask for an answer; a listener is left shorter ones.
        (
            "A 0-2 6-9 11-14 16-18 20-22 24-27 36-38 | B 2.5-5 27.8-35",
            [("fell_silent", "B silent from 0:05 to 0:28 while A spoke 5 times", 5.0)],
        ),
        ("A 0-2 6-9 10.2-14 15.2-18 19.2-22 23.2-27 36-38 | B 2.5-5 27.8-35", []),
        # B dies on the last turn, and A hangs up soon.
        (
            "A 0-2 6-8 12-14 16.3-17 19.2-20 | B 2.5-5 8.6-11",
            [("fell_silent", "B silent from 0:11 to the end while A spoke 3 times", 11.0)],
        ),
        # B answers every second time, and A never waits for long: each wait is a pause of its turn.
        (
            "A 0-2 4-6 8-9 10.8-12 14.4-16 18-20 22.5-24 26-28 30-31 | B 6.5-7.5 12.5-14 20.4-22 28.4-29.5",
            [
                (
                    "went_on",
                    "A waited for 1.3 s or more and went on by itself 4 times; pauses of up to 3 s are of its turn, so "
                    "none of these counts as no response",
                    2.0,
                )
            ],
        ),
        # A voice that comes back; a caller who is asked again and again, and says nothing.
        (
            "A 0-2 10-12 20-22 30-32 | B 2.5-5 40-41",
            [("fell_silent", "B silent from 0:05 to 0:40 while A spoke 3 times", 5.0)],
        ),
        (
            "A 0-2 | B 2.5-5 10-12 20-22 30-32",
            [("fell_silent", "A silent from 0:02 to the end while B spoke 4 times", 2.0)],
        ),
    ],
)
def test_who_was_silent_is_said_in_plain_words(
    drawn: str, expected: list[tuple[str, str, float]], tmp_path: Path
) -> None:
    assert found(tmp_path / "call", drawn) == expected


def test_a_loud_side_without_speech_is_not_called_silent(tmp_path: Path) -> None:
    """Only the detector takes it for no speech: B sounds in 20 ms of 40, from 0:51 on, wherever A is silent."""
    recording = drawn_recording(tmp_path / "call", dead_agent(4))
    path = recording.path / ACTIVITY
    with np.load(path) as stored:
        kept = dict(stored)
    quiet = np.flatnonzero(~np.unpackbits(kept["a"])[: int(kept["n_ticks"])].astype(bool))
    chopped = quiet[(quiet > 5_100) & (quiet % 4 < 2)]
    for peak, told in ((8_000, "sound on B that the detector takes for no speech: "), (100, "B silent from 0:50")):
        kept["peaks"][chopped, 1] = peak
        np.savez(path, allow_pickle=False, **kept)
        (finding, *_) = findings(Reading(recording.path))
        assert finding["id"] == "fell_silent"
        assert finding["text"].startswith(told)
    kept["peaks"][:, 1] = 8_000  # as even as noise
    np.savez(path, allow_pickle=False, **kept)
    assert findings(Reading(recording.path))[0]["text"].startswith("B silent from 0:50")


@pytest.mark.parametrize(("tail_s", "counts"), [(3.0, None), (8.0, "nowhere"), (12.0, "as no response")])
def test_a_call_that_ends_with_a_unanswered_is_named(tmp_path: Path, tail_s: float, counts: str | None) -> None:
    drawn = drawn_recording(tmp_path / "call", "A 0-2 6-8 | B 2.5-5", tail_s)
    scores = score(drawn)
    text = f"A's last turn is unanswered: {tail_s:.0f} s of silence recorded after it"
    nowhere = ", and it counts nowhere (--no-hang-up: as no response)" if counts == "nowhere" else ""
    assert [each["text"] for each in scores["findings"]] == ([text + nowhere] if counts else [])
    ended = scores["measures"]["ends_unanswered_per_call"]
    assert (ended["count"], ended["n"]) == (int(counts is not None), 1)
    assert scores["measures"]["no_response_per_turn"]["count"] == int(counts == "as no response")
    ends = [{"tick": 850, "side": "A", "kind": "audio_end"}, {"tick": drawn.n_ticks, "side": "B", "kind": "audio_end"}]
    drawn = drawn_recording(tmp_path / "two", "A 0-2 6-8 | B 2.5-5", tail_s)
    (drawn.path / EVENTS).write_text("".join(json.dumps(each) + "\n" for each in ends))
    assert score(Reading(drawn.path))["findings"] == []  # that silence was recorded on B's side alone


def test_one_side_that_holds_nearly_all_of_the_speech(tmp_path: Path) -> None:
    text = drawing(
        [(12.0 * k, 12.0 * k + 10) for k in range(10)], [(12.0 * k + 10.5, 12.0 * k + 11.5) for k in range(10)]
    )
    assert found(tmp_path / "call", text) == [("one_sided", "one side holds 91 % of the speech: A", 0.0)]


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    files = [{"path": "a.wav"}, {"path": "b.wav"}]
    sides = {"A": {"file": 0, "channel": "mono", "samples": 32 * 48_000}, "B": {"file": 1, "channel": "mono"}}
    sides["B"]["samples"] = 20 * 48_000
    source = {"files": files, "sides": sides, "swap": False, "playable_in_browser": False}
    assert found(tmp_path / "call", ALIVE, source=source) == [("file_ends", "B's file ends 12 s early, at 0:20", 20.0)]
    sides["B"]["samples"] = round(30.8 * 48_000)
    ((_, text, _),) = found(tmp_path / "little", ALIVE, source=source)
    assert text == "B's file is a little shorter, by 1.2 s: both are taken to begin at one moment (--offset-ms)"
    sides["B"]["samples"] = 20 * 48_000
    of_one_turn = [{"path": "1/input.wav"}, {"path": "1/output.wav"}]
    sides["A"]["samples"], sides["B"]["samples"] = sides["B"]["samples"], sides["A"]["samples"]
    assert found(tmp_path / "v1", ALIVE, source=source | {"files": of_one_turn}) == []


def test_labels_that_fit_the_speech_of_the_other_side(tmp_path: Path) -> None:
    for name, ends, expected in (
        ("right", (2.0, 8.1, 13.9, 20.0), []),
        ("swapped", (5.0, 11.1, 16.9, 23.0), ["labels_elsewhere"]),
        ("few", (5.0, 11.0), []),
    ):
        recording = drawn_recording(tmp_path / name, ALIVE)
        keep_labels(recording.path, "hand.csv", [Label("A", "turn_end", end, end) for end in ends])
        assert [finding["id"] for finding in score(recording)["findings"]] == expected
    told = score(drawn := drawn_recording(tmp_path / "again", ALIVE))["findings"]
    assert told == []
    keep_labels(drawn.path, "hand.csv", [Label("A", "turn_end", end, end) for end in (5.0, 11.0, 17.0)])
    assert [finding["text"] for finding in score(Reading(drawn.path))["findings"]] == [
        "3 of 3 labels fit the speech of the other side: sides exchanged? (--swap)"
    ]


def test_labels_that_fit_no_speech_may_be_of_another_call(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", ALIVE)
    of_another = [
        Label("A", "interruption", 4.0, 5.0),
        Label("A", "backchannel", 9.0, 9.5),
        Label("A", "turn_end", 3.1, 3.1),
        Label("A", "turn_end", 10.0, 10.0),
    ]
    for more, told in ((Label("A", "speech", 6.5, 7.5), 4), (Label("A", "speech", 10.5, 11.5), 5)):
        keep_labels(recording.path, "hand.csv", [*of_another, more])
        texts = [finding["text"] for finding in score(Reading(recording.path))["findings"]]
        assert texts == [f"{told} of 5 labels fit no speech of their side: are they of another call?"]
    keep_labels(recording.path, "hand.csv", [Label("A", "speech", 0.5 + 6 * k, 1.5 + 6 * k) for k in range(4)])
    assert score(Reading(recording.path))["findings"] == []


@pytest.mark.parametrize("late_s", [-2.0, 1.0, 3.0])
def test_labels_of_another_clock_are_not_said_to_be_of_the_other_side(tmp_path: Path, late_s: float) -> None:
    spoken = "A 3-5 9-12 16-17.5 23-26.2 31-33 39-40 | B 6-8.5 13-15 18-22 27-30 34-37.7 41-43"
    ends = (5.0, 12.0, 17.5, 26.2, 33.0, 40.0)
    recording = drawn_recording(tmp_path / "late", spoken, 0)
    keep_labels(recording.path, "hand.csv", [Label("A", "turn_end", end + late_s, end + late_s) for end in ends])
    (finding,) = score(recording)["findings"]
    shift = f"{abs(late_s):.1f} s {'earlier' if late_s > 0 else 'later'}"
    assert finding["text"].startswith(f"6 of 6 labels fit speech {shift}, ")


@pytest.mark.parametrize(
    ("faster", "late_s", "told"),
    [
        (0.04, 0.0, "labels fit speech .* at 0:0. and 3.[0-9] s earlier at 1:2.: "),
        (-0.03, 0.0, "labels fit speech .* at 0:0. and 2.[0-9] s later at 1:1.: "),
        (0.0, 1.0, "labels fit speech .* at 0:0. and (0.9|1.0|1.1) s earlier at 1:2.: "),
        (0.0, 0.0, None),
    ],
)
def test_labels_that_run_on_another_clock_are_named(
    tmp_path: Path, faster: float, late_s: float, told: str | None
) -> None:
    """They are faster or slower, or late from the middle on."""
    rng = np.random.default_rng(11)
    ends = np.round(np.cumsum(rng.uniform(4, 8, 14)), 2).tolist()
    spoken = f"A {' '.join(f'{e - 1.5:g}-{e:g}' for e in ends)} | B {' '.join(f'{e + 0.7:g}-{e + 2:g}' for e in ends)}"
    recording = drawn_recording(tmp_path / "call", spoken, 5)
    given = [round(end * (1 + faster) + late_s * (number >= 7), 2) for number, end in enumerate(ends)]
    keep_labels(recording.path, "hand.csv", [Label("A", "turn_end", end, end) for end in given])
    texts = [each["text"] for each in score(recording)["findings"]]
    assert len(texts) == (told is not None)
    assert told is None or re.fullmatch(rf"{told}do they run on another clock\?", texts[0])


def test_labels_that_fit_other_turns_at_even_distances_are_named(tmp_path: Path) -> None:
    """Turns of A end every 6 s, give or take 0.3 s: nearly half of the labels fit 6 s later, where they are."""
    ends = [6 * n + off for n, off in enumerate((2, 2.2, 1.7, 1.9, 2.1, 1.5, 1.7, 2.2, 1.7, 2.3), 1)]
    spoken = (
        f"A {' '.join(f'{end - 1.5:g}-{end:g}' for end in ends)} | B {' '.join(f'{e + 1:g}-{e + 2.5:g}' for e in ends)}"
    )
    recording = drawn_recording(tmp_path / "even", spoken, 10)
    keep_labels(recording.path, "hand.csv", [Label("A", "turn_end", end + 6, end + 6) for end in ends])
    (finding,) = [each for each in score(recording)["findings"] if each["id"] == "labels_elsewhere"]
    assert finding["text"].startswith("10 of 10 labels fit speech 6.0 s earlier, ")
    assert ", 0 where" not in finding["text"]


def test_it_comes_first_and_can_be_heard(tmp_path: Path) -> None:
    recording = drawn_recording(tmp_path / "call", dead_agent(4))
    content = document_of(recording)
    text = "B silent from 0:50 to the end while A spoke 18 times"
    assert screen(recording, content).splitlines()[1] == f"!! {text}"
    html = page(recording, content)
    assert f'<li>{text}. <a href="#t=50">0:50</a></li>' in html
    assert '<p class="lead">B fell silent. B answered 7 of ' in html
    assert [finding["text"] for finding in content["findings"]] == [text]


def wav(path: Path, pcm: np.ndarray[Any, np.dtype[np.int16]]) -> None:
    with WavWriter(path, channels=2) as file:
        file.write(np.ascontiguousarray(pcm))


def test_where_both_are_silent_there_is_nothing_to_measure(tmp_path: Path) -> None:
    """Digital silence, and a file that is far too quiet: never "ok", never "nothing out of the ordinary"."""
    (tmp_path / "calls").mkdir()
    wav(tmp_path / "calls" / "silent.wav", np.zeros((30 * 48_000, 2), np.int16))
    wav(tmp_path / "calls" / "one.wav", np.zeros((1, 2), np.int16))
    quiet = np.stack(activity(ALIVE), axis=1).repeat(FRAME_SAMPLES, axis=0)
    noise = np.random.default_rng(1).integers(-8, 9, quiet.shape)
    wav(tmp_path / "calls" / "quiet.wav", (quiet * noise).astype(np.int16))
    replay = ["replay"]
    done(*replay, tmp_path / "calls", "--out", tmp_path / "run")
    expected = {
        "silent": "nothing to measure: both digitally silent",
        "one": "nothing to measure: both digitally silent",
        "quiet": "nothing to measure: both silent, loudest -72 dBFS",
    }
    for name, text in expected.items():
        told = json.loads((tmp_path / "run" / name / "derived" / "health.json").read_text())
        assert (told["verdict"], [finding["id"] for finding in told["findings"]]) == (
            "warn",
            ["no_speech", "no_speech"],
        )
        scores = json.loads((tmp_path / "run" / name / "derived" / "scores.json").read_text())
        assert scores["unscored"] == text
        assert f"{name}: {text}" in (tmp_path / "run" / "index.html").read_text()
    alone = command(*replay, tmp_path / "calls" / "quiet.wav", "--out", tmp_path / "alone")
    assert f"not scored          {expected['quiet']}" in alone.output
    report = (tmp_path / "alone" / "quiet" / "report.html").read_text()
    assert "out of the ordinary" not in report.split("<script")[0]
    assert "Input health: ok" not in report
    assert "Not scored. Nothing to measure: both silent, loudest -72 dBFS." in report
