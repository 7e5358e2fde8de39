"""Brings what a synthesiser spoke to the rate of the session, and cuts off the silence around its words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fdbcore.audio.decode import resampler_to_48k
from fdbcore.audio.level import within_range
from fdbcore.types import FRAME_SAMPLES, Pcm


def without_edges(pcm: npt.NDArray[np.int16], rate_hz: int) -> Pcm:
    """Speech as int16 (n,) at 48 kHz, without the silence before and after its words.

    Silent are the ticks before the first and after the last tick within RANGE_DB of the loudest. pcm: int16 (n,) at
    `rate_hz`, with sound in it.
    """
    resampler = resampler_to_48k(rate_hz)
    speech = np.concatenate((resampler.process(pcm), resampler.flush()))
    ticks = np.flatnonzero(within_range(speech))
    return speech[ticks[0] * FRAME_SAMPLES : (ticks[-1] + 1) * FRAME_SAMPLES]
