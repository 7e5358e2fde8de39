"""The speech detector against a slow version of its rules, and by what its decisions may depend on."""

import numpy as np
import numpy.typing as npt
import pytest
from helpers.sounds import noise, tone
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.speech import naive_speech

from fdbcore._ext.level import EnergyDetector
from fdbcore._ext.speech import SpeechDetector
from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

Floats = npt.NDArray[np.float64]

DELAY = SpeechDetector.delay_ticks
WINDOW_SAMPLES = SAMPLE_RATE_HZ * 32 // 1000


def detect(pcm: Pcm, probabilities: Floats) -> list[bool]:
    """The activity of each tick, if each window is judged as soon as its samples have come."""
    detector, said, judged = SpeechDetector(), [], 0
    for tick, frame in enumerate(pcm.reshape(-1, FRAME_SAMPLES), 1):
        said.append(detector.push(frame))
        while (judged + 1) * WINDOW_SAMPLES <= tick * FRAME_SAMPLES:
            detector.judge(probabilities[judged])
            judged += 1
    for probability in probabilities[judged:]:
        detector.judge(probability)
    return said[DELAY:] + detector.finish()


def levels(pcm: Pcm) -> tuple[Floats, Floats]:
    """The levels of each tick and of its bands."""
    meter, track = EnergyDetector(), []
    for frame in pcm.reshape(-1, FRAME_SAMPLES):
        meter.push(frame)
        track.append((meter.level_dbfs, *meter.band_levels_dbfs))
    values = np.array(track)
    return values[:, 0], values[:, 1:]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Pcm, Floats]:
    """Noise that changes, with tones in it that swell or fade, and a model that more or less hears the tones."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    parts, heard = [], []
    for seed in range(draw(st.integers(1, 9))):
        ticks, rms = draw(st.integers(1, 60) | st.just(600)), draw(st.sampled_from([0.0, 1.0, 10.0, 100.0, 500.0]))
        part = noise(ticks, rms, seed).astype(np.float64)
        speech = draw(st.booleans())
        if speech:
            sound = tone(ticks, draw(st.sampled_from([150.0, 600.0, 2500.0, 6000.0])), 10 ** draw(st.floats(1.5, 4.2)))
            slope_db = draw(st.sampled_from([0.0, 0.0, 40.0, -40.0, -80.0]))
            swing_db = 4 * np.sin(np.arange(ticks * FRAME_SAMPLES) / 1500)
            part += sound * 10 ** ((np.linspace(min(-slope_db, 0), min(slope_db, 0), len(sound)) + swing_db) / 20)
        parts.append(part.clip(-32_768, 32_767))
        heard.append(np.full(ticks * FRAME_SAMPLES, speech))
    pcm = np.rint(np.concatenate(parts)).astype(np.int16)
    late = np.roll(np.concatenate(heard), draw(st.integers(0, 8)) * FRAME_SAMPLES)
    windows = np.pad(late, (0, -len(late) % WINDOW_SAMPLES)).reshape(-1, WINDOW_SAMPLES).mean(axis=1)
    return pcm, np.clip(windows + rng.normal(0, draw(st.sampled_from([0.0, 0.1, 0.4])), len(windows)), 0, 1)


@given(scene=scenes())
@settings(max_examples=30, deadline=None)
def test_decisions_are_those_of_the_naive_detector(scene: tuple[Pcm, Floats]) -> None:
    pcm, probabilities = scene
    assert detect(pcm, probabilities) == naive_speech(*levels(pcm), probabilities)


@pytest.mark.fuzz
@given(scene=scenes())
@settings(deadline=None)
def test_decisions_are_those_of_the_naive_detector_at_length(scene: tuple[Pcm, Floats]) -> None:
    pcm, probabilities = scene
    assert detect(pcm, probabilities) == naive_speech(*levels(pcm), probabilities)


@given(past=scenes(), futures=st.tuples(scenes(), scenes()))
@settings(max_examples=8, deadline=None)
def test_a_decision_is_final_after_32_ticks(
    past: tuple[Pcm, Floats], futures: tuple[tuple[Pcm, Floats], tuple[Pcm, Floats]]
) -> None:
    certain = len(past[0]) // FRAME_SAMPLES - DELAY
    windows = len(past[0]) // WINDOW_SAMPLES
    found = []
    for pcm, heard in futures:
        whole = np.concatenate((past[0], pcm))
        probabilities = np.concatenate((past[1][:windows], heard, np.zeros(3)))
        found.append(detect(whole, probabilities[: -(-len(whole) // WINDOW_SAMPLES)])[: max(certain, 0)])
    assert found[0] == found[1]


def test_a_frame_of_another_kind_and_a_frame_after_the_end_are_refused() -> None:
    detector = SpeechDetector()
    with pytest.raises(FrameError, match=r"expected int16 \(480,\), C-contiguous, got float32 \(480,\)"):
        detector.push(np.zeros(FRAME_SAMPLES, np.float32))
    assert detector.finish() == []
    with pytest.raises(FrameError, match="expected none after finish"):
        detector.push(np.zeros(FRAME_SAMPLES, np.int16))


def test_soft_speech_is_raised_once_some_is_heard_and_loud_speech_never() -> None:
    for peak, raised in ((100.0, True), (3000.0, False)):
        detector = SpeechDetector()
        for frame in tone(100, peak=peak).reshape(-1, FRAME_SAMPLES):
            detector.push(frame)
        gains = []
        for _ in range(100):
            detector.judge(1.0)
            gains.append(detector.gain)
        assert gains[10] == 1
        assert (gains[-1] > 10) == raised


def test_a_voice_that_stays_far_softer_is_taken_for_anothers_only_for_a_while() -> None:
    """Soft sounds between loud ones are crosstalk; a side that goes on softly is heard again."""
    silence = np.zeros(50 * FRAME_SAMPLES, np.int16)
    soft = tone(100, peak=20_000 * 10 ** (-24 / 20))
    pcm = np.concatenate([tone(100, peak=20_000.0), silence] * 3 + [soft, silence] * 20)
    heard = pcm != 0
    probabilities = np.pad(heard, (0, -len(heard) % WINDOW_SAMPLES)).reshape(-1, WINDOW_SAMPLES).mean(axis=1).round()
    active = np.array(detect(pcm, probabilities)).reshape(-1, 150)[..., :100].mean(axis=-1)
    assert (active[:3] > 0.9).all()
    assert (active[3:6] == 0).all()
    assert (active[-5:] > 0.9).all()
