"""Fourier transforms of the core, against NumPy's in double precision, in any batch and with any vectors."""

import re

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore._ext.fourier import RealFourier
from fdbcore.errors import FrameError

Floats = npt.NDArray[np.float32]

SIZES = [2, 4, 6, 10, 12, 128, 240, 480, 512, 1000, 8000, 2 * 3**5, 2 * 5**4, 2**12]


def noise(*shape: int) -> Floats:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


@pytest.mark.parametrize("n", SIZES)
def test_lines_and_powers_are_those_of_numpy_in_double_precision(n: int) -> None:
    rows, window = noise(11, n), np.hanning(n + 2)[1:-1].astype(np.float32)
    expected = np.fft.rfft((rows * window).astype(np.float64))
    fourier, most = RealFourier(n, window), np.abs(expected).max()
    np.testing.assert_allclose(fourier.lines(rows), expected, rtol=0, atol=3e-7 * most)
    np.testing.assert_allclose(fourier.powers(rows), np.abs(expected) ** 2, rtol=0, atol=6e-7 * most**2)


@pytest.mark.parametrize("n", [128, 240, 8000])
def test_each_tone_has_its_line_alone(n: int) -> None:
    for line in {0, 1, n // 3, n // 2 - 1, n // 2}:
        found = RealFourier(n).powers(np.cos(2 * np.pi * line * np.arange(n) / n).astype(np.float32)[None])[0]
        expected = np.zeros(n // 2 + 1)
        expected[line] = (n if line in (0, n // 2) else n / 2) ** 2
        np.testing.assert_allclose(found, expected, atol=1e-10 * n**2, rtol=1e-5)


@given(st.integers(0, 19), st.integers(0, 240), st.sampled_from([1, 7, 40]))
def test_a_row_has_the_same_bits_in_any_batch_with_any_vectors_and_from_overlapping_windows(
    m: int, samples: int, step: int
) -> None:
    pcm = noise(20 * 40 + 240)
    rows = np.lib.stride_tricks.sliding_window_view(pcm, 240)[::step][:m, :samples]
    padded = np.pad(rows, ((0, 0), (0, 240 - samples)))
    found = RealFourier(240).lines(rows)
    assert found.shape == (len(rows), 121)
    assert found.dtype == np.complex64
    for number, row in enumerate(padded):
        assert found[number].tobytes() == RealFourier(240).lines(row[None])[0].tobytes()
    assert found.tobytes() == RealFourier(240, most_lanes=4).lines(padded).tobytes()
    powers = RealFourier(240).powers(rows)
    assert powers.tobytes() == (found.real**2 + found.imag**2).tobytes()


@pytest.mark.parametrize("n", [-2, 0, 1, 3, 15, 14, 22, 2**40 + 1 & 0xFFFF])
def test_other_lengths_are_refused(n: int) -> None:
    with pytest.raises(FrameError, match=f"n: expected an even product of 2, 3 and 5, got {n}"):
        RealFourier(n)


def test_other_windows_and_rows_are_refused() -> None:
    with pytest.raises(FrameError, match=re.escape("window: expected float32 (8,), got float64 (8,)")):
        RealFourier(8, np.ones(8))  # type: ignore[arg-type]
    with pytest.raises(FrameError, match=re.escape("window: expected float32 (8,), got float32 (7,)")):
        RealFourier(8, np.ones(7, np.float32))
    for rows in (noise(3, 9), noise(3, 16)[:, ::2], noise(8, 3).T):
        with pytest.raises(FrameError, match=r"rows: expected \(m, k\) with k at most 8 samples beside each other"):
            RealFourier(8).lines(rows)
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        RealFourier(8).lines(noise(3, 8).astype(np.float64))
