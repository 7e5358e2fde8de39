"""Active speech level by ITU-T P.56, method B, sample by sample."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

TIME_CONSTANT_S, HANGOVER_S, MARGIN_DB = 0.03, 0.2, 15.9


def active_level_dbov(pcm: npt.NDArray[Any], rate_hz: int) -> float:
    """Of int16 (n,); 0 dBov is a square wave of full scale."""
    samples = np.asarray(pcm, dtype=np.float64) / 32768
    keep = math.exp(-1 / (rate_hz * TIME_CONSTANT_S))
    envelope = np.abs(samples)
    for _ in range(2):
        envelope = lfilter([1 - keep], [1, -keep], envelope)
    energy = float(np.sum(samples**2))
    low_db, high_db = -100.0, 20 * math.log10(envelope.max())
    while high_db - low_db > 0.001:  # the level exceeds the threshold by less and less, and by the margin only once
        threshold_db = (low_db + high_db) / 2
        above = np.flatnonzero(envelope >= 10 ** (threshold_db / 20))
        active = np.minimum(np.diff(above, append=len(samples)), math.ceil(rate_hz * HANGOVER_S) + 1).sum()
        level_db = 10 * math.log10(energy / active)
        low_db, high_db = (threshold_db, high_db) if level_db - threshold_db > MARGIN_DB else (low_db, threshold_db)
    return level_db
