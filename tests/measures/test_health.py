"""Input health: each fault is found where it was put, with its figures, and nothing is found where there is none."""

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
import pytest
import soxr
from helpers.commands import command
from helpers.documents import document_of
from helpers.faulty_audio import Stereo, clipped16, in_rooms, sample, sine, synthetic, synthetic_in_rooms, with_echo
from helpers.input_health import Activity, active, blocks, found, health_of
from helpers.schema import validator

from fdbcore.analysis.score import pooled_measures, score
from fdbcore.audio.wav import WavWriter
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.recording.health import Health
from fdbcore.report.call.screen import screen
from fdbcore.runs.replays import replay
from fdbcore.session.turns import detect_turns
from fdbcore.session.vad import SileroVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Side

REAL: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "fdb_v1_examples"
LEVEL_ERROR_DB, DELAY_ERROR_MS = 1.5, 0.5  # the stated limits of what is recovered


def interruptions(tracks: Activity) -> Counter[tuple[str, str, str | None]]:
    """Intrusions by side and onset, and overlaps by side."""
    events = detect_turns(tracks["A"], tracks["B"])
    kinds = ("intrusion", "overlap_within", "overlap_between")
    return Counter((e.kind, e.side, e.onset) for e in events if e.kind in kinds)


def without(tracks: Activity, health: Health) -> Activity:
    cleaned = {side: track.copy() for side, track in tracks.items()}
    for side in SIDES:
        for start, end in health["suspect"][side]:
            cleaned[side][start:end] = False
    return cleaned


ECHOES: Final = list(itertools.product((0, 1), (-20, -30, -40), (20, 120, 300), (False, True)))
SPANNING: Final = {
    (0, -20, 20, False), (1, -20, 300, True), (0, -30, 120, True), (1, -30, 20, False), (0, -40, 300, False),
    (1, -40, 120, True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "level_db", "delay_ms", "in_room"),
    [pytest.param(*echo, marks=() if echo in SPANNING else pytest.mark.fuzz) for echo in ECHOES],
)
def test_echo_is_found_and_changes_no_count_once_suspects_are_left_out(
    source: int, level_db: float, delay_ms: float, in_room: bool
) -> None:
    pcm = with_echo(sample(), source, level_db, delay_ms, in_room)
    tracks = active(pcm, SileroVad)
    health = health_of(pcm, tracks)
    (finding,) = health["findings"]
    assert (finding["id"], finding["side"], health["verdict"]) == ("echo", SIDES[1 - source], "warn")
    assert finding["figures"]["delay_ms"] == pytest.approx(delay_ms, abs=DELAY_ERROR_MS)
    if not in_room:
        assert finding["figures"]["level_db"] == pytest.approx(level_db, abs=LEVEL_ERROR_DB)
    assert interruptions(without(tracks, health)) == interruptions(active(sample(), SileroVad))


def test_loud_echo_does_change_the_count_where_it_is_not_left_out() -> None:
    assert interruptions(active(with_echo(sample(), 0, -20, 120))) != interruptions(active(sample()))


def test_echo_both_ways_is_found_both_ways() -> None:
    pcm = with_echo(with_echo(sample(), 0, -30, 80), 1, -35, 180)
    delays = {side: f["figures"]["delay_ms"] for (_, side), f in found(pcm).items()}
    assert delays == {"A": pytest.approx(180, abs=0.5), "B": pytest.approx(80, abs=0.5)}


CROSSTALK: Final = list(itertools.product((-15, -20, -25, -30, -35, -40), (0, 20, 120)))


@pytest.mark.parametrize(
    ("level_db", "delay_ms"),
    [
        pytest.param(*both, marks=() if both in {(-15, 20), (-35, 0), (-40, 0)} else pytest.mark.fuzz)
        for both in CROSSTALK
    ],
)
def test_crosstalk_both_ways_is_found_both_ways_and_leaves_no_ghost(level_db: float, delay_ms: float) -> None:
    pcm = with_echo(sample(), 0, level_db, delay_ms)
    pcm[:, 0] = with_echo(sample(), 1, level_db, delay_ms)[:, 0]
    tracks = active(pcm, SileroVad)
    health = health_of(pcm, tracks)
    assert {(finding["id"], finding["side"]) for finding in health["findings"]} == {("echo", "A"), ("echo", "B")}
    for finding in health["findings"]:
        figures = finding["figures"]
        assert figures["level_db"] == pytest.approx(level_db, abs=LEVEL_ERROR_DB)
        for name in ("least_delay_ms", "delay_ms", "most_delay_ms"):
            assert figures[name] == pytest.approx(delay_ms, abs=DELAY_ERROR_MS)
    assert interruptions(without(tracks, health)) == interruptions(active(sample(), SileroVad))


@pytest.mark.parametrize("delay_ms", [10, 199])
def test_a_side_that_repeats_the_other_is_said_to(delay_ms: int) -> None:
    delay = delay_ms * SAMPLE_RATE_HZ // 1000
    said = in_rooms(sample())[:, 0]
    repeating = np.stack([said, np.concatenate([np.zeros(delay, np.int16), said[:-delay]])], axis=1)
    ((id, side), finding) = max(found(in_rooms(repeating, -75)).items(), key=lambda each: each[1]["severity"] == "bad")
    assert (id, side, finding["text"]) == ("repeats", "B", f"B repeats A {delay_ms} ms later")
    assert finding["figures"]["delay_ms"] == pytest.approx(delay_ms, abs=DELAY_ERROR_MS)


def test_on_one_clock_nothing_comes_before_its_source() -> None:
    """A system that echoes for 5 s, then is silent: all of it is in the other, and little of the other is in it."""
    said = in_rooms(sample())[:, 0]
    repeating = np.stack([said, np.concatenate([np.zeros(480, np.int16), said[:-480]])], axis=1)
    repeating[5 * SAMPLE_RATE_HZ :, 1] = 0
    told = [health_of(repeating, live=live)["findings"] for live in (False, True)]
    assert [[finding["id"] for finding in findings] for findings in told] == [["offset"], []]


def test_no_delay_is_negative() -> None:
    pcm = with_echo(sample(), 0, -20, 0)
    pcm[:-24, 1] = pcm[24:, 1]  # the files begin half a millisecond apart
    figures = found(pcm)["echo", "B"]["figures"]
    assert (figures["least_delay_ms"], figures["most_delay_ms"]) == (0, 0)


def test_a_delay_that_changes_is_told_as_a_range() -> None:
    half = len(sample()) // 2
    pcm = np.concatenate([with_echo(sample()[:half], 0, -25, 60), with_echo(sample()[half:], 0, -25, 240)])
    figures = found(pcm)["echo", "B"]["figures"]
    assert [figures["least_delay_ms"], figures["most_delay_ms"]] == pytest.approx([60, 240], abs=0.5)


def test_speech_of_both_at_once_is_no_echo() -> None:
    together = np.stack([sample()[:, 0], np.roll(sample()[:, 0], 17 * SAMPLE_RATE_HZ)], axis=1)
    assert "echo" not in {id for id, _ in found(together)}


def test_clean_sessions_raise_nothing() -> None:
    assert health_of(sample())["findings"] == []
    assert health_of(synthetic())["findings"] == []
    assert health_of(synthetic_in_rooms())["findings"] == []
    assert health_of(sample()[:, ::-1], two_files=True)["findings"] == []


@pytest.mark.skipif(not REAL.is_dir(), reason="needs recordings that do not ship")
def test_real_recordings_raise_nothing(tmp_path: Path) -> None:
    for folder in sorted(REAL.glob("*/*")):
        recording = replay(folder, out=tmp_path, vad="energy")
        assert recording.health is not None
        assert recording.health["verdict"] == "ok"


def put(pcm: Stereo, side: int, at_s: float, sound: npt.NDArray[np.float64]) -> Stereo:
    mixed = pcm.copy()
    span = slice(round(at_s * SAMPLE_RATE_HZ), round(at_s * SAMPLE_RATE_HZ) + len(sound))
    mixed[span, side] = clipped16(mixed[span, side] + sound)
    return mixed


def with_tone(pcm: Stereo, side: int, hz: float, dbov: float) -> Stereo:
    """A tone of that power from the first sample to the last."""
    peak = 32768 * np.sqrt(2) * 10 ** (dbov / 20)
    return put(pcm, side, 0, sine((hz,), len(pcm) / SAMPLE_RATE_HZ, peak))


def arpeggio(seconds: float) -> npt.NDArray[np.float64]:
    """Notes of one frequency, 0.25 s each."""
    return np.concatenate([sine(((523.3, 659.3, 784.0)[note % 3],), 0.25) for note in range(round(seconds * 4))])


def tune(seconds: float) -> npt.NDArray[np.float64]:
    """Broken chords of decaying notes with harmonics."""
    samples = round(seconds * SAMPLE_RATE_HZ)
    wave = np.zeros(samples)
    for number, start in enumerate(range(0, samples, SAMPLE_RATE_HZ * 3 // 10)):
        at = np.arange(min(SAMPLE_RATE_HZ, samples - start)) / SAMPLE_RATE_HZ
        root_hz = (220.0, 174.6, 261.6, 196.0)[number // 4 % 4]
        for interval in (1.0, 1.26, 1.498):
            for harmonic in range(1, 7):
                wave[start : start + len(at)] += (
                    np.sin(2 * np.pi * root_hz * interval * harmonic * at) * np.exp(-2.5 * at) / harmonic
                )
    loud: npt.NDArray[np.float64] = wave * 4000 / np.abs(wave).max()
    return loud


def dialled(pcm: Stereo) -> Stereo:
    for number, hz in enumerate([(697, 1209), (770, 1336), (852, 1477), (941, 1336), (941, 1477)]):
        pcm = put(pcm, 0, 0.1 + 0.15 * number, sine(hz, 0.08))
    return pcm


def dialled_in_silence(pcm: Stereo) -> Stereo:
    """Four digits in 2 s of digital silence."""
    pcm = pcm.copy()
    pcm[: 2 * SAMPLE_RATE_HZ, 0] = 0
    for number, hz in enumerate([(697, 1209), (770, 1336), (852, 1477), (941, 1336)]):
        pcm = put(pcm, 0, 0.2 + 0.38 * number, sine(hz, 0.1))
    return pcm


def mixed(pcm: Stereo) -> Stereo:
    """A with all of B."""
    return clipped16(np.stack([pcm.sum(axis=1, dtype=np.int64), pcm[:, 1]], axis=1))


def ringing(pcm: Stereo) -> Stereo:
    return put(put(pcm, 1, 3, sine((440, 480), 1.5)), 1, 6, sine((440, 480), 1.5))


def telephone(pcm: Stereo) -> Stereo:
    narrow = soxr.resample(pcm.astype(np.float64), SAMPLE_RATE_HZ, 8000)
    return clipped16(soxr.resample(narrow, 8000, SAMPLE_RATE_HZ))[: len(pcm)]


def dropped(pcm: Stereo) -> Stereo:
    pcm = pcm.copy()
    speaking = np.flatnonzero(active(pcm)["B"])
    for tick in np.random.default_rng(2).choice(speaking, 40, replace=False):
        pcm[tick * FRAME_SAMPLES + 77 :][: 4 * FRAME_SAMPLES, 1] = 0
    return pcm


def in_one_room(pcm: Stereo) -> Stereo:
    """A digitally silent, B in a room."""
    return np.stack([pcm[:, 0], in_rooms(pcm)[:, 1]], axis=1)


FAULTS: Final[dict[str, tuple[Callable[[], Stereo], set[tuple[str, str | None]]]]] = {
    "dialling": (lambda: dialled(synthetic_in_rooms()), {("dtmf", "A")}),
    "dialling in silence": (lambda: dialled_in_silence(synthetic_in_rooms()), {("dtmf", "A")}),
    "a mixed channel": (lambda: mixed(sample()), {("mixed", "A")}),
    "a channel mixed in rooms": (lambda: mixed(synthetic_in_rooms())[:, ::-1], {("mixed", "B")}),
    "a steady tone": (lambda: with_tone(synthetic_in_rooms(), 0, 400, -40), {("tone", "A"), ("noise", "A")}),
    "ringing": (lambda: ringing(synthetic_in_rooms()), {("ringing", "B")}),
    "a tone": (lambda: put(synthetic_in_rooms(), 1, 10, sine((1000,), 1)), {("tone", "B")}),
    "music": (lambda: put(synthetic_in_rooms(), 1, 10, tune(15)), {("music", "B")}),
    "arpeggio": (lambda: put(synthetic_in_rooms(), 1, 10, arpeggio(12)), {("music", "B")}),
    "telephone band": (lambda: telephone(synthetic_in_rooms()), {("telephone", "A"), ("telephone", "B")}),
    "clipping": (lambda: clipped16(np.clip(sample(), -4000, 4000)), {("clipping", "A"), ("clipping", "B")}),
    "direct current": (lambda: clipped16(sample() + np.array([900.0, 0.0])), {("dc", "A")}),
    "a soft side": (lambda: clipped16(synthetic() * np.array([1.0, 0.02])), {("soft", "B")}),
    "noise": (lambda: in_rooms(sample(), -38), {("noise", "A"), ("noise", "B")}),
    "dropouts": (lambda: dropped(sample()), {("dropouts", "B")}),
    "exchanged sides": (lambda: in_one_room(synthetic()), {("exchanged", None)}),
    "sides in order": (lambda: in_one_room(synthetic())[:, ::-1], set()),
    "silence": (lambda: np.zeros_like(sample()), {("no_speech", "A"), ("no_speech", "B")}),
    "nobody on B": (lambda: sample() * np.array([1, 0], np.int16), {("no_speech", "B")}),
    "one tick": (lambda: sample()[:FRAME_SAMPLES], {("no_speech", "A"), ("no_speech", "B")}),
    "a second": (lambda: sample()[: 100 * FRAME_SAMPLES], {("no_speech", "A")}),
}


@pytest.mark.parametrize("hz", [100, 240, 300, 800, 1000])
@pytest.mark.parametrize("peak", [9000, 32_767])
def test_a_pure_tone_is_not_clipped_and_a_clipped_one_is(hz: int, peak: int) -> None:
    wave = peak * np.cos(2 * np.pi * hz * np.arange(5 * SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ)
    pure, clipped = (np.stack([np.zeros_like(each), each], axis=1) for each in (wave, np.clip(wave, -8000, 8000)))
    assert ("clipping", "B") not in found(clipped16(pure))
    assert ("clipping", "B") in found(clipped16(clipped))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_nothing_else(fault: str) -> None:
    make, expected = FAULTS[fault]
    assert set(found(make())) == expected


STEADY: Final = [(1000, -30), (2100, -30), (400, -40), (50, -30)]


@pytest.mark.parametrize(
    ("side", "hz", "dbov"),
    [pytest.param(side, *tone, marks=() if tone == STEADY[-1 - side] else pytest.mark.fuzz)
     for tone, side in itertools.product(STEADY, (0, 1))],
)  # fmt: skip
def test_a_steady_tone_is_no_echo_and_hides_none(side: int, hz: float, dbov: float) -> None:
    pcm = with_tone(synthetic(), side, hz, dbov)
    tracks = active(synthetic())
    placed = {"echo", "offset", "same_channels", "mixed"}
    assert placed.isdisjoint(finding["id"] for finding in health_of(pcm, tracks)["findings"])
    echoing = with_tone(with_echo(synthetic(), 0, -30, 120), side, hz, dbov)
    (echo,) = (finding for finding in health_of(echoing, tracks)["findings"] if finding["id"] in placed)
    assert (echo["id"], echo["side"]) == ("echo", "B")
    assert echo["figures"]["delay_ms"] == pytest.approx(120, abs=DELAY_ERROR_MS)
    assert echo["figures"]["level_db"] == pytest.approx(-30, abs=LEVEL_ERROR_DB)


def test_a_synthetic_voice_at_16_khz_is_no_telephone() -> None:
    """Of vowels, espeak-ng has hardly anything above 4 kHz; a telephone has nothing but the noise of its line."""
    vowels = "Oh no, no, no. Oh well, you know, alone, along, owning, rowing a low boat. Moon, noon, loom, no one."
    spoken = np.tile(synthesise(vowels, Voice(name="en+m3")), 2)
    pcm = np.zeros((3 * len(spoken), 2), np.int16)
    pcm[: len(spoken), 0] = pcm[-len(spoken) :, 1] = spoken
    at_16_khz = soxr.resample(pcm.astype(np.float64), SAMPLE_RATE_HZ, 16_000)
    wide = clipped16(soxr.resample(at_16_khz, 16_000, SAMPLE_RATE_HZ))
    assert not {"telephone"} & {finding for finding, _ in found(wide)}
    noisy = clipped16(telephone(pcm) + np.random.default_rng(0).normal(0, 16, pcm.shape))
    assert {("telephone", "A"), ("telephone", "B")} <= set(found(noisy))


def test_dialled_digits_are_read() -> None:
    assert found(dialled(synthetic_in_rooms()))["dtmf", "A"]["text"] == "A dialled 1590# at 0:00"


def test_digits_dialled_apart_are_entries_of_their_own() -> None:
    pcm = put(dialled(synthetic_in_rooms()), 0, 21, sine((697, 1336), 0.1))
    assert found(pcm)["dtmf", "A"]["text"] == "A dialled 1590# at 0:00, 2 at 0:21"


def test_hum_is_named_with_its_frequency() -> None:
    finding = found(with_tone(synthetic_in_rooms(), 1, 50, -30))["noise", "B"]
    assert finding["text"].endswith(" dB, hum of 50 Hz")
    assert found(in_rooms(sample(), -38))["noise", "B"]["figures"].keys() == {"snr_db"}


def test_spans_are_where_the_sound_is() -> None:
    ((start, end),) = found(put(synthetic_in_rooms(), 1, 10, sine((1000,), 1)))["tone", "B"]["spans"]
    assert [start, end] == pytest.approx([1000, 1100], abs=3)


def test_sides_that_hold_the_same_are_no_echo() -> None:
    mono = sample().sum(axis=1, dtype=np.int64)
    assert set(found(in_rooms(clipped16(np.stack([mono, 0.8 * mono], axis=1)), -75))) == {("same_channels", None)}


def test_an_echo_before_its_source_means_misplaced_sides() -> None:
    early = sample().astype(np.float64)
    early[: -SAMPLE_RATE_HZ // 10, 1] += 0.03 * early[SAMPLE_RATE_HZ // 10 :, 0]
    finding = found(clipped16(early))["offset", "B"]
    assert finding["severity"] == "bad"
    assert finding["figures"]["at_least_ms"] == pytest.approx(100, abs=0.5)


def test_sides_out_of_step_are_suspected_by_their_overlap() -> None:
    pcm = synthetic(seconds=60)
    late = np.stack([pcm[:, 0], np.roll(pcm[:, 1], 3 * SAMPLE_RATE_HZ)], axis=1)
    for two_files in (True, False):
        finding = found(late, two_files)["out_of_step", None]
        assert finding["figures"]["least_late_ms"] <= 3000 <= finding["figures"]["most_late_ms"]
        assert finding["severity"] == "warn"
        assert "audio alone cannot tell" in finding["text"]


def written(path: Path, pcm: Stereo, rate_hz: int = SAMPLE_RATE_HZ, codec: str = "pcm_s16le") -> Path:
    at_rate = soxr.resample(pcm.astype(np.float64), SAMPLE_RATE_HZ, rate_hz) if rate_hz != SAMPLE_RATE_HZ else pcm
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate_hz, layout="stereo")
        frame = av.AudioFrame.from_ndarray(clipped16(at_rate).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate = rate_hz
        container.mux([*stream.encode(frame), *stream.encode(None)])
    return path


@pytest.mark.parametrize(
    ("name", "rate_hz", "codec"),
    [("a.wav", 8_000, "pcm_s16le"), ("a.opus", 48_000, "libopus"),
     *(pytest.param(f"a.{suffix}", rate_hz, codec, marks=pytest.mark.fuzz) for suffix, rate_hz, codec in
       (("wav", 16_000, "pcm_s16le"), ("wav", 44_100, "pcm_s16le"), ("flac", 24_000, "flac")))],
)  # fmt: skip
def test_echo_is_the_same_at_any_rate_and_in_any_format(name: str, rate_hz: int, codec: str, tmp_path: Path) -> None:
    file = written(tmp_path / name, with_echo(sample(), 1, -25, 150), rate_hz, codec)
    recording = replay(file, out=tmp_path / "run", vad="energy")
    assert recording.health is not None
    echo = next(f for f in recording.health["findings"] if f["id"] == "echo")
    assert echo["figures"]["delay_ms"] == pytest.approx(150, abs=1)
    assert echo["figures"]["level_db"] == pytest.approx(-25, abs=LEVEL_ERROR_DB)


def test_blocks_of_any_size_are_heard_alike() -> None:
    pcm, tracks = sample()[: 2000 * FRAME_SAMPLES], active(sample()[: 2000 * FRAME_SAMPLES])
    told = []
    for samples in (SAMPLE_RATE_HZ, 12_345):
        with HealthProbe() as probe:
            for _ in probe.tap(blocks(pcm, samples)):
                pass
            told.append(examine(probe.sides(), tracks))
    assert told[0]["findings"] == told[1]["findings"]
    for side in SIDES:
        assert told[0]["sides"][side] == pytest.approx(told[1]["sides"][side])


@pytest.mark.parametrize(("side", "missing"), [("A", 1), ("B", 1), ("B", 240), ("A", 481)])
def test_sides_of_unequal_length_are_heard_to_the_end_of_the_longer(side: Side, missing: int) -> None:
    pcm = with_echo(sample(), 1, -20, 120)[: 1 - FRAME_SAMPLES]
    ends = {"A": len(pcm), "B": len(pcm)} | {side: len(pcm) - missing}
    a, b = np.ascontiguousarray(pcm.T)
    with HealthProbe() as probe:
        for _ in probe.tap([(a[: ends["A"]], b[: ends["B"]])]):
            pass
        sides = probe.sides()
        assert {heard.n_ticks for heard in sides.values()} == {-(-len(pcm) // FRAME_SAMPLES)}
        (finding,) = examine(sides, active(sample()), two_files=True)["findings"]
    assert finding["figures"]["delay_ms"] == pytest.approx(120, abs=DELAY_ERROR_MS)


@pytest.mark.parametrize("share", [0.0005, 0.002, -0.008, 0.01, 0.05])
def test_levels_are_those_beside_direct_current(share: float) -> None:
    clean = health_of(in_rooms(sample(), -75), tracks := active(sample()))["sides"]["B"]
    shifted = in_rooms(sample(), -75) + np.array([0, round(share * 32768)], np.int16)
    told = health_of(shifted, tracks)["sides"]["B"]
    for name in ("level_dbov", "noise_dbov", "snr_db"):
        assert told.get(name) == pytest.approx(clean.get(name), abs=0.05)
    assert told["dc_of_full_scale"] == pytest.approx(clean["dc_of_full_scale"] + share, abs=2e-5)


def test_echo_and_tones_are_found_beside_direct_current() -> None:
    pcm = put(with_echo(synthetic_in_rooms(), 0, -30, 120), 0, 10, sine((1000,), 1))
    assert set(found(clipped16(pcm + 600.0))) == {("echo", "B"), ("tone", "A"), ("dc", "A"), ("dc", "B")}


def test_measures_stand_without_and_with_echo(tmp_path: Path) -> None:
    clean = replay(_wav(tmp_path / "clean.wav", sample()), out=tmp_path / "run", vad="energy")
    echoing = replay(_wav(tmp_path / "echo.wav", with_echo(sample(), 1, -22, 120)), out=tmp_path / "run", vad="energy")
    scores, content = score(echoing), document_of(echoing)
    validator("replay").validate(json.loads(json.dumps(content)))
    onsets = scores["measures"]["a_onset_in_overlap_per_b_speech_min"]
    assert onsets["n"] < onsets["with_echo"]["n"]
    assert onsets["n"] == score(clean)["measures"]["a_onset_in_overlap_per_b_speech_min"]["n"]
    assert not any("suspect" in event for event in document_of(clean)["events"])
    count = sum(event.get("suspect", False) for event in content["events"])
    assert f"health              echo B->A -22 dB at 120 ms ({count} events suspect)" in screen(echoing, content)
    assert "  with echo" in screen(echoing, content)
    pooled = pooled_measures([clean, echoing])["a_onset_in_overlap_per_b_speech_min"]
    assert (pooled["n"], pooled["with_echo"]["n"]) == (2 * onsets["n"], onsets["n"] + onsets["with_echo"]["n"])
    assert "health              ok\n" in screen(clean, document_of(clean))
    page = (echoing.path / "report.html").read_text()
    assert "echo B-&gt;A -22 dB at 120 ms" in page
    assert "with echo" in page


def test_doctor_examines_files(tmp_path: Path) -> None:
    good = _wav(tmp_path / "good.wav", sample())
    bad = _wav(tmp_path / "bad.wav", clipped16(np.clip(sample(), -4000, 4000)))
    assert "health: ok" in command("doctor", "--vad", "energy", good, code=0).output
    done = command("doctor", "--vad", "energy", "--json", good, bad, code=1)
    assert {name: health["verdict"] for name, health in json.loads(done.output)["files"].items()} == {
        "good": "ok",
        "bad": "bad",
    }


def test_doctor_tells_what_is_missing_of_a_file(tmp_path: Path) -> None:
    half = _wav(tmp_path / "half.wav", sample())
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    assert "!! half.wav: cut off: " in command("doctor", "--vad", "energy", half, code=1).output
    mute = _wav(tmp_path / "mute.wav", sample() * np.array([1, 0], np.int16))
    assert "!! B never spoke: no speech found, digitally silent" in command("doctor", "--vad", "energy", mute).output
    assert command("doctor", "nosuch.wav").exit_code == 2


def test_doctor_tells_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("not audio")
    assert command("doctor", tmp_path / "notes.wav", code=1).stderr.startswith("fdbcore doctor: ")


def _wav(path: Path, pcm: Stereo) -> Path:
    with WavWriter(path, channels=2) as wav:
        wav.write(np.ascontiguousarray(pcm))
    return path
