"""The level meter against SciPy, the decisions against a naive detector, and the edges of what is certain."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers.sounds import noise, tone
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.level import naive_activity
from scipy import signal

from fdbcore._ext.level import EnergyDetector
from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

DELAY = EnergyDetector.delay_ticks
EDGES_HZ = (80, 1000, 4000, 8000)


def frames(pcm: Pcm) -> npt.NDArray[np.int16]:
    return pcm.reshape(-1, FRAME_SAMPLES)


def detect(pcm: Pcm) -> list[bool]:
    """The activity of each tick."""
    detector = EnergyDetector()
    return [detector.push(frame) for frame in frames(pcm)][DELAY:] + detector.finish()


def dbfs(pcm: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The level of each tick."""
    power = np.mean(pcm.reshape(-1, FRAME_SAMPLES) ** 2, axis=1) / 32768**2
    levels: npt.NDArray[np.float64] = 10 * np.log10(np.maximum(power, 1e-12))
    return levels


def reference_levels(pcm: Pcm) -> npt.NDArray[np.float64]:
    """Levels over all frequencies above 80 Hz, then of each band, by SciPy's filters: (4, ticks)."""
    above = signal.sosfilt(signal.butter(2, EDGES_HZ[0], "high", fs=SAMPLE_RATE_HZ, output="sos"), pcm - float(pcm[0]))
    levels = [dbfs(above)]
    for low_hz, high_hz in pairwise(EDGES_HZ):
        band = above
        if low_hz > EDGES_HZ[0]:
            band = signal.sosfilt(signal.butter(2, low_hz, "high", fs=SAMPLE_RATE_HZ, output="sos"), band)
        levels.append(dbfs(signal.sosfilt(signal.butter(2, high_hz, "low", fs=SAMPLE_RATE_HZ, output="sos"), band)))
    return np.array(levels)


@pytest.mark.parametrize(
    "pcm",
    [
        noise(60),
        noise(60, rms=12_000).clip(-32_768, 32_767).astype(np.int16),
        tone(60),
        np.concatenate((noise(30), tone(30, 6000), noise(30, 3.0))),
        np.tile(np.array([32_767, -32_768], np.int16), 40 * FRAME_SAMPLES // 2),
    ],
    ids=["noise", "loud", "tone", "steps", "nyquist"],
)
def test_levels_are_those_of_scipys_filters(pcm: Pcm) -> None:
    detector = EnergyDetector()
    levels = []
    for frame in frames(pcm):
        detector.push(frame)
        levels.append((detector.level_dbfs, *detector.band_levels_dbfs))
    expected = reference_levels(pcm)
    audible = (expected > -100) & (expected > expected[0] - 80)  # further down, the bands' single precision shows
    assert np.abs(np.array(levels).T - expected)[audible].max() < 0.01


def test_the_level_of_a_sine_is_its_rms() -> None:
    detector = EnergyDetector()
    for frame in frames(tone(50, 1000, 32_767)):
        detector.push(frame)
    assert detector.level_dbfs == pytest.approx(-3.01, abs=0.01)


@pytest.mark.parametrize(("start", "end"), [(100, 130), (101, 108), (250, 400)])
@pytest.mark.parametrize("room_rms", [0.0, 5.0])
def test_the_edges_of_a_burst_are_found_to_the_tick(start: int, end: int, room_rms: float) -> None:
    """But for a tick at its end: the high-pass rings on after a hard cut."""
    pcm = noise(500, room_rms)
    pcm[start * FRAME_SAMPLES : end * FRAME_SAMPLES] += tone(end - start)
    assert np.flatnonzero(detect(pcm)).tolist() == list(range(start, end + 1))


def test_friction_alone_is_found_in_low_noise() -> None:
    pcm = np.rint(signal.lfilter([0.05], [1, -0.95], np.random.default_rng(2).normal(0, 600, 300 * FRAME_SAMPLES)))
    pcm = pcm.astype(np.int16)
    pcm[100 * FRAME_SAMPLES : 130 * FRAME_SAMPLES] += tone(30, 6000, 600)
    active = np.flatnonzero(detect(pcm))
    assert set(range(101, 129)) <= set(active.tolist())
    assert active.min() >= 95
    assert active.max() < 140


blocks = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([0.0, 1.0, 30.0, 300.0, 5000.0])), min_size=1, max_size=8
).map(lambda parts: np.concatenate([noise(ticks, rms, seed) for seed, (ticks, rms) in enumerate(parts)]))


@given(past=blocks, future=blocks, other=blocks)
@settings(max_examples=60, deadline=None)
def test_a_decision_is_final_after_20_ticks(past: Pcm, future: Pcm, other: Pcm) -> None:
    detector = EnergyDetector()
    certain = [detector.push(frame) for frame in frames(past)][DELAY:]
    for later in (future, other):
        assert detect(np.concatenate((past, later)))[: len(certain)] == certain


@st.composite
def scenes(draw: st.DrawFn) -> Pcm:
    """Noise that changes, with tones in it and silence between."""
    parts = []
    for seed in range(draw(st.integers(1, 8))):
        ticks, rms = draw(st.integers(1, 90)), draw(st.sampled_from([0.0, 1.0, 10.0, 100.0, 700.0]))
        part = noise(ticks, rms, seed)
        if draw(st.booleans()):
            part += tone(ticks, draw(st.sampled_from([150.0, 600.0, 2500.0, 6000.0])), 10 ** draw(st.floats(1.0, 4.3)))
        parts.append(part)
    return np.concatenate(parts)


def levels(pcm: Pcm) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The detector's own levels of each tick and of its bands."""
    detector = EnergyDetector()
    track = []
    for frame in frames(pcm):
        detector.push(frame)
        track.append((detector.level_dbfs, *detector.band_levels_dbfs))
    values = np.array(track)
    return values[:, 0], values[:, 1:]


@given(pcm=scenes())
@settings(deadline=None)
def test_decisions_are_those_of_the_naive_detector(pcm: Pcm) -> None:
    assert detect(pcm) == naive_activity(*levels(pcm))


@pytest.mark.fuzz
@given(pcm=scenes())
@settings(deadline=None)
def test_decisions_are_those_of_the_naive_detector_at_length(pcm: Pcm) -> None:
    assert detect(pcm) == naive_activity(*levels(pcm))


def modulated(ticks: int, rms: float, seed: int = 0) -> Pcm:
    """Noise that swells and falls by 6 dB four times a second, as distant talk does."""
    swell_db = 3 * np.sin(2 * np.pi * 4 / SAMPLE_RATE_HZ * np.arange(ticks * FRAME_SAMPLES))
    pcm: Pcm = np.rint(noise(ticks, rms, seed) * 10 ** (swell_db / 20)).astype(np.int16)
    return pcm


def test_a_restless_background_is_no_speech_and_hides_none() -> None:
    pcm = modulated(1500, 200.0)
    pcm[1000 * FRAME_SAMPLES : 1050 * FRAME_SAMPLES] += tone(50)
    active = np.flatnonzero(detect(pcm))
    assert set(range(1000, 1050)) <= set(active.tolist())
    assert len(active) < 60


@pytest.mark.parametrize(
    ("background", "learned_ticks"), [(noise(3000, 300.0, 1), 210), (modulated(3000, 300.0, 1), 2000)], ids=str
)
def test_a_background_that_sets_in_is_learned(background: Pcm, learned_ticks: int) -> None:
    active = np.flatnonzero(detect(np.concatenate((noise(300, 3.0), background))))
    assert 300 <= active.min()
    assert active.max() < 300 + learned_ticks


def test_half_the_gain_changes_nothing_where_there_is_noise() -> None:
    pcm = noise(600, 400.0)
    for start, hz in ((100, 200.0), (250, 3000.0), (400, 600.0)):
        pcm[start * FRAME_SAMPLES : (start + 60) * FRAME_SAMPLES] += tone(60, hz, 6000)
    assert any(detect(pcm))
    assert detect(pcm & ~1) == detect((pcm & ~1) // 2)


def test_a_decision_rests_on_all_of_its_ticks_of_delay() -> None:
    """The tone that comes 4 ticks before the end of the delay may make earlier ticks active in loud noise."""
    quiet = noise(300, 500)
    loud = quiet.copy()
    loud[200 * FRAME_SAMPLES :] += tone(100, peak=2500)
    first = min(set(np.flatnonzero(detect(loud))) - set(np.flatnonzero(detect(quiet))))
    assert 180 < first < 200


@pytest.mark.parametrize("ticks", [0, 1, 2, 15, 16, 17, 19, 20, 21, 50])
def test_every_tick_gets_its_decision(ticks: int) -> None:
    detector = EnergyDetector()
    pushed = [detector.push(frame) for frame in frames(tone(ticks))]
    assert not any(pushed[:DELAY])
    assert len(detector.finish()) == min(ticks, DELAY)
    assert detector.finish() == []


def test_a_short_loud_recording_is_active_to_its_end() -> None:
    assert detect(np.concatenate((noise(10, 3.0), tone(10)))) == [False] * 10 + [True] * 10


@pytest.mark.parametrize(
    "pcm",
    [
        np.zeros(300 * FRAME_SAMPLES, np.int16),
        np.full(300 * FRAME_SAMPLES, 32_767, np.int16),
        np.full(300 * FRAME_SAMPLES, -20_000, np.int16),
        noise(300, 1.0),
        noise(300, 300.0),
        tone(300, 25.0, 300.0),  # -44 dBFS, but below 80 Hz
    ],
    ids=["silence", "full scale", "offset", "hiss", "noise", "rumble"],
)
def test_what_does_not_change_is_no_speech(pcm: Pcm) -> None:
    assert not any(detect(pcm))


def test_an_offset_changes_nothing() -> None:
    pcm = noise(300, 5.0)
    pcm[100 * FRAME_SAMPLES : 150 * FRAME_SAMPLES] += tone(50, peak=3000)
    assert detect((pcm + 8000).astype(np.int16)) == detect(pcm)


def test_filters_come_to_rest_in_silence() -> None:
    """A recursion that faded for ever would end in denormal numbers, and those are slow."""
    detector = EnergyDetector()
    for frame in frames(np.concatenate((tone(20), np.zeros(100 * FRAME_SAMPLES, np.int16)))):
        detector.push(frame)
    assert detector.level_dbfs == -120
    assert detector.band_levels_dbfs == (-120, -120, -120)


def test_levels_before_any_frame_are_those_of_silence() -> None:
    detector = EnergyDetector()
    assert (detector.level_dbfs, detector.band_levels_dbfs) == (-120, (-120, -120, -120))


@pytest.mark.parametrize(
    ("frame", "got"),
    [
        (None, "NoneType"),
        (bytes(960), "bytes"),
        (np.zeros(479, np.int16), r"int16 \(479,\)"),
        (np.zeros(480, np.float32), r"float32 \(480,\)"),
        (np.zeros((480, 1), np.int16), r"int16 \(480, 1\)"),
        (np.zeros(960, np.int16)[::2], r"int16 \(480,\)"),
    ],
)
def test_what_is_no_frame_is_refused(frame: Any, got: str) -> None:
    detector = EnergyDetector()
    with pytest.raises(FrameError, match=rf"frame: expected int16 \(480,\), C-contiguous, got {got}"):
        detector.push(frame)
    assert detector.finish() == []


def test_nothing_may_follow_the_end() -> None:
    detector = EnergyDetector()
    detector.finish()
    with pytest.raises(FrameError, match="expected none after finish"):
        detector.push(np.zeros(FRAME_SAMPLES, np.int16))
