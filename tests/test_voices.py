"""The benchmark of voice activity over lines: truth by construction, what the lines claim, and the scores."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from msgspec import convert
from scipy.signal import welch

from benchmarks import bench_voices
from benchmarks.bench_turns import floor_events
from benchmarks.voices import files, lines
from benchmarks.voices.clips import Phrase
from benchmarks.voices.dialogues import CUTS_DB, Dialogue, dialogue
from benchmarks.voices.gains import Change, unlike
from benchmarks.voices.labelled import speech_of
from benchmarks.voices.lines import Delay, Line, Material
from benchmarks.voices.peers import silero_spans
from benchmarks.voices.scoring import Tally, matched
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Bools, Floats, Spans, speech_spans, ticks_in, units
from fdbcore.measures.health.measured_lines import INAUDIBLE_DB, VadTable

LINES = {line.name: line for chosen in lines.SETS.values() for line in chosen}


def syllables(seconds: float, seed: int) -> Floats:
    """A voiced sound that swells five times a second, with 100 ms of silence around it."""
    rng = np.random.default_rng(seed)
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    pitch_hz = rng.uniform(100, 220)
    sound = sum(np.sin(2 * np.pi * pitch_hz * k * times + k) / k for k in range(1, 12))
    swelling = (0.55 - 0.45 * np.cos(2 * np.pi * 5 * times)) * rng.uniform(0.1, 0.3)
    return np.pad(sound * swelling, RATE_HZ // 10).astype(np.float32)


@pytest.fixture(scope="module")
def material() -> Material:
    voices = {
        name: [
            Phrase(syllables(seconds, seed), seconds)
            for seed, seconds in enumerate(np.linspace(0.4, 2.4, 60), 100 * number)
        ]
        for number, name in enumerate("xyz")
    }
    track = np.random.default_rng(0).standard_normal(4 * RATE_HZ).astype(np.float32)
    return Material(voices, [track])


@pytest.fixture(scope="module")
def spoken(material: Material) -> Dialogue:
    return dialogue(material.voices, 7, 40)


def naive_units(active: Bools) -> list[tuple[int, int]]:
    """The rule, a millisecond at a time: 60 in a row start a unit, 200 silent ones end it where they began."""
    found, start, run, silent = [], None, 0, 0
    for ms, speaks in enumerate([*active.tolist(), *[False] * 200]):
        run, silent = (run + 1, 0) if speaks else (0, silent + 1)
        if start is None and run == 60:
            start = ms - 59
        if start is not None and silent == 200:
            found.append((start, ms - 199))
            start = None
    return found


def test_units_are_those_of_the_rule_a_millisecond_at_a_time() -> None:
    ms = RATE_HZ // 1000
    for seed in range(50):
        rng = np.random.default_rng(seed)
        edges = np.cumsum(rng.choice([5, 30, 59, 60, 61, 150, 199, 200, 201, 400], size=40))
        spans = edges.reshape(-1, 2)
        active = np.zeros(edges[-1], dtype=np.bool_)
        for start, end in spans.tolist():
            active[start:end] = True
        assert (units(spans * ms) // ms).tolist() == [list(unit) for unit in naive_units(active)]


def test_speech_is_what_lies_within_the_cut_of_the_peak() -> None:
    """Steps of known levels: what is 35 dB down is speech at 40 dB, not at 30; edges lie within half a window."""
    steps_db = (-200, 0, -35, -45, -35, -200)
    pcm = np.repeat([10 ** (db / 20) for db in steps_db], RATE_HZ // 2) * np.tile([1, -1], 3 * RATE_HZ // 2)
    tolerance = TICK_SAMPLES // 2 + RATE_HZ // 1000
    for cut_db, expected_s in ((40, [(0.5, 1.5), (2.0, 2.5)]), (30, [(0.5, 1.0)])):
        np.testing.assert_allclose(speech_spans(pcm, cut_db), np.array(expected_s) * RATE_HZ, atol=tolerance)


def test_a_dialogue_is_the_same_each_time_and_its_truth_is_its_audio(material: Material, spoken: Dialogue) -> None:
    again = dialogue(material.voices, 7, 40)
    np.testing.assert_array_equal(spoken.pcm, again.pcm)
    for side in (0, 1):
        assert len(units(spoken.spans[40][side])) > 5
        loud = np.abs(spoken.pcm[:, side]) > 0
        powers = spoken.pcm[:, side].astype(np.float64).reshape(-1, TICK_SAMPLES) ** 2
        inside = ticks_in(spoken.spans[40][side], spoken.n_ticks)
        assert powers[inside].mean() > 1e3 * powers[~inside].mean()
        assert not ticks_in(spoken.spans[30][side], spoken.n_ticks)[~inside].any(), "the harder cut has no more"
        assert loud.any()


@pytest.mark.parametrize("cut_db", CUTS_DB)
def test_a_perfect_detector_has_no_errors(spoken: Dialogue, cut_db: int) -> None:
    spans = spoken.spans[cut_db]
    tally = Tally()
    tally.add_dialogue(spans, np.stack([ticks_in(side, spoken.n_ticks) for side in spans], axis=1))
    figures = tally.figures()
    for name in ("unit_f1", "event_f1", "transfer_f1", "offset_within_100_ms", "frame_recall", "frame_precision"):
        assert figures[name] == 1, name
    for name in ("offset_median_ms", "offset_abs_p95_ms", "premature_points", "latency_shift_ms"):
        assert figures[name] == 0, name
    for name in ("start_abs_p95_ms", "end_abs_p95_ms"):
        error_ms = figures[name]
        assert error_ms is not None
        assert error_ms <= 5, "a tick is ten milliseconds"


def test_a_late_detector_is_late_by_that(spoken: Dialogue) -> None:
    spans = spoken.spans[40]
    late = [ticks_in(side + 3 * TICK_SAMPLES, spoken.n_ticks) for side in spans]
    longer = [ticks_in(side + np.array([0, 8 * TICK_SAMPLES]), spoken.n_ticks) for side in spans]
    for active, start_ms, end_ms, offset_ms in ((late, 30, 30, 0), (longer, 0, 80, -80)):
        tally = Tally()
        tally.add_dialogue(spans, np.stack(active, axis=1))
        figures = tally.figures()
        assert figures["start_median_ms"] == pytest.approx(start_ms, abs=5)
        assert figures["end_median_ms"] == pytest.approx(end_ms, abs=5)
        assert figures["offset_median_ms"] == offset_ms


def test_matching_pairs_spans_that_share_half_of_their_union() -> None:
    truth = np.array([[0, 100], [200, 300], [400, 500]])
    found = np.array([[10, 110], [240, 360], [400, 450], [450, 500]])
    pairs = [(true.tolist(), other.tolist()) for true, other in zip(*matched(truth, found), strict=True)]
    assert pairs == [([0, 100], [10, 110]), ([400, 500], [400, 450])]


def added(line: Line, spoken: Dialogue, material: Material) -> Floats:
    """What a line adds to the clean audio."""
    difference: Floats = line.audio(spoken, material, 3) - spoken.pcm
    return difference


def dbfs(pcm: Floats) -> float:
    return float(10 * np.log10(np.mean(pcm.astype(np.float64) ** 2)))


def near_speech(spans: Spans, n_samples: int, after_s: float) -> Bools:
    """Marks each sample in a loop over spans."""
    marks = np.zeros(n_samples, dtype=np.bool_)
    for start, end in spans.tolist():
        marks[start : end + round(after_s * RATE_HZ)] = True
    return marks


@pytest.mark.parametrize("name", [line.name for line in lines.TUNING if line.name.split()[0] in lines.NOISES])
def test_noise_has_the_ratio_that_its_line_names(name: str, spoken: Dialogue, material: Material) -> None:
    ratio_db = float(name.split()[1])
    noise = added(LINES[name], spoken, material)
    for side in (0, 1):
        speaking = near_speech(spoken.spans[40][side], len(noise), 0)
        assert dbfs(spoken.pcm[speaking, side]) - dbfs(noise[:, side]) == pytest.approx(ratio_db, abs=0.1)
    shared = abs(noise[:, 0] @ noise[:, 1]) / np.sqrt((noise[:, 0] @ noise[:, 0]) * (noise[:, 1] @ noise[:, 1]))
    assert shared < 0.9, "each side has noise of its own"


@pytest.mark.parametrize(("kind", "db_per_octave"), [("white", 0), ("pink", 3), ("brown", 6)])
def test_steady_noises_have_their_colour(kind: str, db_per_octave: float, spoken: Dialogue, material: Material) -> None:
    noise = lines.NOISES[kind](60 * RATE_HZ, spoken, material, np.random.default_rng(1))
    hz, power = welch(noise, RATE_HZ, nperseg=8192)
    octaves = [power[(hz >= low) & (hz < 2 * low)].mean() for low in (100, 200, 400, 800, 1600, 3200)]
    np.testing.assert_allclose(np.diff(10 * np.log10(octaves)), -db_per_octave, atol=0.5)


@pytest.mark.parametrize("name", ["comfort -57", "comfort -40"])
def test_comfort_noise_is_beside_the_speech_and_not_under_it(name: str, spoken: Dialogue, material: Material) -> None:
    audio = LINES[name].audio(spoken, material, 3)
    for side in (0, 1):
        speaking = near_speech(spoken.spans[40][side], len(audio), 0.08)
        np.testing.assert_array_equal(audio[speaking, side], spoken.pcm[speaking, side])
        assert dbfs(audio[~speaking, side]) == pytest.approx(float(name.split()[1]), abs=0.2)


@pytest.mark.parametrize(
    ("name", "level", "hold_s"), [("gate -57 hold 150", -57, 0.15), ("gate -50 hold 300", -50, 0.3)]
)
def test_a_gate_is_silent_once_its_hold_is_over(
    name: str, level: float, hold_s: float, spoken: Dialogue, material: Material
) -> None:
    audio = LINES[name].audio(spoken, material, 3)
    for side in (0, 1):
        is_open = near_speech(spoken.spans[40][side], len(audio), hold_s)
        assert not audio[~is_open, side].any()
        assert dbfs((audio - spoken.pcm)[is_open, side]) == pytest.approx(level, abs=0.2)


def test_dtx_steps_by_what_its_line_names(spoken: Dialogue, material: Material) -> None:
    for name, step_db in (("dtx -53 -5", -5), ("dtx -53 +5", 5)):
        audio = LINES[name].audio(spoken, material, 3)
        sent = near_speech(spoken.spans[40][0], len(audio), 0.12)
        assert dbfs((audio - spoken.pcm)[sent, 0]) == pytest.approx(-53, abs=0.2)
        assert dbfs(audio[~sent, 0]) == pytest.approx(-53 + step_db, abs=0.5)


@pytest.mark.parametrize("name", ["speech -47 s16", "speech -55 s24", "speech -60 float"])
def test_speech_is_written_at_its_level(name: str, spoken: Dialogue, material: Material, tmp_path: Path) -> None:
    line = LINES[name]
    path = tmp_path / f"call{files.suffix(line.encoding)}"
    files.write(path, line.audio(spoken, material, 3), line.encoding)
    pcm, rate_hz = soundfile.read(path)
    assert rate_hz == RATE_HZ
    for side in (0, 1):
        speaking = near_speech(spoken.spans[40][side], len(pcm), 0)
        assert dbfs(pcm[speaking, side]) == pytest.approx(float(name.split()[1]), abs=0.1)


@pytest.mark.parametrize("rt60_ms", [300, 800])
def test_a_room_dies_away_at_its_rate(rt60_ms: int, material: Material) -> None:
    """Backward integration of an impulse's answer (Schroeder 1965), from 5 to 25 dB below its beginning."""
    pcm = np.zeros((4 * RATE_HZ, 2), dtype=np.float32)
    pcm[0] = 100  # the floor of -70 dBFS is far below
    first = np.array([[0, 160]])
    click = Dialogue(pcm, {40: (first, first)}, ("x", "y"))
    answer = LINES[f"room {rt60_ms} ms"].audio(click, material, 3)[RATE_HZ // 250 : rt60_ms * RATE_HZ // 1000, 0]
    left_db = 10 * np.log10(np.cumsum(answer[::-1] ** 2)[::-1] / np.sum(answer**2))
    at_5, at_25 = (int(np.flatnonzero(left_db <= -db)[0]) for db in (5, 25))
    assert 3 * (at_25 - at_5) / RATE_HZ * 1000 == pytest.approx(rt60_ms, rel=0.1)


def test_crosstalk_is_the_other_side_so_far_below(spoken: Dialogue, material: Material) -> None:
    heard = added(LINES["crosstalk -20 dB"], spoken, material)
    late = RATE_HZ * 15 // 1000
    slope = np.polyfit(spoken.pcm[:-late, 1], heard[late:, 0], 1)[0]
    assert 20 * np.log10(slope) == pytest.approx(-20, abs=0.1)


@pytest.mark.parametrize(
    "line", [line for line in lines.ECHO_TUNING if "to" not in line.name], ids=lambda line: line.name
)
def test_an_echo_is_so_far_below_and_so_late(line: Line, spoken: Dialogue, material: Material) -> None:
    heard, source = added(line, spoken, material)[:, 0], spoken.pcm[:, 1]
    assert dbfs(heard) - dbfs(source) == pytest.approx(float(line.name.split()[1]), abs=0.2)
    n = 2 * len(source)
    correlation = np.fft.irfft(np.fft.rfft(heard, n) * np.conj(np.fft.rfft(source, n)))
    late_ms = int(np.argmax(correlation)) * 1000 / RATE_HZ
    assert late_ms == pytest.approx(float(line.name.split(", ")[2].split()[0]), abs=10), "a room's strongest path"


def test_a_delay_moves_by_its_steps_and_back() -> None:
    pcm = np.arange(7 * RATE_HZ, dtype=np.float32) + 1
    late = Delay(100, 300, 100, every_s=1).of(pcm)
    middles = np.arange(len(pcm))[RATE_HZ // 2 :: RATE_HZ]
    assert ((pcm - late)[middles] * 1000 / RATE_HZ).tolist() == [100, 200, 300, 200, 100, 200, 300]
    np.testing.assert_array_equal(Delay(100).of(pcm)[RATE_HZ // 10 :], pcm[: -RATE_HZ // 10])


def test_interruptions_are_found_within_40_ms() -> None:
    """One side speaks for 3 s, the other within it, and once just after its end."""
    one = np.array([[1, 4]]) * RATE_HZ
    other = np.array([[2.0, 2.5], [3.9, 6]]) * RATE_HZ
    for late_ms, found in ((0, 1), (40, 1), (50, 0)):
        tally = Tally()
        shifted = other + late_ms * RATE_HZ // 1000
        active = np.stack([ticks_in(spans.astype(np.int64), 700) for spans in (one, shifted)], axis=1)
        tally.add_dialogue((one, other.astype(np.int64)), active)
        assert (tally.figures()["interruptions"], tally.figures()["interruption_recall"]) == (1, found)


@pytest.mark.parametrize("name", ["mu-law 8 kHz", "GSM 8 kHz", "Opus joint stereo 24 kbit/s", "MP3 48 kbit/s"])
def test_codecs_keep_the_speech_in_its_place(name: str, spoken: Dialogue, material: Material, tmp_path: Path) -> None:
    from benchmarks.voices.peers import heard

    line = LINES[name]
    path = tmp_path / f"call{files.suffix(line.encoding)}"
    files.write(path, line.audio(spoken, material, 3), line.encoding)
    pcm, n_ticks = heard(path)
    assert n_ticks == pytest.approx(spoken.n_ticks, abs=10)
    length = 10 * RATE_HZ
    spectrum = np.fft.rfft(pcm[:length, 0], 2 * length) * np.conj(np.fft.rfft(spoken.pcm[:length, 0], 2 * length))
    shift = int(np.argmax(np.fft.irfft(spectrum)))
    assert min(shift, 2 * length - shift) <= RATE_HZ // 500, "2 ms"


def test_silero_rule_joins_and_drops_as_its_authors_have_it() -> None:
    """Windows of 32 ms: 0.4 keeps speech going, less than 100 ms of silence does not end it, 250 ms is too short."""
    probabilities = np.array([0.1, 0.6, 0.4, 0.9, 0.1, 0.1, 0.7, *[0.9] * 6, *[0.1] * 8, *[0.9] * 5, *[0.0] * 9])
    found = silero_spans(probabilities, 4000, 1600, 0)
    assert (found // 512).tolist() == [[1, 13]]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for number, voice in enumerate(("one", "two")):
        (folder / voice).mkdir()
        for clip in range(45):
            pcm = syllables(1 + clip % 4 / 2, 100 * number + clip)
            soundfile.write(folder / voice / f"{clip:02}.wav", pcm, RATE_HZ)
    return folder


def test_the_command_prints_tables_and_writes_figures(
    clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--line", "clean", "--line", "pink 7 dB", "--line", "crosstalk -20 dB"]
    chosen += ["--vad", "energy", "--no-peers", "--brief"]
    size = ["--dialogues", "2", "--seconds", "30", "--cache", str(tmp_path / "cache")]
    command = [str(clips), *chosen, *size]
    written = []
    for run in ("first", "second"):
        bench_voices.main([*command, "--json", str(tmp_path / f"{run}.json"), "--table", str(tmp_path / "table.json")])
        written.append(json.loads((tmp_path / f"{run}.json").read_text()))
    assert written[0] == written[1]
    clean = next(row for row in written[0] if row["line"] == "clean" and row["cut_db"] == 40)
    assert clean["unit_f1"] > 0.9
    assert clean["units"] > 3
    bare, reported = (row["unit_f1"] for row in written[0] if (row["line"], row["cut_db"]) == ("crosstalk -20 dB", 40))
    assert bare + 0.1 < reported, "without what input health takes for echo"
    shown = capsys.readouterr().out
    assert "Units (stretches of speech by the 60 / 200 ms rule): F1" in shown
    warned = shown.partition("Bias of energy, and calls of which input health warns")[2].splitlines()
    assert next(row for row in warned if row.startswith("clean")).split()[-1] == "0%"
    assert next(row for row in warned if row.startswith("pink 7 dB")).split()[-2:] == ["100%", "noise"]
    table = json.loads((tmp_path / "table.json").read_text())
    assert table["clips"] == {"one": None, "two": None}
    (measured,) = table["detectors"].values()
    placed = {line.name: line for line in convert(measured, VadTable).lines}
    assert placed["pink 7 dB"].place["snr_db"] == pytest.approx(7, abs=3)
    assert placed["pink 7 dB"].what == "pink noise 7 dB below the speech"
    assert placed["clean"].place["snr_db"] == INAUDIBLE_DB
    assert placed["clean"].unit_f1 == pytest.approx(clean["unit_f1"], abs=0.002)
    assert "Sides of dialogues that were left out" in shown


def test_events_that_move_by_more_than_a_tick_are_counted_on_both_sides() -> None:
    plain = np.zeros((1000, 2), dtype=np.bool_)
    plain[100:200, 0] = plain[300:400, 1] = plain[500:600, 0] = True
    n_events = 2 * sum(map(len, floor_events(plain).values()))
    assert n_events > 2
    assert unlike(plain, plain) == (0, n_events)
    for late, moved in ((1, 0), (2, 2)):
        changed = plain.copy()
        changed[500 : 500 + late, 0] = False
        assert unlike(plain, changed) == (0, n_events), "where the gap begins does not move"
        changed = plain.copy()
        changed[400 : 400 + late, 1] = True
        assert unlike(plain, changed) == (moved, n_events)


def test_a_change_is_a_gain_then_an_offset_in_16_bit() -> None:
    assert Change(-20, 0.25).of(np.array([1000, -15, 32_767], np.int16)).tolist() == [8292, 8190, 11_469]
    assert Change(offset=0.01).of(np.array([32_700], np.int16)).tolist() == [32_767]


def test_the_command_shows_what_a_gain_and_an_offset_move(
    clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(clips), "--line", "clean", "--vad", "energy", "--no-peers", "--brief", "--gains"]
    bench_voices.main([*command, "--dialogues", "1", "--seconds", "30", "--cache", str(tmp_path / "cache")])
    table = capsys.readouterr().out.partition("Floor events that move by more than a tick (10 ms)")[2].splitlines()
    assert "energy: gain of -3 to -24 dB" in table[1]
    assert [row.split()[0] for row in table[3:5]] == ["clean", "all"]
    assert all(float(share[:-1]) < 5 for row in table[3:5] for share in row.split()[1:])


def test_music_needs_tracks(clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(clips), "--line", "clean", "--line", "music 20 dB", "--vad", "energy", "--no-peers", "--brief"]
    bench_voices.main([*command, "--dialogues", "1", "--seconds", "30", "--cache", str(tmp_path / "cache")])
    shown = capsys.readouterr()
    assert "without --music, left out: music 20 dB" in shown.err
    assert "music 20 dB" not in shown.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [("n,0.0,0.5,0", "files NAME.scv"), ("n,0.0,0.5", "start, end and label"), ("n,0.0,x,1", "numbers after NAME")],
)
def test_labels_that_are_amiss_get_one_line(tmp_path: Path, text: str, expected: str) -> None:
    if expected.startswith("files"):
        with pytest.raises(SystemExit, match=expected):
            bench_voices.main(["--labelled", str(tmp_path), "--no-peers"])
        return
    (tmp_path / "n.scv").write_text(text)
    with pytest.raises(SystemExit, match=expected):
        speech_of(tmp_path / "n.scv")


def test_labelled_recordings_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pcm = np.concatenate([syllables(1.5, 1), syllables(1, 2)])
    soundfile.write(tmp_path / "n.wav", pcm, RATE_HZ)
    (tmp_path / "n.scv").write_text("n,0.000,0.100,0,0.100,1.600,1,1.600,1.800,0,1.800,2.800,1,2.800,2.900,0\n")
    bench_voices.main(["--labelled", str(tmp_path), "--vad", "energy", "--no-peers", "--cache", str(tmp_path / "c")])
    shown = capsys.readouterr().out
    assert "1 recordings, 2 units" in shown
    row = next(line for line in shown.splitlines() if line.startswith("energy")).split()
    assert float(row[1]) > 0.9
    assert float(row[2]) > 0.9
