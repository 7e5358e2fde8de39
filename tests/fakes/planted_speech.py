"""Finds planted speech again in what was heard of it, to the sample, and how much of it was heard."""

import numpy as np
from fakes.realtime.plan import Wave, place_of
from scipy.signal import resample_poly

HEARD_RATE_HZ = 48_000
BLOCK = HEARD_RATE_HZ // 100


def find(heard: Wave, said: Wave, rate_hz: int) -> tuple[int, int]:
    """Where `said` (`plan.tones`, at rate_hz) begins in `heard`, and how much of it was heard; in samples of 48 kHz.

    `heard` is at 48 kHz. How much is counted in blocks of 10 ms, until the first one that is something else.
    AssertionError if the first 100 ms are nowhere.
    """
    wave = resample_poly(said.astype(float), HEARD_RATE_HZ, rate_hz)
    onset = wave[: 10 * BLOCK]
    at = place_of(onset, heard)
    assert _likeness(heard[at : at + len(onset)], onset) > 0.7, "this was never heard"
    n_blocks = min(len(wave), len(heard) - at) // BLOCK
    blocks = [slice(number * BLOCK, (number + 1) * BLOCK) for number in range(n_blocks)]
    alike = [_likeness(heard[at:][block], wave[block]) > 0.7 for block in blocks]
    return at, (alike.index(False) if False in alike else n_blocks) * BLOCK


def _likeness(heard: Wave, wave: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    norms = float(np.linalg.norm(heard.astype(float)) * np.linalg.norm(wave))
    return float(heard.astype(float) @ wave) / norms if norms else 0.0
