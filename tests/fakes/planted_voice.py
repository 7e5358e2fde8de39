"""A voice that a test finds again in a recording, to the sample: noise that is the same for the same number."""

from __future__ import annotations

import numpy as np
from scipy.signal import correlate, resample_poly

from fdbcore.types import Pcm

RECORDING_RATE_HZ = 48_000
BLOCK = RECORDING_RATE_HZ // 100


def planted(number: int, seconds: float, rate_hz: int) -> Pcm:
    """Noise with an RMS of 3000 below 3.2 kHz, which outlives any rate from 8 kHz on; loud from its first sample."""
    length = round(seconds * rate_hz)
    if not length:
        return np.zeros(0, np.int16)
    spectrum = np.fft.rfft(np.random.default_rng(number).normal(0, 1, length))
    spectrum[round(3200 * length / rate_hz) :] = 0
    noise = np.fft.irfft(spectrum, length)
    scaled: Pcm = np.rint(noise * (3000 / (noise.std() or 1.0))).clip(-32_768, 32_767).astype(np.int16)
    return scaled


def find(heard: Pcm, voice: Pcm, rate_hz: int) -> tuple[int, int]:
    """Where `voice` begins in `heard`, and how much of it was heard; both in samples of 48 kHz, as `heard` is.

    What follows is counted in blocks of 10 ms, until the first one that is something else. AssertionError if the first
    100 ms of the voice are nowhere.
    """
    wave = resample_poly(voice.astype(float), RECORDING_RATE_HZ, rate_hz)
    onset = wave[: 10 * BLOCK]
    at = int(np.argmax(correlate(heard.astype(float), onset, mode="valid")))
    assert _alike(heard[at : at + len(onset)], onset), "this voice is nowhere in the recording"
    there = heard[at : at + len(wave)]
    n_blocks = len(there) // BLOCK
    alike = [_alike(there[i * BLOCK : (i + 1) * BLOCK], wave[i * BLOCK : (i + 1) * BLOCK]) for i in range(n_blocks)]
    return at, (alike.index(False) if False in alike else n_blocks) * BLOCK


def _alike(heard: Pcm, wave: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    norms = float(np.linalg.norm(heard.astype(float)) * np.linalg.norm(wave))
    return norms > 0 and float(heard.astype(float) @ wave) / norms > 0.7
