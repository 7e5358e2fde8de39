"""The resampler's filters: one table per quality, from which the coefficients for every pair of rates are computed."""

from __future__ import annotations

from math import gcd
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import SAMPLE_RATE_HZ

RATES_TO_48K_HZ: Final = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000)
RATES_FROM_48K_HZ: Final = (8_000, 16_000, 24_000)


class Prototype(NamedTuple):
    """A linear-phase low-pass filter in continuous time, in units of the lower of the two rates.

    span: the length of its impulse response in samples.
    response: its frequency response at 0, 1 / span, 2 / span, ...; it is zero beyond. The impulse response is the
        Fourier series of these samples over the span, so it can be sampled at any rate by one inverse FFT.
    """

    span: int
    response: tuple[float, ...]


# Computed by benchmarks/design_filters.py: minimax by linear programming, pass band up to 0.45, stop band from 0.55.
PROTOTYPES: Final = {
    "best": Prototype(
        48,
        (
            *(0.9987145844, 1.0012708536, 0.9987730996, 1.0011503741, 0.9989577283, 1.0009108018, 0.9992419696),
            *(1.0005861876, 0.9996023826, 1.0001931589, 1.0000137075, 0.9997816468, 1.0004164390, 0.9993968805),
            *(1.0007739269, 0.9990776001, 1.0010353578, 0.9988815387, 1.0011668878, 0.9988289429, 1.0010646483),
            *(0.9996809765, 0.9748326589, 0.7088752115, 0.2703885734, 0.0376545695, 0.0006692528, 0.0000051819),
        ),
    ),
    "fast": Prototype(
        32,
        (
            *(0.9928365807, 1.0061727016, 0.9963967257, 1.0003789043, 1.0026742438, 0.9949932383, 1.0064774935),
            *(0.9928724227, 1.0070524846, 0.9935398345, 1.0055075768, 0.9955191880, 1.0036964472, 0.9961028184),
            *(1.0067506872, 0.8474721234, 0.3283883049, 0.0268189986, 0.0000191586, -0.0002466975, 0.0001528698),
            *(-0.0000701926, 0.0000190572),
        ),
    ),
}


class FilterBank(NamedTuple):
    """The coefficients and steps of a polyphase filter.

    coefficients: float32 (phases, taps), taps a multiple of 4. Row p computes an output that lies p / phases of an
        input sample after an input, from the `taps` inputs around it.
    step: how many phases one output lies after the one before.
    lookahead_samples: how many inputs after that input a row covers.
    """

    coefficients: npt.NDArray[np.float32]
    step: int
    lookahead_samples: int


def is_served(rate_in_hz: int, rate_out_hz: int) -> bool:
    """True if the resampler converts `rate_in_hz` to `rate_out_hz`."""
    return (rate_out_hz == SAMPLE_RATE_HZ and rate_in_hz in RATES_TO_48K_HZ) or (
        rate_in_hz == SAMPLE_RATE_HZ and rate_out_hz in RATES_FROM_48K_HZ
    )


def filter_bank(rate_in_hz: int, rate_out_hz: int, quality: str) -> FilterBank:
    """The filter for a pair of rates. SettingsError if the pair or the quality is not served."""
    if not is_served(rate_in_hz, rate_out_hz):
        raise SettingsError(
            f"sample rates: expected {_listed(RATES_TO_48K_HZ)} to 48000 Hz, or 48000 to {_listed(RATES_FROM_48K_HZ)} "
            f"Hz, got {rate_in_hz!r} to {rate_out_hz!r}"
        )
    if quality not in PROTOTYPES:
        raise SettingsError(f"quality: expected {' or '.join(PROTOTYPES)}, got {quality!r}")
    if rate_in_hz == rate_out_hz:
        return FilterBank(np.array([[0, 0, 0, 1]], dtype=np.float32), step=1, lookahead_samples=0)
    common_hz = gcd(rate_in_hz, rate_out_hz)
    phases, step = rate_out_hz // common_hz, rate_in_hz // common_hz
    span, response = PROTOTYPES[quality]
    # The taps lie on a grid common to both rates, which has max(phases, step) points per sample of the lower rate.
    impulse_response = np.fft.fftshift(np.fft.irfft(response, span * max(phases, step))) * phases
    coefficients = impulse_response.reshape(-1, phases)[::-1].T
    return FilterBank(np.ascontiguousarray(coefficients, dtype=np.float32), step, coefficients.shape[1] // 2)


def _listed(rates_hz: tuple[int, ...]) -> str:
    return ", ".join(map(str, rates_hz))
