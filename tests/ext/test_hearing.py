"""What input health takes of each tick, against NumPy and SciPy in double precision, in any cutting into blocks."""

import re
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import upfirdn

from fdbcore._ext.hearing import Ear
from fdbcore.errors import FrameError
from fdbcore.types import FRAME_SAMPLES

Pcm = npt.NDArray[np.int16]

TAPS = np.random.default_rng(2).normal(0, 0.1, 48).astype(np.float32)


def hard_pcm() -> Pcm:
    """Ticks of silence, of either full scale, of a constant, of one step, and of noise from soft to clipped."""
    constants = np.repeat(np.array([0, -32_768, 32_767, 1234, 1], np.int16), FRAME_SAMPLES)
    noise = np.random.default_rng(1).normal(0, 1, (20, FRAME_SAMPLES)) * np.geomspace(1, 50_000, 20)[:, None]
    offset = np.clip(noise + 20_000, -32_768, 32_767)
    soft_on_loud = np.full(FRAME_SAMPLES, 32_000) + np.random.default_rng(3).integers(-1, 2, FRAME_SAMPLES)
    return np.concatenate([constants, np.clip(noise, -32_768, 32_767).ravel(), offset.ravel(), soft_on_loud]).astype(
        np.int16
    )


def test_levels_are_those_of_numpy_in_double_precision() -> None:
    pcm = hard_pcm()
    powers, means, peaks, flat, *_ = Ear(TAPS).hear(pcm)
    ticks = pcm.reshape(-1, FRAME_SAMPLES).astype(np.float64)
    np.testing.assert_allclose(powers, (ticks / 32_768).var(axis=1), rtol=1e-6, atol=1e-16)
    np.testing.assert_allclose(means, (ticks / 32_768).mean(axis=1), rtol=1e-6, atol=1e-12)
    largest = np.abs(ticks).max(axis=1)
    np.testing.assert_array_equal(peaks, largest)
    np.testing.assert_array_equal(flat, [_flat(tick) for tick in ticks.astype(int).tolist()])


def _flat(tick: list[int]) -> int:
    """How many samples are at the peak, if a run of three or more of them has a step of more than 8 beside it."""
    peak = max(map(abs, tick))
    runs = [(value, len(list(run))) for value, run in groupby(tick)]
    for number, (value, length) in enumerate(runs):
        beside = [other for other, _ in (*runs[max(number - 1, 0) : number], *runs[number + 1 : number + 2])]
        if length >= 3 and abs(value) == peak and max((abs(value - other) for other in beside), default=9) > 8:
            return sum(abs(sample) == peak for sample in tick)
    return 0


def _sine(hz: int, peak: int, phase: float) -> npt.NDArray[np.float64]:
    angles = 2 * np.pi * hz * np.arange(10 * FRAME_SAMPLES) / 48_000 + phase
    sine: npt.NDArray[np.float64] = np.rint(peak * np.cos(angles))
    return sine


@given(st.integers(30, 6000), st.integers(100, 32_767), st.floats(0, 6.28))
def test_the_top_of_a_sine_is_not_flat(hz: int, peak: int, phase: float) -> None:
    assert not Ear(TAPS).hear(_sine(hz, peak, phase).astype(np.int16))[3].any()


@given(st.integers(30, 6000), st.integers(100, 32_767), st.floats(0, 6.28))
def test_the_flat_top_of_a_clipped_sine_is_that_of_a_naive_count(hz: int, peak: int, phase: float) -> None:
    clipped = np.clip(_sine(hz, peak, phase), -0.9 * peak, 0.9 * peak).astype(np.int16)
    expected = [_flat(tick) for tick in clipped.reshape(-1, FRAME_SAMPLES).tolist()]
    assert Ear(TAPS).hear(clipped)[3].tolist() == expected


@pytest.mark.parametrize(("hz", "peak"), [(100, 8000), (440, 20_000), (1000, 30_000)])
def test_the_top_of_a_clipped_sine_is_flat(hz: int, peak: int) -> None:
    clipped = np.clip(_sine(hz, peak, 0.3), -0.9 * peak, 0.9 * peak).astype(np.int16)
    assert Ear(TAPS).hear(clipped)[3].min() >= 4


def test_the_low_band_is_the_filtered_stream_each_twelfth_sample() -> None:
    pcm = hard_pcm()
    low = Ear(TAPS).hear(pcm)[4]
    # the filter's window slides over the stream as it is, so its coefficients stand the other way round in convolution
    filtered = upfirdn(TAPS[::-1].astype(np.float64), pcm.astype(np.float64))[11 : len(pcm) : 12]
    np.testing.assert_allclose(low, np.clip(filtered, -32_768, 32_767), atol=0.51)


@given(st.lists(st.integers(1, 1500), min_size=1, max_size=12), st.booleans())
def test_holes_are_the_runs_of_zeros_that_have_ended(lengths: list[int], begins_silent: bool) -> None:
    runs = [np.full(length, (number + begins_silent) % 2, np.int16) for number, length in enumerate(lengths)]
    samples = np.concatenate(runs)
    pcm = np.append(samples, np.ones(-len(samples) % FRAME_SAMPLES, np.int16))
    ends = np.cumsum(lengths)
    spans = zip(ends - lengths, ends, strict=True)
    silent = [span for span, run in zip(spans, runs, strict=True) if not run[0] and len(run) >= FRAME_SAMPLES]
    if silent and silent[-1][1] == len(pcm):  # goes on, for all one knows
        silent.pop()
    np.testing.assert_array_equal(Ear(TAPS).hear(pcm)[5], np.reshape(silent, (-1, 2)))


@given(st.lists(st.integers(0, 5), max_size=12))
def test_the_cutting_into_blocks_changes_nothing(lengths: list[int]) -> None:
    ear, pcm = Ear(TAPS), np.resize(hard_pcm(), sum(lengths) * FRAME_SAMPLES)
    blocks = np.split(pcm, np.cumsum(lengths) * FRAME_SAMPLES)  # the last one is empty
    in_blocks = zip(*map(ear.hear, blocks), strict=True)
    for found, expected in zip(in_blocks, Ear(TAPS).hear(pcm), strict=True):
        np.testing.assert_array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize(
    "pcm",
    [np.zeros(479, np.int16), np.zeros(480, np.float32), np.zeros((1, 480), np.int16), np.zeros(960, np.int16)[::2], 7],
)
def test_anything_but_whole_ticks_is_refused(pcm: npt.NDArray[np.int16]) -> None:
    with pytest.raises(FrameError, match=re.escape("pcm: expected int16 (n,) of whole ticks of 480")):
        Ear(TAPS).hear(pcm)


@pytest.mark.parametrize("n", [0, 8, 13, 100])
def test_other_taps_are_refused(n: int) -> None:
    with pytest.raises(FrameError, match=f"taps: expected a multiple of 4 from 12 to 96, got {n}"):
        Ear(np.zeros(n, np.float32))
