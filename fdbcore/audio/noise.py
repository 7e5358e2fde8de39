"""Comfort noise: background noise for a party that would otherwise be digitally silent between its words."""

from __future__ import annotations

from typing import Final

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.types import FRAME_SAMPLES, Pcm

LEAST_DBOV, MOST_DBOV = -96.0, -30.0
_FULL_SCALE: Final = 32768


class ComfortNoise:
    """White Gaussian noise; the same seed gives the same noise.

    level_dbov: its power, -96 to -30 dBov (0 dBov is a square wave at full scale); None for digital silence.
    seed: 0 or more. SettingsError if either is out of range.
    """

    def __init__(self, level_dbov: float | None, seed: int) -> None:
        if level_dbov is not None and not LEAST_DBOV <= level_dbov <= MOST_DBOV:
            raise SettingsError(f"noise_dbov: expected from {LEAST_DBOV:.0f} to {MOST_DBOV:.0f}, got {level_dbov}")
        if seed < 0:
            raise SettingsError(f"seed: expected 0 or more, got {seed}")
        self._rms = 0.0 if level_dbov is None else _FULL_SCALE * 10 ** (level_dbov / 20)
        self._random = np.random.default_rng(seed)

    def under(self, speech: Pcm) -> Pcm:
        """The frame `speech`, int16 (480,), plus the noise of the next tick, saturated."""
        if not self._rms:
            return speech
        noise = np.rint(self._random.normal(0.0, self._rms, FRAME_SAMPLES))
        return np.clip(noise + speech, -_FULL_SCALE, _FULL_SCALE - 1).astype(np.int16)
