"""A telephone line: 300 to 3,400 Hz at 8 kHz, in mu-law (ITU-T G.711)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.resample import Resampler
from fdbcore.audio.level import FULL_SCALE
from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.lines.way import Way
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

RATE_HZ: Final = 8_000
BAND_HZ: Final = (300, 3_400)
TAPS: Final = 101
"""Of the filter: from -6 dB at the edges of the band it falls to -50 dB within 130 Hz."""


class Telephone(Way):
    """Takes a band out of the voice, by a linear-phase filter, and codes it: all frequencies are equally late."""

    def __init__(self) -> None:
        self._down, self._up = Resampler(SAMPLE_RATE_HZ, RATE_HZ, "fast"), Resampler(RATE_HZ, SAMPLE_RATE_HZ, "fast")
        resamplers = self._down.delay_samples * SAMPLE_RATE_HZ // RATE_HZ + self._up.delay_samples
        self.delay_samples = resamplers + TAPS // 2 * SAMPLE_RATE_HZ // RATE_HZ
        self._filter = _band_pass()
        self._heard = np.zeros(TAPS - 1)  # what the filter still needs of what came before
        self._ready = np.zeros(resamplers, np.int16)

    def carry(self, frame: Pcm, other: Pcm) -> Pcm:
        """The voice at the other end."""
        heard = np.concatenate((self._heard, self._down.process(frame).astype(np.float64)))
        self._heard = heard[len(heard) - TAPS + 1 :]
        band = np.convolve(heard, self._filter, mode="valid")
        sent = np.clip(np.rint(band), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
        ready = np.concatenate((self._ready, self._up.process(from_mulaw(mulaw(sent)))))
        self._ready = ready[FRAME_SAMPLES:]
        return ready[:FRAME_SAMPLES]

    def describe(self) -> Mapping[str, Any]:
        """Band, rate and code."""
        return {"band_hz": list(BAND_HZ), "rate_hz": RATE_HZ, "code": "mu-law"}


def _band_pass() -> npt.NDArray[np.float64]:
    """The filter's coefficients, (TAPS,): the ideal band's response to an impulse, under a Hamming window."""
    times = np.arange(TAPS) - TAPS // 2
    low, high = (2 * edge_hz / RATE_HZ * np.sinc(2 * edge_hz / RATE_HZ * times) for edge_hz in BAND_HZ)
    coefficients: npt.NDArray[np.float64] = (high - low) * np.hamming(TAPS)
    return coefficients
