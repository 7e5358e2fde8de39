"""Leaving out menus, hold music and the good-bye, as a user does it: by options, by a table, and by the library."""

import csv
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
import soxr
from fakes.browser import BROWSER, dump_dom
from fakes.recordings import SAMPLE
from helpers.commands import command, done, printed
from helpers.voices import RATE_HZ, voices, write

import fdbcore
from fdbcore.analysis.score import read_scores, score
from fdbcore.analysis.sensitivity import headline_quantities, reread, variant
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META
from fdbcore.report.call.document import document
from fdbcore.runs.replay import replay_session
from fdbcore.runs.replay_jobs import ReplaySettings, kept_recording
from fdbcore.sources.left_out import measured_between
from fdbcore.sources.sessions import session_inputs

Script = list[tuple[float, float, float]]
"""Per exchange: how long A asks, how late B answers, and how long it speaks, in seconds."""

MEASURED = ("events", "measures", "curves", "moments", "health", "findings", "labels")
MUSIC_S, QUIET_S = 4.0, 2.0


def replayed(out: Path, *arguments: object) -> dict[str, Any]:
    """The document of a call."""
    told: dict[str, Any] = printed("replay", "--vad", "energy", "--jobs", 1, "--out", out, *arguments)
    return told


def rows(run: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((run / "calls.csv").read_text().splitlines()))


def script(rng: np.random.Generator, exchanges: int) -> Script:
    return [(rng.uniform(1.2, 2), rng.uniform(0.3, 1.4), rng.uniform(1.2, 2)) for _ in range(exchanges)]


def spoken(of: Script) -> npt.NDArray[np.int16]:
    """What the script says, and QUIET_S behind it, int16 (n, 2)."""
    sides, now = ["", ""], 0.4
    for asked_s, late_s, said_s in of:
        answer = now + asked_s + late_s
        sides[0] += f" {now:.2f}-{now + asked_s:.2f}"
        sides[1] += f" {answer:.2f}-{answer + said_s:.2f}"
        now = answer + said_s + 0.6
    return voices("A{}| B{}".format(*sides), tail_s=QUIET_S)


def music(kind: str, rate_hz: int = RATE_HZ) -> npt.NDArray[np.int16]:
    """What a caller hears on hold, on both sides, int16 (n, 2)."""
    at = np.arange(round(MUSIC_S * rate_hz)) / rate_hz
    sound = {
        "silence": 0 * at,
        "tone": 9000 * np.sin(2 * np.pi * 1000 * at),
        "speech": 20000 * np.random.default_rng(7).normal(size=len(at)) * (np.sin(4 * at) > 0),
    }[kind]
    return np.repeat(np.clip(sound, -32768, 32767).astype(np.int16)[:, None], 2, axis=1)


@pytest.fixture(scope="module")
def parts() -> tuple[Script, Script]:
    rng = np.random.default_rng(5)
    return script(rng, 2), script(rng, 3)


def call(path: Path, parts: tuple[Script, Script], between: npt.NDArray[np.int16]) -> tuple[Path, str]:
    """A call of two scripted parts with something between them; and where that is, as an entry of a table."""
    first, last = map(spoken, parts)
    start_s = len(first) / RATE_HZ
    return write(path, np.concatenate([first, between, last])), f"{start_s:.3f}-{start_s + MUSIC_S:.3f}"


def test_without_its_middle_a_call_has_the_counts_of_the_scripts(tmp_path: Path, parts: tuple[Script, Script]) -> None:
    path, middle = call(tmp_path / "call.wav", parts, music("speech"))
    table = tmp_path / "calls.csv"
    table.write_text(f"file,leave_out\ncall.wav,{middle}\n")
    exchanges = [each for part in parts for each in part]
    (told,) = replayed(tmp_path / "run", path, "--meta", table)["sessions"]
    found = told["measures"]
    assert (found["answered_per_turn"]["count"], found["answered_per_turn"]["n"]) == (5, 5)
    assert found["response_latency_ms"]["median"] == pytest.approx(1000 * np.median([e[1] for e in exchanges]), abs=20)
    assert (found["gap_per_min"]["n"], found["a_fto_after_b_ms"]["n"]) == (5 + 1 + 2, 1 + 2)  # none over the middle
    assert (found["overlap_per_min"]["n"], found["lapse_s"]["n"]) == (0, 0)
    measured_s = sum(len(spoken(part)) for part in parts) / RATE_HZ
    assert told["recording"]["measured_s"] == pytest.approx(measured_s, abs=0.02)
    for side, column in (("a", 0), ("b", 2)):
        share = sum(each[column] for each in exchanges) / measured_s
        assert found[f"{side}_talk_share"]["mean"] == pytest.approx(share, abs=0.01)
    (row,) = rows(tmp_path / "run")
    assert float(row["measured_s"]) == told["recording"]["measured_s"]
    assert row["left_out"].endswith("by column leave_out")
    assert row["leave_out"] == middle
    # the first part ends with B, so each of the events is those of two files
    alone = [
        replayed(tmp_path / f"part{k}", write(tmp_path / f"p{k}.wav", spoken(part))) for k, part in enumerate(parts)
    ]
    for name in ("answered_per_turn", "response_latency_ms", "a_turn_s", "b_pause_per_min", "lapse_s"):
        assert found[name]["n"] == sum(part["measures"][name]["n"] for part in alone)


@pytest.mark.parametrize("rate_hz", [8_000, RATE_HZ])
def test_what_was_left_out_moves_nothing(rate_hz: int, tmp_path: Path, parts: tuple[Script, Script]) -> None:
    documents: list[Any] = []
    for kind in ("silence", "tone", "speech"):
        first, last = (soxr.resample(spoken(part), RATE_HZ, rate_hz) for part in parts)
        cut = round(3.5 * rate_hz)  # in the middle of speech: resampling carries sound over the edge
        samples = np.concatenate([music(kind, rate_hz), first[cut:], music(kind, rate_hz), last])
        again_s = MUSIC_S + (len(first) - cut) / rate_hz
        spans = [(0.0, MUSIC_S), (again_s, again_s + MUSIC_S)]
        path = write(tmp_path / kind / "call.wav", samples, rate_hz)
        reading = fdbcore.replay(path, out=tmp_path / f"{kind}-run", vad="energy", leave_out=spans)
        documents.append(document(reading, read_scores(reading)))
    for one, other in pairwise(documents):
        assert {key: one[key] for key in MEASURED} == {key: other[key] for key in MEASURED}
    assert documents[0]["health"]["verdict"] == "ok"


def write_table(folder: Path, leave_out: str) -> Path:
    table = folder / "calls.csv"
    table.write_text(f"file,leave_out\ncall.wav,{leave_out}\n")
    return table


def test_hold_music_is_no_finding_and_what_is_found_behind_it_stands_in_its_place(
    tmp_path: Path, parts: tuple[Script, Script]
) -> None:
    tone = np.concatenate([spoken(parts[1]), music("tone")[: 2 * RATE_HZ], np.zeros((RATE_HZ, 2), np.int16)])
    first = np.concatenate([spoken(parts[0]), music("tone"), tone])
    path, start_s = write(tmp_path / "call.wav", first), len(spoken(parts[0])) / RATE_HZ
    whole = replayed(tmp_path / "whole", path)
    assert {"A tones, 6.0 s"} <= {found["text"] for found in whole["health"]["findings"]}
    table = write_table(tmp_path, f"{start_s}-{start_s + MUSIC_S}")
    (told,) = replayed(tmp_path / "run", path, "--meta", table)["sessions"]
    found = {found["text"]: found["spans"] for found in told["health"]["findings"]}
    ((start, end),) = found["A tones, 2.0 s"]
    assert (start, end) == pytest.approx((len(first) / RATE_HZ * 100 - 300, len(first) / RATE_HZ * 100 - 100), abs=4)


def test_the_screen_and_the_page_say_what_was_left_out(tmp_path: Path, parts: tuple[Script, Script]) -> None:
    path, _ = call(tmp_path / "call.wav", parts, music("tone"))
    shown = command("replay", path, "--vad", "energy", "--out", tmp_path / "run", "--from", "0:02", "--to", "-0:03.5")
    lines = shown.stdout.splitlines()
    length_s = sum(len(spoken(part)) for part in parts) / RATE_HZ + MUSIC_S
    assert lines[0].startswith(f"call.wav {fdbcore_clock(length_s)}, {fdbcore_clock(length_s - 5.5)} of it measured ")
    assert lines[1].startswith("left out            0:00 to 0:02 by --from | 0:")
    assert lines[1].endswith(" by --to")
    left_out = json.loads((tmp_path / "run" / "call" / META).read_text())["left_out"]
    assert [span["by"] for span in left_out] == ["--from", "--to"]
    if BROWSER is not None:
        page = dump_dom((tmp_path / "run" / "call" / "report.html").as_uri(), tmp_path / "profile")
        assert "left out, and in no figure:" in page
        assert page.count("<pattern") == 2  # in the timeline and in the overview
        assert 'id="legend-left-out">' in page


def fdbcore_clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def test_a_changed_span_is_replayed_and_the_same_is_kept(tmp_path: Path, parts: tuple[Script, Script]) -> None:
    settings = ReplaySettings(tmp_path / "run", "energy", {})
    (session,) = session_inputs([write(tmp_path / "call.wav", voices("A 0.3-2 | B 2.4-4.5", 1.5))])
    texts: list[tuple[str | None, str | None]] = [("0:01", "-2"), ("1", "-0:02"), ("1", "4"), ("1", None), (None, None)]
    first, same, resolved_alike, *others = [replace(session, leave_out=measured_between(*text)) for text in texts]
    score(replay_session(first, settings, keep_audio=False))
    for other in (first, same, resolved_alike):
        assert kept_recording(other, settings) is not None
    for other in others:
        assert kept_recording(other, settings) is None
    score(replay_session(session, settings, keep_audio=False))
    assert kept_recording(session, settings) is not None
    assert kept_recording(first, settings) is None


def test_a_file_that_states_another_length_than_it_holds_is_kept_too(tmp_path: Path) -> None:
    path, settings = tmp_path / "call.m4a", ReplaySettings(tmp_path / "run", "energy", {})
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=RATE_HZ)
        assert isinstance(stream, av.AudioStream)
        stream.layout = "stereo"
        samples = voices("A 0.3-2 | B 2.4-4.5", 1.5).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="stereo")
        frame.sample_rate = RATE_HZ
        resampler = av.AudioResampler(stream.format.name, "stereo", RATE_HZ, frame_size=1024)
        for part in [*resampler.resample(frame), *resampler.resample(None), None]:
            container.mux(stream.encode(part))
    (session,) = session_inputs([path])
    session = replace(session, leave_out=measured_between(None, "-2"))
    reading = replay_session(session, settings, keep_audio=False)
    score(reading)
    assert reading.left_out[0].start_tick + 200 < reading.n_ticks  # it holds more than it states
    assert kept_recording(session, settings) is not None


def test_a_recording_keeps_what_it_leaves_out(tmp_path: Path, parts: tuple[Script, Script]) -> None:
    path, _ = call(tmp_path / "call.wav", parts, music("tone"))
    first = replayed(tmp_path / "run", path, "--from", 1, "--to", "0:10")
    again = replayed(tmp_path / "again", tmp_path / "run" / "call")
    assert again["recording"]["left_out"] == first["recording"]["left_out"]
    assert {key: again[key] for key in MEASURED} == {key: first[key] for key in MEASURED}
    assert again["held"]["replay_of"]["same"]
    whole = replayed(tmp_path / "whole", tmp_path / "run" / "call", "--from", 0)
    assert "left_out" not in whole["recording"]
    assert whole["held"]["replay_of"]["differences"][0].startswith(
        "left out is nothing, was 0:00 to 0:01 by --from, 0:10"
    )
    by_library = fdbcore.replay(path, out=tmp_path / "library", vad="energy", leave_out=[(0.0, 1.0), (10.0, None)])
    assert by_library.turn_events == Reading(tmp_path / "run" / "call").turn_events
    assert by_library.kept == [(100, 1000)]
    assert command("doctor", "--json", tmp_path / "run" / "call", "--vad", "energy").stdout.count("tones") == 0


def test_settings_and_detectors_are_varied_within_the_kept_spans(tmp_path: Path) -> None:
    energy, silero = (
        fdbcore.replay(SAMPLE / "sample.flac", out=tmp_path / vad, vad=vad, leave_out=[(0.0, 12.0), (30.0, None)])
        for vad in ("energy", "silero")
    )
    found, other = reread(energy.path, [variant({}), variant({}, "silero")]).headlines
    assert found == headline_quantities(energy.dialogue)
    assert other == headline_quantities(silero.dialogue)
    whole = fdbcore.replay(SAMPLE / "sample.flac", out=tmp_path / "whole", vad="energy")
    assert found["b_talk_share"] != headline_quantities(whole.dialogue)["b_talk_share"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ("--from", "9:00"),
            1,
            "expected spans within the call, which lasts 0:31, got 0:00 to 9:00 left out by --from",
        ),
        (("--to", "soon"), 2, "--to: expected a time such as 12.5, 3:40 or 1:02:03, got 'soon'"),
        (("--from", "0:30", "--to", "0:05"), 2, "expected --from before --to, got 0:30 and 0:05"),
    ],
)
def test_what_cannot_be_left_out_gets_one_line(
    arguments: tuple[str, ...], code: int, told: str, tmp_path: Path, parts: tuple[Script, Script]
) -> None:
    path, _ = call(tmp_path / "call.wav", parts, music("silence"))
    refused = command("replay", path, "--out", tmp_path / "run", *arguments)
    assert refused.exit_code == code
    assert refused.stderr.splitlines()[-1].split(": ", 1)[1] == told


def test_a_row_that_cannot_be_meant_fails_its_own_call(tmp_path: Path, parts: tuple[Script, Script]) -> None:
    for name in ("one", "two"):
        call(tmp_path / "calls" / f"{name}.wav", parts, music("silence"))
    table = tmp_path / "meta.csv"
    table.write_text("file,leave_out\none.wav,0:05-0:10; 0:08-0:12\ntwo.wav,0:05-0:10\n")
    result = command(
        "replay", tmp_path / "calls", "--meta", table, "--vad", "energy", "--jobs", 1, "--out", tmp_path / "run", code=1
    )
    assert "fdbcore replay: one: expected spans that do not overlap" in result.stderr
    one, two = rows(tmp_path / "run")
    assert two["left_out"] == "0:05 to 0:10 by column leave_out"
    assert one["reason"] == (
        "expected spans that do not overlap, got 0:05 to 0:10 left out by column leave_out, "
        "and 0:08 to 0:12 left out by column leave_out"
    )


def test_a_call_that_can_no_longer_be_measured_leaves_the_lists_and_its_page_says_why(tmp_path: Path) -> None:
    calls, run = tmp_path / "calls", tmp_path / "run"
    calls.mkdir()
    for name in ("one.flac", "two.flac"):
        (calls / name).write_bytes((SAMPLE / "sample.flac").read_bytes())
    done("replay", calls, "--vad", "energy", "--jobs", 1, "--out", run, "--quiet")
    lists = run / "pages" / "premature_per_turn.js"
    assert {'["one"', '["two"'} == {each for each in ('["one"', '["two"') if each in lists.read_text()}
    (tmp_path / "meta.csv").write_text("file,leave_out\none.flac,0:00-9:00\n")
    assert (
        command(
            "replay", calls, "--vad", "energy", "--jobs", 1, "--meta", tmp_path / "meta.csv", "--out", run, "--quiet"
        ).exit_code
        == 1
    )
    assert '["two"' in lists.read_text()
    assert '["one"' not in lists.read_text()
    assert "Not scored. Expected spans within the call" in (run / "one" / "report.html").read_text()


def test_a_comparison_says_that_other_parts_are_left_out(tmp_path: Path) -> None:
    file = SAMPLE / "sample.flac"
    for name, options in (("whole", []), ("part", ["--from", "0:09"]), ("same", ["--from", "9"])):
        done("replay", file, "--vad", "energy", *options, "--out", tmp_path / name, "--quiet")
    told = printed("report", tmp_path / "part", "--baseline", tmp_path / "whole")["notes"]
    about = "different parts are left out of sample"
    assert f"{about}: run measures 0:57 of 1:06, baseline measures 1:06 of 1:06" in told
    alike = printed("report", tmp_path / "part", "--baseline", tmp_path / "same")["notes"]
    assert not [note for note in alike if "left out" in note]
