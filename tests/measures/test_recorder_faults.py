"""Recordings that went wrong: each fault is put into a dialogue of known truth, and is told with its place and size."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr
from helpers import voices
from helpers.commands import command
from helpers.faulty_audio import (
    Stereo,
    clipped16,
    in_rooms,
    sample,
    sine,
    synthetic,
    synthetic_in_rooms,
    with_echo,
    write,
)
from helpers.input_health import Activity, active, found, health_of

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.input_notes import TWINS, SoundOfCall, exchanged, standing_out, twins
from fdbcore.analysis.score import score
from fdbcore.measures.health.finding import runs
from fdbcore.measures.health.silences import cut_short
from fdbcore.measures.health.trend import later_and_later
from fdbcore.measures.reading import Reading
from fdbcore.runs.replays import replay
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES

RATE = SAMPLE_RATE_HZ


def moved(pcm: Stereo, late_s: float, from_s: float = 0) -> Stereo:
    """B later by so many seconds (negative: earlier) from some point on."""
    late, start, made = round(late_s * RATE), round(from_s * RATE), pcm.copy()
    made[start:, 1] = 0
    source = pcm[max(start, start - late) :, 1] if late < 0 else pcm[start:, 1]
    at = max(start + late, start)
    made[at : at + len(source), 1] = source[: len(made) - at]
    return made


def long() -> Stereo:
    return in_rooms(synthetic(seed=5, seconds=90))


def test_a_constant_shift_is_told_with_a_range_that_holds_it() -> None:
    for late_s in (-3, 3):
        finding = found(moved(long(), late_s))["out_of_step", None]
        least_ms, most_ms = finding["figures"]["least_late_ms"], finding["figures"]["most_late_ms"]
        assert least_ms - 300 <= 1000 * late_s <= most_ms + 300
        assert most_ms - least_ms < 3000
        assert finding["severity"] == "warn"
        assert ("early" if late_s < 0 else "late") in finding["text"]


def test_a_jump_is_told_with_its_place_and_no_offset_is_advised() -> None:
    finding = found(moved(long(), -4, from_s=45))["out_of_step", None]
    assert "in step from 0:00" in finding["text"]
    assert "early from 0:45" in finding["text"]
    assert "--offset-ms" not in finding["means"]
    assert "least_late_ms" not in finding["figures"]


@pytest.mark.parametrize("share", [-0.03, 0.03])
def test_a_drift_is_told_with_what_it_adds_up_to(share: float) -> None:
    pcm = in_rooms(synthetic(seed=6, seconds=90))
    moved_b = soxr.resample(pcm[:, 1].astype(np.float32), RATE, RATE * (1 + share))[: len(pcm)]
    pcm[:, 1] = 0
    pcm[: len(moved_b), 1] = np.clip(moved_b, -32_768, 32_767).astype(np.int16)
    text = found(pcm)["out_of_step", None]["text"]
    told = re.match(r"sides out of step\? B more and more (late|early), (\d\.\d) s in the end", text)
    assert told, text
    assert told[1] == ("late" if share > 0 else "early")
    assert float(told[2]) == pytest.approx(90 * abs(share), abs=0.8)


def test_crosstalk_that_comes_before_its_source_proves_the_shift() -> None:
    heard = with_echo(long(), 0, -25, 15)
    finding = found(moved(heard, -3))["out_of_step", None]
    assert finding["severity"] == "bad"
    assert finding["text"] == "sides out of step: B 3.0 s early, and A is heard on B 2.98 s before it speaks"
    assert finding["figures"]["offset_ms"] == pytest.approx(2985, abs=5)


@pytest.mark.parametrize(
    ("later_s", "b_times", "expected"),
    [
        (0.0, 1.0, None),
        (0.15, 1.0, "B's answers come 1.4 s later through the call: so B does, or its side drifts"),
        (-0.05, 1.0, None),  # half a second in all, but less than the answers differ by themselves
        (0.0, 1.01, "sides drift apart? B's answers come 0.7 s later through the call, A's 0.7 s sooner"),
        (0.0, 0.99, "sides drift apart? B's answers come 0.7 s sooner through the call, A's 0.7 s later"),
    ],
)
def test_answers_that_come_later_and_later_are_told(later_s: float, b_times: float, expected: str | None) -> None:
    speaking = {side: np.zeros(10_000, np.bool_) for side in "AB"}
    at_s, jitter_s = 1.0, np.random.default_rng(4).uniform(-0.25, 0.25, 10)
    for turn in range(10):
        starts_s = at_s, (at_s + 3 + 1.2 + jitter_s[turn] * (later_s < 0) + later_s * turn) * b_times
        for side, start_s in zip("AB", starts_s, strict=True):
            speaking[side][round(100 * start_s) : round(100 * start_s) + 300] = True
        at_s = starts_s[1] / b_times + 3 + 1
    told = [each["text"] for each in later_and_later({"A": speaking["A"], "B": speaking["B"]})]
    assert told == ([expected] if expected else [])


def test_a_file_that_is_shorter_by_the_shift_is_told_but_proves_nothing(tmp_path: Path) -> None:
    pcm = long()
    for side, samples in (("A", pcm[:, 0]), ("B", pcm[3 * RATE :, 1])):
        write_mono(tmp_path / f"{side}.wav", samples)
    done = command("doctor", "--vad", "energy", tmp_path / "A.wav", tmp_path / "B.wav")
    said = " ".join(done.output.split())
    assert "s early (its file is 3.0 s shorter), or the parties talk over each other: audio alone cannot tell" in said


def write_mono(path: Path, samples: Any) -> None:
    import soundfile

    soundfile.write(path, samples, RATE)


def choppy(pcm: Stereo, per_s: int, hole_ms: int) -> Stereo:
    made = pcm.copy()
    at = np.arange(len(pcm)) % (RATE // per_s) < hole_ms * RATE // 1000
    made[at & np.repeat(active(pcm)["B"], FRAME_SAMPLES), 1] = 0
    return made


@pytest.mark.parametrize(("per_s", "hole_ms"), [(10, 40), (25, 20)])
def test_a_choppy_side_is_told_whatever_the_detector_hears(per_s: int, hole_ms: int) -> None:
    pcm = choppy(synthetic_in_rooms(), per_s, hole_ms)
    deaf: Activity = {"A": active(pcm)["A"], "B": np.zeros(len(pcm) // FRAME_SAMPLES, np.bool_)}
    for tracks in (active(pcm), deaf):
        (finding,) = [f for f in health_of(pcm, tracks)["findings"] if f["id"] == "choppy"]
        assert (finding["side"], finding["severity"]) == ("B", "bad")
        assert finding["figures"]["holes_per_s"] <= per_s + 1


def test_a_pause_of_the_recorder_is_left_out(tmp_path: Path) -> None:
    """A question is asked, the recorder pauses where its answer was, and then both go on."""
    pcm = long()
    start, end = 30 * RATE, 42 * RATE
    pcm[start:end] = 0
    write(tmp_path / "call.wav", pcm)
    reading = replay(tmp_path / "call.wav", out=tmp_path / "run", vad="energy")
    assert [(span.start_tick, span.end_tick) for span in reading.left_out] == [(3000, 4200)]
    assert all(not 3000 < event.start_tick < 4200 for event in reading.dialogue.events)
    assert sum(end - start for start, end in reading.kept) == reading.n_ticks - 1200
    assert not any(event.start_tick < 3000 < 4200 <= (event.end_tick or 0) for event in reading.dialogue.events)
    scored = score(reading)["measures"]
    assert scored == score(Reading(reading.path))["measures"]


@pytest.mark.parametrize(("waits_s", "told"), [(0.7, True), (None, False)])
def test_a_recorder_that_leaves_silence_out_is_told(waits_s: float | None, told: bool) -> None:
    """It stops after so much silence of both sides, and goes on with the next word."""
    rng = np.random.default_rng(7)
    speech = {side: [np.zeros(0, np.bool_)] for side in SIDES}
    for side in ("A", "B") * 12:
        silent_s = rng.uniform(0.3, 2.5)
        kept_ticks = round(100 * min(silent_s, waits_s or silent_s)) + int(rng.integers(-2, 3))
        spoken = np.pad(np.ones(int(rng.integers(80, 400)), np.bool_), (kept_ticks, 0))
        speech["A"].append(spoken if side == "A" else np.zeros(len(spoken), np.bool_))
        speech["B"].append(spoken if side == "B" else np.zeros(len(spoken), np.bool_))
    findings = list(cut_short({side: np.concatenate(speech[side]) for side in SIDES}))
    assert [finding["id"] for finding in findings] == (["silence_left_out"] if told else [])
    if waits_s is not None:
        assert findings[0]["figures"]["silence_ms"] == pytest.approx(1000 * waits_s, abs=30)
        assert findings[0]["severity"] == "warn"


def test_an_echo_whose_lag_moves_fast_and_far_is_told() -> None:
    """From 0.15 s on by 8 ms a second, 22 dB down: in 8 s of speech together it is no more than a hint."""
    pcm = in_rooms(synthetic(seed=8, seconds=60))
    at = np.arange(len(pcm)) - (0.15 * RATE + 0.008 * np.arange(len(pcm)))
    echo = 10 ** (-22 / 20) * np.interp(at, np.arange(len(pcm)), pcm[:, 0].astype(np.float64), left=0.0)
    pcm[:, 1] = clipped16(pcm[:, 1] + echo)[: len(pcm)]
    finding = found(pcm)["echo", "B"]
    assert finding["figures"]["most_delay_ms"] - finding["figures"]["least_delay_ms"] > 100


def test_echo_whose_lag_creeps_is_no_speech() -> None:
    """From 250 ms on by 0.36 ms a second, as between two clocks, in a room: A says it all, and B says nothing."""
    pcm = in_rooms(synthetic(seed=9, seconds=60))
    pcm[:, 1] = 0
    at = np.arange(len(pcm)) * (1 - 0.00036) - 0.25 * RATE
    echo = np.interp(at, np.arange(len(pcm)), pcm[:, 0].astype(np.float64), left=0.0)
    pcm[:, 1] = clipped16(10 ** (-20 / 20) * echo)
    tracks = active(pcm)
    tracks["B"] = np.roll(tracks["A"], 26)
    suspect = np.zeros(len(tracks["B"]), np.bool_)
    for start, end in health_of(pcm, tracks)["suspect"]["B"]:
        suspect[start:end] = True
    assert np.mean(suspect[tracks["B"]]) > 0.9


def test_pauses_inside_words_are_told_apart_from_a_gate() -> None:
    """Each silence ends where somebody speaks, as behind gates; but here a background is heard apart from speech."""
    sound = in_rooms(synthetic(seed=6, seconds=60), -50)
    spoken = np.flatnonzero(active(sound)["A"]) * FRAME_SAMPLES
    pcm = sound
    for at in sorted((int(spoken[len(spoken) // 3]), int(spoken[2 * len(spoken) // 3])), reverse=True):
        pcm = np.insert(pcm, [at] * (6 * RATE), 0, axis=0)
    assert len(found(pcm)["paused", None]["spans"]) == 2
    gated = sound.copy()
    speech = active(sound)
    for start in range(0, len(sound), FRAME_SAMPLES):
        tick = start // FRAME_SAMPLES
        if not any(speech[side][max(tick - 15, 0) : tick + 2].any() for side in SIDES):
            gated[start : start + FRAME_SAMPLES] = 0
    assert ("paused", None) not in found(gated)


def test_silence_of_a_side_that_is_always_silent_is_no_pause() -> None:
    pcm = synthetic().copy()
    pcm[10 * RATE : 20 * RATE] = 0
    assert ("paused", None) not in found(pcm)


def test_sides_that_change_places_are_told() -> None:
    pcm = long()
    pcm[45 * RATE :] = pcm[45 * RATE :, ::-1]
    finding = found(pcm)["exchanged", None]
    assert finding["severity"] == "bad"
    assert "sides exchanged from 0:4" in finding["text"]
    pcm[75 * RATE :] = pcm[75 * RATE :, ::-1]
    finding = found(pcm)["exchanged", None]
    assert "sides exchanged from 0:4" in finding["text"]
    assert " to 1:1" in finding["text"]


@pytest.mark.parametrize("times", [1.5, 2.0])
def test_a_part_at_another_rate_is_told(times: float) -> None:
    pcm = long()
    half = len(pcm) // 2
    fast = clipped16(soxr.resample(pcm[:half].astype(np.float64), RATE * times, RATE))
    pcm[:half] = 0
    pcm[: len(fast)] = fast
    told = found(pcm)
    assert any(finding == "wrong_rate" for finding, _ in told)
    assert all(finding["severity"] == "bad" for (id, _), finding in told.items() if id == "wrong_rate")


@pytest.mark.parametrize("again_s", [10.0, 10.0037])
def test_a_piece_that_was_recorded_twice_is_told(again_s: float) -> None:
    """An upload of 10 s, or so, that was tried again: from 0:30 to 0:40, and once more."""
    pcm, length = long(), round(again_s * RATE)
    twice = np.concatenate([pcm[: 30 * RATE + length], pcm[30 * RATE :]])[: len(pcm)]
    finding = found(twice)["recorded_twice", None]
    assert finding["severity"] == "bad"
    assert finding["figures"]["lag_ms"] == pytest.approx(1000 * again_s, abs=1)
    assert re.match(r"0:3[0-3] to 0:(3[6-9]|40) is there again at 0:4[0-3], to the sample", finding["text"])
    one_side = pcm.copy()
    one_side[:, 1] = twice[:, 1]
    for kept in (pcm, one_side):
        assert ("recorded_twice", None) not in found(kept), "one side alone may play a recording again"


@pytest.mark.parametrize("buffer_s", [0.2, 1.0])
def test_the_last_buffer_of_a_program_that_hangs_is_no_speech(buffer_s: float) -> None:
    pcm = long()
    hangs = next(end for _, end in runs(active(pcm)["B"], 30) if end > 4_000) * FRAME_SAMPLES - RATE // 2
    buffer = pcm[hangs - round(buffer_s * RATE) : hangs, 1]
    looped = pcm.copy()
    looped[hangs:, 1] = np.tile(buffer, len(pcm) // len(buffer) + 1)[: len(pcm) - hangs]
    finding = found(looped)["looped", "B"]
    assert finding["figures"]["period_ms"] == pytest.approx(1000 * buffer_s, abs=1)
    ((start, end),) = finding["spans"]
    assert abs(start * FRAME_SAMPLES - hangs) <= round(buffer_s * RATE) + FRAME_SAMPLES
    assert end == len(pcm) // FRAME_SAMPLES
    spoken = health_of(looped)["suspect"]["B"]
    assert all(start <= span[0] for span in spoken)
    for kept in (pcm, np.stack([pcm[:, 0], sine((440.0,), len(pcm) / RATE).astype(np.int16)], axis=1)):
        assert ("looped", "B") not in found(kept), "speech, and a tone"


@pytest.mark.parametrize("every_s", [7.0, 6.5])
def test_an_announcement_that_is_played_until_the_end_answers_nobody(every_s: float) -> None:
    """B is gone from 0:40 on, and its line says the same 2 s again and again; not if it does so at odd times."""
    pcm = long()
    said = pcm[10 * RATE : 14 * RATE, 1]
    for later_s, is_told in ((0.0, True), (0.05, False)):
        parked = pcm.copy()
        parked[40 * RATE :, 1] = 0
        for number in range(12):
            at = round((40 + every_s * number + later_s * number**2) * RATE)
            parked[at : at + len(said), 1] = said[: max(len(parked) - at, 0)]
        finding = found(parked).get(("looped", "B"))
        assert (finding is not None) is is_told
        if finding is not None:
            assert finding["figures"]["period_ms"] == pytest.approx(1000 * every_s, abs=1)
            assert 3_900 <= finding["spans"][0][0] <= 4_100


def test_a_line_that_is_cut_off_while_the_other_speaks_is_named() -> None:
    """One that is silent between its own words anyway is not."""
    pcm = long()
    b = np.repeat(active(pcm)["B"], FRAME_SAMPLES)[: len(pcm)]
    cut, silent = pcm.copy(), pcm.copy()
    cut[b, 0] = 0
    silent[~np.repeat(active(pcm)["A"], FRAME_SAMPLES)[: len(pcm)], 0] = 0
    assert re.match(r"A is cut off while B speaks \((100|9\d) % of it\)", found(cut)["half_duplex", "A"]["text"])
    assert not [finding for pcm in (pcm, silent) for finding in found(pcm) if finding[0] == "half_duplex"]


def test_a_wandering_echo_makes_the_same_speech_suspect_as_a_constant_one() -> None:
    def echoing(lag_s: Any) -> Stereo:
        pcm = np.stack([sample()[:, 0], np.zeros(len(sample()), np.int16)], axis=1)
        for second in range(len(pcm) // RATE):
            lag = round(lag_s(second) * RATE)
            start, end = second * RATE, (second + 1) * RATE
            source = pcm[max(start - lag, 0) : max(end - lag, 0), 0]
            pcm[end - len(source) : end, 1] = source
        return pcm

    for lag_s in (lambda n: 0.3, lambda n: 0.1 + 0.02 * (n % 15), lambda n: 0.2 + 0.08 * (n > 20)):
        pcm = echoing(lag_s)
        tracks = active(pcm)
        health = health_of(pcm, tracks)
        suspect = np.zeros(len(tracks["B"]), np.bool_)
        for start, end in health["suspect"]["B"]:
            suspect[start:end] = True
        assert np.mean(suspect[tracks["B"]]) > 0.9
        assert not health["suspect"]["A"]


def test_tones_are_no_turns(tmp_path: Path) -> None:
    """A calls, B rings and beeps, and nobody speaks on B: with the energy detector, which takes tones for speech."""
    pcm = in_rooms(synthetic() * np.array([1, 0], np.int16))
    for at_s in (3, 6, 9, 12):
        pcm[at_s * RATE :, 1][: round(1.5 * RATE)] += sine((440, 480), 1.5).astype(np.int16)
    assert active(pcm)["B"].any()
    write(tmp_path / "call.wav", pcm)
    reading = replay(tmp_path / "call.wav", out=tmp_path / "run", vad="energy")
    assert not len(reading.dialogue.ipus["B"])
    assert any("all of it is tones" in each["text"] for each in score(reading)["findings"])


def test_what_is_dialled_is_an_event_of_its_own_and_no_turn(tmp_path: Path) -> None:
    pcm = in_rooms(synthetic())
    pcm[8 * RATE : 12 * RATE, 0] //= 64
    entries = [8.5, 8.7, 8.9, 11.5]  # the last one apart
    for at_s in entries:
        pcm[round(at_s * RATE) :, 0][: round(0.1 * RATE)] += sine((697, 1336), 0.1).astype(np.int16)
    write(tmp_path / "call.wav", pcm)
    reading = replay(tmp_path / "call.wav", out=tmp_path / "run", vad="energy")
    score(reading)
    found = [event for event, suspect in reading.events_with_suspects if event.kind == "keypad" and not suspect]
    edges_s = [edge / 100 for event in found for edge in (event.start_tick, event.end_tick or 0)]
    assert edges_s == pytest.approx([8.5, 9.0, 11.5, 11.6], abs=0.03)
    assert {event.side for event in found} == {"A"}
    assert not reading.dialogue.speaking["A"][[round(100 * at_s) + 5 for at_s in entries]].any()


def test_recordings_that_went_wrong_are_in_no_figure_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    for name, pcm in (("sound", synthetic_in_rooms()), ("choppy", choppy(synthetic_in_rooms(), 10, 40))):
        write(tmp_path / "calls" / f"{name}.wav", pcm)
    arguments = ["replay", str(tmp_path / "calls"), "--vad", "energy", "--out", str(tmp_path / "run")]
    done = command(*arguments)
    assert [call.name for call in Run(tmp_path / "run").scored] == ["sound"]
    assert "not scored: choppy: B choppy, " in " ".join(done.output.split())
    command(*arguments, "--count-bad-input")
    assert {call.name for call in Run(tmp_path / "run").scored} == {"sound", "choppy"}


@pytest.mark.parametrize("tail_s", [8.5, 9.0, 9.3, 9.7, 9.9, 10.0, 10.5])
def test_a_call_may_end_within_the_window_for_an_answer(tmp_path: Path, tail_s: float) -> None:
    call = voices.write(tmp_path / "call.wav", voices.voices("A 0.3-2 4.6-6.4 | B 2.4-4.3", tail_s))
    reading = replay(call, out=tmp_path / "run", vad="energy")
    assert "unscored" not in score(Reading(reading.path))


def test_one_call_in_two_files_is_told_with_its_twin() -> None:
    def call(
        speech_s: float, level_dbov: float, pitch_hz: float, n_ticks: int = 8_000, answer_ms: int = 600
    ) -> SoundOfCall:
        b: Any = {"speech_s": 20.0, "level_dbov": -23.0, "pitch_hz": 170.0}
        a: Any = {"speech_s": speech_s, "level_dbov": level_dbov, "pitch_hz": pitch_hz}
        return SoundOfCall(n_ticks, {"A": a, "B": b}, {"A": [400, 500], "B": [answer_ms, 700]}, False)

    calls = {
        "wav": call(24.84, -23.78, 101.9),
        "mp3": call(24.99, -23.80, 103.0, 8_005),
        "longer": call(24.84, -23.78, 101.9, 8_020),
        "louder": call(24.84, -23.50, 101.9),
        "another": call(25.84, -23.78, 101.9),
        "higher": call(24.84, -23.78, 110.0),
        "slower": call(24.84, -23.78, 101.9, answer_ms=680),
    }
    assert twins(calls) == ["mp3 (as wav)"]
    assert standing_out(calls) == {TWINS: ["mp3 (as wav)"]}
    assert twins({name: heard._replace(is_held=True) for name, heard in calls.items()}) == []
    silent = {name: call(0.0, -100.0, 100.0) for name in "ab"}
    assert twins(silent) == []


def test_calls_that_sound_exchanged_stand_out_of_a_run() -> None:
    rng = np.random.default_rng(1)
    names = ("level_dbov", "noise_dbov", "spread_db", "under_db", "after_db", "high_drop_db", "peak_dbov")
    person, machine = ([-30, -60, 2, 10, 5, 12, -10], [-22, -85, 0.5, 30, 1, 25, -3])
    calls: dict[str, Any] = {}
    for number in range(20):
        usual: Sequence[Sequence[float]] = (person, machine) if number not in (3, 11) else (machine, person)
        calls[f"c{number}"] = {
            side: dict(zip(names, (value + rng.normal(0, 2) for value in values), strict=True))
            for side, values in zip("AB", usual, strict=True)
        }
    assert exchanged(calls) == ["c3", "c11"]
    assert exchanged({name: {"A": of["A"], "B": of["A"]} for name, of in calls.items()}) == []
