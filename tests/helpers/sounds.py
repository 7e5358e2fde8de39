"""Plain sounds for the tests of levels and of voice activity, in whole ticks."""

import numpy as np

from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm


def noise(ticks: int, rms: float = 100.0, seed: int = 0) -> Pcm:
    """White noise, int16 (480 ticks,); rms in steps of 16 bit."""
    pcm: Pcm = np.rint(np.random.default_rng(seed).normal(0, rms, ticks * FRAME_SAMPLES)).astype(np.int16)
    return pcm


def tone(ticks: int, hz: float = 500.0, peak: float = 10_000.0) -> Pcm:
    """A sine, int16 (480 ticks,); peak in steps of 16 bit."""
    phases = 2 * np.pi * hz / SAMPLE_RATE_HZ * np.arange(ticks * FRAME_SAMPLES)
    pcm: Pcm = np.rint(peak * np.sin(phases)).astype(np.int16)
    return pcm
