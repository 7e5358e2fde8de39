"""Two naive resamplers: one with the compiled one's coefficients and order of additions, one in continuous time."""

import numpy as np
import numpy.typing as npt

from fdbcore._ext.filters import PROTOTYPES, filter_bank

Pcm = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]


def output_length(samples: int, rate_in_hz: int, rate_out_hz: int) -> int:
    return (2 * samples * rate_out_hz + rate_in_hz) // (2 * rate_in_hz)


def naive_resample(pcm: Pcm, rate_in_hz: int, rate_out_hz: int, quality: str) -> Pcm:
    """The same bits: every output's window by index, its products summed by four lanes in float32."""
    bank, step, lookahead = filter_bank(rate_in_hz, rate_out_hz, quality)
    phases, taps = bank.shape
    position = np.arange(output_length(len(pcm), rate_in_hz, rate_out_hz)) * step
    padded = np.pad(pcm, (taps, 2 * taps)).astype(np.float32)
    last_tap = position // phases + lookahead + taps
    windows = padded[last_tap[:, None] - np.arange(taps)[::-1]]
    products = (windows * bank[position % phases]).reshape(-1, taps // 4, 4)
    lanes = np.zeros((len(position), 4), dtype=np.float32)
    for four in range(taps // 4):
        lanes += products[:, four]
    sums = (lanes[:, 0] + lanes[:, 1]) + (lanes[:, 2] + lanes[:, 3])
    return sums.clip(-32768, 32767).round().astype(np.int16)


def resample_by_definition(pcm: Pcm, rate_in_hz: int, rate_out_hz: int, quality: str) -> Floats:
    """Every output as a sum over every input of the prototype's Fourier series at their distance in time; float64."""
    span, response = PROTOTYPES[quality]
    low_hz = min(rate_in_hz, rate_out_hz)
    out_s = np.arange(output_length(len(pcm), rate_in_hz, rate_out_hz)) / rate_out_hz
    distance = (out_s[:, None] - np.arange(len(pcm)) / rate_in_hz) * low_hz
    weights = np.full(distance.shape, response[0])
    for term, value in enumerate(response[1:], start=1):
        weights += 2 * value * np.cos(2 * np.pi * term * distance / span)
    weights[np.abs(distance) > span / 2] = 0
    result: Floats = (weights / span * low_hz / rate_in_hz) @ pcm
    return result
