"""Both voice detectors by their protocol, on synthetic speech with known truth, and on real speech if it is there."""

import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import av
import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.speech import Accuracy, Span, int16, inter_pausal_units, make_dialogue
from fdbcore._ext.resample import Resampler
from fdbcore.audio.wav import WavWriter
from fdbcore.protocols import Vad
from fdbcore.recording.left_out import NO_END
from fdbcore.registry import VADS, resolve
from fdbcore.runs.replays import replay
from fdbcore.session.vad import WINDOW_MS, EnergyVad, SileroVad, SpansVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_MS, TICKS_PER_S, Pcm

Make: TypeAlias = Callable[[], Vad]

ROOT: Final = Path(__file__).resolve().parents[2]
SAMPLE: Final = ROOT / "benchmarks" / "sample"
REAL: Final = ROOT.parent / "shared" / "data" / "fdb_v1_examples"
NEAR_TICKS: Final = 10  # 100 ms
# What the labels of real recordings are good for: a transcriber puts words up to 120 ms from where the level rises, and
# a pause is labelled where the last of a voice that fades, 30 dB below it, ends.
LABEL_TICKS: Final = 15

both = pytest.mark.parametrize("make", [EnergyVad, SileroVad])


def stream(vad: Vad, pcm: Pcm) -> tuple[list[bool], list[bool]]:
    """What each push said, and what finish said."""
    return [vad.push(frame) for frame in pcm.reshape(-1, FRAME_SAMPLES)], vad.finish()


def detect(vad: Vad, pcm: Pcm) -> list[bool]:
    """The activity of each tick; the last one is filled with silence."""
    pushed, rest = stream(vad, np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)))
    return pushed[vad.delay_ticks :] + rest


def units(vad: Vad, pcm: Pcm) -> list[Span]:
    return inter_pausal_units(np.array(detect(vad, pcm), dtype=np.bool_))


def noise(ticks: int, rms: float = 5.0, seed: int = 0) -> Pcm:
    pcm: Pcm = np.rint(np.random.default_rng(seed).normal(0, rms, ticks * FRAME_SAMPLES)).astype(np.int16)
    return pcm


def decoded(path: Path) -> list[Pcm]:
    """The channels of a file of int16 audio, at 48 kHz."""
    with av.open(str(path)) as container:
        rate_hz = container.streams.audio[0].rate
        channels = container.streams.audio[0].channels
        blocks = [frame.to_ndarray().reshape(-1, channels) for frame in container.decode(audio=0)]
    pcm: npt.NDArray[np.int16] = np.concatenate(blocks)
    return [at_48_khz(np.ascontiguousarray(pcm[:, channel]), rate_hz) for channel in range(channels)]


def at_48_khz(pcm: Pcm, rate_hz: int) -> Pcm:
    if rate_hz == SAMPLE_RATE_HZ:
        return pcm
    resampler = Resampler(rate_hz, SAMPLE_RATE_HZ, "best")
    return np.concatenate((resampler.process(pcm), resampler.flush()))


@pytest.fixture(scope="module")
def sample() -> list[Pcm]:
    """Both sides of the shipped session."""
    return decoded(SAMPLE / "sample.flac")


@both
def test_decisions_come_later_and_do_not_change(make: Make, sample: list[Pcm]) -> None:
    pcm = sample[1][: 500 * FRAME_SAMPLES]
    pushed, rest = stream(make(), pcm)
    delay = make().delay_ticks
    assert delay <= 32
    assert not any(pushed[:delay])
    assert len(rest) == delay
    assert any(pushed)
    for cut in (100, 333, 360):  # before, in and at the end of speech
        shorter, _ = stream(make(), pcm[: cut * FRAME_SAMPLES])
        assert shorter == pushed[:cut]


@both
def test_silence_or_speech_of_any_length_has_a_decision_for_each_tick(make: Make, sample: list[Pcm]) -> None:
    speech = sample[1][100 * FRAME_SAMPLES :]
    for ticks in range(51):
        pushed, rest = stream(make(), speech[: ticks * FRAME_SAMPLES])
        assert (len(pushed), len(rest)) == (ticks, min(ticks, make().delay_ticks))


@both
def test_speech_that_is_cut_off_is_active_to_its_last_tick(make: Make, sample: list[Pcm]) -> None:
    speech = sample[1][: 240 * FRAME_SAMPLES]
    followed = np.concatenate((speech, np.zeros(50 * FRAME_SAMPLES, np.int16)))
    assert detect(make(), speech)[-1]
    assert detect(make(), speech) == detect(make(), followed)[:240]


@both
def test_two_streams_do_not_disturb_each_other(make: Make, sample: list[Pcm]) -> None:
    streams = [side[: 600 * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES) for side in sample]
    vads = (make(), make())
    pushed = [[vad.push(frame) for vad, frame in zip(vads, pair, strict=True)] for pair in zip(*streams, strict=True)]
    for side, frames in enumerate(streams):
        assert [decisions[side] for decisions in pushed] == stream(make(), frames.reshape(-1))[0]


@both
def test_silence_and_noise_are_no_speech(make: Make) -> None:
    for pcm in (np.zeros(300 * FRAME_SAMPLES, np.int16), noise(300), noise(300, 300.0)):
        assert not any(detect(make(), pcm))


def slam() -> Pcm:
    """Room noise, and a low noise burst at 2 s that dies away within 150 ms: a door."""
    burst = np.cumsum(np.random.default_rng(4).normal(0, 1, 24_000))
    burst -= np.convolve(burst, np.ones(600) / 600, "same")
    burst *= np.exp(-np.arange(24_000) / 2400)
    pcm = noise(500)
    pcm[200 * FRAME_SAMPLES : 250 * FRAME_SAMPLES] += np.rint(12_000 * burst / np.abs(burst).max()).astype(np.int16)
    return pcm


def beep() -> Pcm:
    """Room noise, and 300 ms of a sine of 1 kHz at 2 s."""
    pcm = noise(500)
    sine = 8000 * np.sin(2 * np.pi * 1000 / SAMPLE_RATE_HZ * np.arange(30 * FRAME_SAMPLES))
    pcm[200 * FRAME_SAMPLES : 230 * FRAME_SAMPLES] += np.rint(sine).astype(np.int16)
    return pcm


@pytest.mark.parametrize("sound", [slam, beep])
def test_a_sound_that_is_no_voice_is_energy_alone(sound: Callable[[], Pcm]) -> None:
    assert [start for start, _ in units(EnergyVad(), sound())] == [200]
    assert units(SileroVad(), sound()) == []


@pytest.mark.parametrize(("source_rate_hz", "evidence"), [(8_000, 8), (6_000, 8), (11_025, 16), (48_000, 16)])
def test_silero_judges_telephone_sources_by_its_telephone_model(source_rate_hz: int, evidence: int) -> None:
    vad: Vad = resolve("vad", VADS, "silero")(source_rate_hz=source_rate_hz)
    stream(vad, noise(32))
    (name, probabilities), *others = vad.evidence().items()
    assert not others
    assert name == f"silero_{evidence}khz_probability"
    assert len(probabilities) == 10
    assert probabilities.dtype == np.dtype("float32")
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_both_models_hear_speech_of_telephone_band(sample: list[Pcm]) -> None:
    down, up = Resampler(SAMPLE_RATE_HZ, 8000), Resampler(8000, SAMPLE_RATE_HZ)
    narrow = np.concatenate((down.process(sample[1][: 700 * FRAME_SAMPLES]), down.flush()))
    pcm = np.concatenate((up.process(narrow), up.flush()))
    for vad in (SileroVad(8_000), SileroVad(16_000)):
        assert len(units(vad, pcm)) == 1


@pytest.mark.parametrize("name", ["energy", "silero"])
def test_a_detector_describes_itself_in_json(name: str) -> None:
    vad: Vad = resolve("vad", VADS, name)(source_rate_hz=16_000)
    described = json.loads(json.dumps(vad.describe()))
    assert described["name"] == vad.name == name
    assert described["version"] == {"energy": "2", "silero": "0.4.0-2"}[name]
    assert described["settings"]["delay_ticks"] == vad.delay_ticks
    assert described["settings"]["range_db"] == {"energy": 40, "silero": 42}[name]


def test_a_soft_side_beside_a_loud_one_is_replayed(sample: list[Pcm], tmp_path: Path) -> None:
    """The soft one is raised for the model, whose own answer to it is not kept; the loud one's is."""
    a, b = sample
    pcm = np.stack([a, b // 40], axis=1)
    with WavWriter(tmp_path / "call.wav", channels=2) as file:
        file.write(pcm)
    recording = replay(tmp_path / "call.wav", out=tmp_path / "run", vad="silero")
    assert recording.evidence("silero_16khz_probability") is None
    assert recording.path.joinpath("report.html").is_file()


def test_energy_keeps_no_evidence() -> None:
    assert not EnergyVad().evidence()


@both
@pytest.mark.skipif(importlib.util.find_spec("espeakng_loader") is None, reason="needs espeakng_loader")
def test_units_of_clean_synthetic_speech_are_found(make: Make) -> None:
    dialogue = make_dialogue(seed=1, duration_s=30)
    accuracy = Accuracy()
    for side in (0, 1):
        pcm = np.ascontiguousarray(int16(dialogue.pcm)[:, side])
        accuracy.add(dialogue.units(side), units(make(), pcm))
    assert accuracy.n_true >= 8
    assert accuracy.f1 >= 0.9
    assert accuracy.median_ms <= 20


@both
def test_every_unit_of_the_sample_is_found_within_100_ms(make: Make, sample: list[Pcm]) -> None:
    truth: dict[str, Any] = json.loads((SAMPLE / "truth.json").read_text())
    tick = truth["audio"]["rate_hz"] // TICKS_PER_S
    for side, pcm in zip(truth["audio"]["channels"], sample, strict=True):
        true = [unit for line in truth["utterances"] if line["side"] == side for unit in line["ipus"]]
        found = units(make(), pcm)
        assert len(found) == len(true)
        assert np.abs(np.array(found) - np.array(true) / tick).max() <= NEAR_TICKS


real_speech = pytest.mark.skipif(not REAL.is_dir(), reason=f"needs the examples of Full-Duplex-Bench v1 in {REAL}")


def real(path: str) -> Any:
    """A file of an example: its audio, or its content as JSON."""
    (file,) = REAL.glob(path)
    return decoded(file)[0] if file.suffix == ".wav" else json.loads(file.read_text())


@both
@real_speech
def test_real_speech_around_an_annotated_pause(make: Make) -> None:
    (pause,) = real("pause_handling_example/1/pause.json")
    start, end = (round(second * TICKS_PER_S) for second in pause["timestamp"])
    (_, before), (after, _) = units(make(), real("pause_handling_example/1/input.wav"))
    assert abs(before - start) <= LABEL_TICKS
    assert abs(after - end) <= LABEL_TICKS


@both
@real_speech
@pytest.mark.parametrize("example", ["smooth_turn_taking_example", "pause_handling_example"])
def test_real_speech_starts_near_the_start_of_a_word(make: Make, example: str) -> None:
    words = real(f"{example}/1/output.json")["chunks"]
    # A first word that the transcriber puts at 0.0 lasts until the next one: nothing is known of its start.
    first = words[1] if words[0]["timestamp"][0] == 0 else words[0]
    starts = np.array([round(word["timestamp"][0] * TICKS_PER_S) for word in words])
    found = units(make(), real(f"{example}/1/output.wav"))
    known = [start for start, _ in found if start / TICKS_PER_S > first["timestamp"][0] - NEAR_TICKS / TICKS_PER_S]
    assert known
    for start in known:
        assert np.abs(starts - start).min() <= LABEL_TICKS


@both
def test_each_kept_span_is_heard_as_if_it_were_cut_out(make: Make, sample: list[Pcm]) -> None:
    kept = [(105, 300), (302, 308), (310, 1_111), (1_500, NO_END)]  # the recording ends within the last one
    pcm = sample[1][: 1_917 * FRAME_SAMPLES]
    garbage, alone, evidence = noise(1_917, rms=9000.0), np.zeros(1_917, np.bool_), []
    for start, end in kept:
        within = slice(start * FRAME_SAMPLES, end * FRAME_SAMPLES)
        garbage[within] = pcm[within]
        vad = make()
        alone[start:end] = detect(vad, pcm[within])
        evidence += [probability for track in vad.evidence().values() for probability in track.tolist()]
        windows = [math.ceil((min(end, 1_917) - start) * TICK_MS / WINDOW_MS)] * len(vad.evidence())
        assert [len(track) for track in vad.evidence().values()] == windows  # as the measures of v1.5 expect
    spans = SpansVad(make, kept)
    assert detect(spans, garbage) == alone.tolist()
    assert [probability for track in spans.evidence().values() for probability in track.tolist()] == evidence
    assert alone.any()


def test_a_model_that_served_another_stream_gives_the_same(sample: list[Pcm]) -> None:
    first, other = sample[0][: 480 * 800], sample[1][: 480 * 800]
    fresh = SileroVad()
    expected = detect(fresh, first), fresh.evidence()["silero_16khz_probability"].tolist()
    detect(SileroVad(), other)
    reused = SileroVad()
    assert (detect(reused, first), reused.evidence()["silero_16khz_probability"].tolist()) == expected
