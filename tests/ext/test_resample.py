"""The resampler: two naive oracles, its filters' response, tones and clicks, and any cutting into blocks."""

import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.resample import naive_resample, output_length, resample_by_definition

from fdbcore._ext.filters import PROTOTYPES, RATES_FROM_48K_HZ, RATES_TO_48K_HZ, filter_bank
from fdbcore._ext.resample import Resampler
from fdbcore.errors import FrameError, SettingsError

Pcm = npt.NDArray[np.int16]
Quality = Literal["best", "fast"]

PAIRS = [(rate, 48_000) for rate in RATES_TO_48K_HZ] + [(48_000, rate) for rate in RATES_FROM_48K_HZ]
FILTERED = [pair for pair in PAIRS if pair[0] != pair[1]]
QUALITIES: tuple[Quality, Quality] = ("best", "fast")
RIPPLE_DB = {"best": 0.012, "fast": 0.064}
REJECTION_DB = {"best": 102, "fast": 71}

all_pairs = pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), PAIRS)
filtered_pairs = pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), FILTERED)
all_qualities = pytest.mark.parametrize("quality", QUALITIES)


def noise(samples: int, peak: int = 32_768) -> Pcm:
    return np.random.default_rng(1).integers(-peak, peak, samples, dtype=np.int16)


def convert(pcm: Pcm, rate_in_hz: int, rate_out_hz: int, quality: Quality = "best", most_lanes: int = 8) -> Pcm:
    resampler = Resampler(rate_in_hz, rate_out_hz, quality, most_lanes)
    return np.concatenate([resampler.process(pcm), resampler.flush()])


def tone(frequency_hz: float, rate_hz: int, samples: int) -> Pcm:
    wave = 20_000 * np.sin(2 * np.pi * frequency_hz * np.arange(samples) / rate_hz)
    return wave.round().astype(np.int16)


@all_pairs
@all_qualities
@pytest.mark.parametrize("most_lanes", [4, 8])
def test_every_bit_is_that_of_the_naive_sum(
    rate_in_hz: int, rate_out_hz: int, quality: Quality, most_lanes: int
) -> None:
    pcm = noise(5000)  # more than two chunks, at levels that saturate now and then
    expected = naive_resample(pcm, rate_in_hz, rate_out_hz, quality)
    np.testing.assert_array_equal(convert(pcm, rate_in_hz, rate_out_hz, quality, most_lanes), expected)


@filtered_pairs
@all_qualities
def test_the_output_is_the_convolution_in_continuous_time(rate_in_hz: int, rate_out_hz: int, quality: Quality) -> None:
    pcm = noise(400, peak=10_000)
    error = convert(pcm, rate_in_hz, rate_out_hz, quality) - resample_by_definition(
        pcm, rate_in_hz, rate_out_hz, quality
    )
    assert np.abs(error).max() < 0.5 + 0.01  # rounding, and float32 sums of values up to 32,767


@filtered_pairs
@all_qualities
def test_pass_band_and_stop_band_are_as_stated(rate_in_hz: int, rate_out_hz: int, quality: Quality) -> None:
    bank = filter_bank(rate_in_hz, rate_out_hz, quality).coefficients
    phases = len(bank)
    impulse_response = bank.astype(np.float64)[:, ::-1].T.ravel() / phases
    gain = np.abs(np.fft.rfft(impulse_response, 1 << 19))
    nyquists = np.linspace(0, phases * rate_in_hz / min(rate_in_hz, rate_out_hz), len(gain))
    gain_db = 20 * np.log10(np.maximum(gain, 1e-12))
    assert np.abs(gain_db[nyquists <= 0.9]).max() < RIPPLE_DB[quality]
    assert gain_db[nyquists >= 1.1].max() < -REJECTION_DB[quality]


@filtered_pairs
@all_qualities
@pytest.mark.parametrize("of_nyquist", [0.01, 0.31, 0.62, 0.9])
def test_a_tone_keeps_its_level_and_its_phase(
    rate_in_hz: int, rate_out_hz: int, quality: Quality, of_nyquist: float
) -> None:
    frequency_hz = of_nyquist * min(rate_in_hz, rate_out_hz) / 2
    out = convert(tone(frequency_hz, rate_in_hz, rate_in_hz // 10), rate_in_hz, rate_out_hz, quality)
    angle = 2 * np.pi * frequency_hz * np.arange(len(out)) / rate_out_hz
    inside = slice(len(out) // 10, -len(out) // 10)
    carriers = np.stack([np.sin(angle), np.cos(angle)], axis=1)[inside]
    (in_phase, quadrature), *_ = np.linalg.lstsq(carriers, out[inside].astype(np.float64))
    assert abs(20 * np.log10(np.hypot(in_phase, quadrature) / 20_000)) < RIPPLE_DB[quality] + 0.001
    assert abs(np.arctan2(quadrature, in_phase)) < 1e-4
    residual = out[inside] - carriers @ [in_phase, quadrature]
    image = 20_000 * 10 ** (-REJECTION_DB[quality] / 20)
    assert np.sqrt(np.mean(residual**2)) < 0.5 + image  # both int16 roundings together: 0.41


@pytest.mark.parametrize("rate_out_hz", RATES_FROM_48K_HZ)
@all_qualities
def test_a_tone_that_the_lower_rate_cannot_hold_vanishes(rate_out_hz: int, quality: Quality) -> None:
    for of_nyquist in (1.1, 1.5, 1.9):
        out = convert(tone(of_nyquist * rate_out_hz / 2, 48_000, 9_600), 48_000, rate_out_hz, quality)
        inside = out[len(out) // 4 : -len(out) // 4]
        assert np.abs(inside).max() <= np.rint(20_000 * 10 ** (-REJECTION_DB[quality] / 20) + 0.3)


@all_pairs
@all_qualities
def test_a_click_stays_at_its_second(rate_in_hz: int, rate_out_hz: int, quality: Quality) -> None:
    for click in (0, 1, 100, 333, 594):
        pcm = np.zeros(600, dtype=np.int16)
        pcm[click] = 30_000
        out = convert(pcm, rate_in_hz, rate_out_hz, quality)
        assert abs(np.argmax(out) - click * rate_out_hz / rate_in_hz) <= 0.5


@all_pairs
def test_the_length_is_the_input_s_rounded_half_up(rate_in_hz: int, rate_out_hz: int) -> None:
    for samples in [*range(40), 441, 4_801, 20_001]:
        out = convert(noise(samples), rate_in_hz, rate_out_hz)
        assert len(out) == int(np.floor(samples * rate_out_hz / rate_in_hz + 0.5))


@all_pairs
@all_qualities
def test_the_stream_is_short_by_its_delay_at_most(rate_in_hz: int, rate_out_hz: int, quality: Quality) -> None:
    resampler = Resampler(rate_in_hz, rate_out_hz, quality)
    sample, given = noise(1), 0
    short = []
    for samples in range(1, 1500):
        given += len(resampler.process(sample))
        short.append(output_length(samples, rate_in_hz, rate_out_hz) - given)
    assert max(short) == resampler.delay_samples
    assert min(short) >= 0
    most_ms = {"best": 3, "fast": 2}[quality] * 8_000 / min(rate_in_hz, rate_out_hz)
    assert resampler.delay_samples / rate_out_hz * 1000 <= most_ms + 500 / rate_out_hz


@pytest.mark.parametrize("rate_in_hz", [rate for rate in RATES_TO_48K_HZ if rate % 100 == 0])
@all_qualities
def test_every_10_ms_after_the_first_give_one_frame(rate_in_hz: int, quality: Quality) -> None:
    resampler = Resampler(rate_in_hz, 48_000, quality)
    lengths = [len(resampler.process(noise(rate_in_hz // 100))) for _ in range(20)]
    assert lengths == [480 - resampler.delay_samples] + 19 * [480]


def check_blocks(pair: tuple[int, int], quality: Quality, samples: int, cuts: list[int], ones: int) -> None:
    """Cut `samples` at `cuts` and, at the start, into `ones` blocks of one; every other block through process_into."""
    pcm = noise(samples)
    edges = sorted([0, samples, *(min(cut, samples) for cut in cuts), *range(min(ones, samples))])
    resampler = Resampler(*pair, quality)
    out = np.empty(output_length(samples, *pair), dtype=np.int16)
    filled = 0
    for number, (start, end) in enumerate(pairwise(edges)):
        if number % 2:
            filled += resampler.process_into(pcm[start:end], out[filled:])
        else:
            block = resampler.process(pcm[start:end])
            out[filled : filled + len(block)] = block
            filled += len(block)
    out[filled:] = resampler.flush()
    np.testing.assert_array_equal(out, convert(pcm, *pair, quality))


CUTS = {
    "pair": st.sampled_from(PAIRS),
    "quality": st.sampled_from(QUALITIES),
    "samples": st.integers(0, 12_000),
    "cuts": st.lists(st.integers(0, 12_000), max_size=30),
    "ones": st.integers(0, 300),
}


@given(**CUTS)
def test_the_output_does_not_depend_on_the_blocks(
    pair: tuple[int, int], quality: Quality, samples: int, cuts: list[int], ones: int
) -> None:
    check_blocks(pair, quality, samples, cuts, ones)


@pytest.mark.fuzz
@given(**CUTS)
def test_the_output_does_not_depend_on_the_blocks_at_length(
    pair: tuple[int, int], quality: Quality, samples: int, cuts: list[int], ones: int
) -> None:
    check_blocks(pair, quality, samples, cuts, ones)


def test_flush_begins_a_new_stream() -> None:
    resampler = Resampler(16_000, 48_000)
    first = [resampler.process(noise(1000)), resampler.flush()]
    again = [resampler.process(noise(1000)), resampler.flush()]
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(first))
    assert len(resampler.flush()) == 0


def test_48_to_48_khz_copies() -> None:
    pcm = noise(5000)
    out = Resampler(48_000, 48_000).process(pcm)
    np.testing.assert_array_equal(out, pcm)
    assert not np.shares_memory(out, pcm)


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), [(16_000, 48_000), (44_100, 48_000), (48_000, 8_000)])
def test_a_full_scale_square_saturates(rate_in_hz: int, rate_out_hz: int) -> None:
    square = np.where(np.arange(600) // 60 % 2, 32_767, -32_768).astype(np.int16)
    exact = resample_by_definition(square, rate_in_hz, rate_out_hz, "best")
    assert exact.max() > 32_768  # the filter rings over the ends of the scale
    assert exact.min() < -32_769
    out = convert(square, rate_in_hz, rate_out_hz)
    assert np.abs(out - np.clip(exact, -32_768, 32_767)).max() < 0.5 + 0.03


def test_halves_are_rounded_to_even() -> None:
    (coefficients, *_), step, _ = filter_bank(16_000, 48_000, "best")
    taps = len(coefficients)
    values = np.arange(-32_768, 32_768, dtype=np.int32)
    lone = np.zeros((len(values), taps), dtype=np.int16)  # so far apart that every sum is one product
    lone[:, 0] = values
    out = convert(lone.ravel(), 16_000, 48_000)[::3].reshape(-1, taps)[:, 0]
    products = values.astype(np.float32) * coefficients[taps // 2 - 1]
    halves = np.abs(products % 1) == 0.5
    assert set(np.floor(products[halves]) % 2) == {0, 1}  # both directions occur
    assert step == 1
    assert np.all(out[halves] % 2 == 0)
    np.testing.assert_array_equal(out[~halves], np.floor(products[~halves] + 0.5).astype(np.int16))


def test_the_table_is_the_design_s() -> None:
    design = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "design_filters.py"))
    for quality, target in design["TARGETS"].items():
        span, response = PROTOTYPES[quality]
        assert span == target.span
        np.testing.assert_allclose(design["design"](target), response, atol=1e-7)


@pytest.mark.parametrize(
    ("pcm", "found"),
    [
        (np.zeros(480, dtype=np.float32), "float32 (480,)"),
        (np.zeros((2, 480), dtype=np.int16), "int16 (2, 480)"),
        (np.zeros(480, dtype=np.int16)[::2], "strided int16 (240,)"),
        (np.zeros(480, dtype=">i2"), ">i2 (480,)"),
        ([0, 1], "list"),
        (None, "NoneType"),
    ],
)
def test_other_arrays_are_refused(pcm: Pcm, found: str) -> None:
    with pytest.raises(FrameError, match=re.escape(f"pcm: expected int16 (n,), C-contiguous, got {found}")):
        Resampler(16_000, 48_000).process(pcm)
    out = np.empty(2000, dtype=np.int16)
    with pytest.raises(FrameError, match=re.escape(f"got {found}")):
        Resampler(16_000, 48_000).process_into(pcm, out)
    with pytest.raises(FrameError, match=re.escape(f"out: expected writable int16 (n,), C-contiguous, got {found}")):
        Resampler(16_000, 48_000).process_into(out, pcm)


def test_a_place_that_is_too_short_is_refused_before_anything_is_taken_in() -> None:
    resampler, pcm = Resampler(16_000, 48_000), noise(160)
    with pytest.raises(FrameError, match="out: expected room for 408 samples, got 407"):
        resampler.process_into(pcm, np.empty(407, dtype=np.int16))
    np.testing.assert_array_equal(resampler.process(pcm), Resampler(16_000, 48_000).process(pcm))
    read_only = np.empty(480, dtype=np.int16)
    read_only.flags.writeable = False
    with pytest.raises(FrameError, match=r"out: expected writable .* got read-only int16 \(480,\)"):
        resampler.process_into(pcm, read_only)
    assert len(resampler.process(read_only)) == 3 * 480


@pytest.mark.parametrize("pair", [(11_025, 48_000), (48_000, 44_100), (16_000, 8_000), (0, 0)])
def test_other_rates_are_refused_with_those_that_are_served(pair: tuple[int, int]) -> None:
    with pytest.raises(SettingsError, match=r"expected 8000, 16000, 22050, .* or 48000 to 8000, 16000, 24000 Hz, got"):
        Resampler(*pair)


def test_another_quality_is_refused() -> None:
    with pytest.raises(SettingsError, match="quality: expected best or fast, got 'HQ'"):
        Resampler(16_000, 48_000, "HQ")  # type: ignore[arg-type]
