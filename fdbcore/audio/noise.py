"""White noise, and comfort noise for a party that would otherwise be digitally silent between its words."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import FRAME_SAMPLES, Pcm

LEAST_DBOV, MOST_DBOV = -96.0, -30.0
_FULL_SCALE: Final = 32768


def mixed(frame: Pcm, added: npt.NDArray[Any]) -> Pcm:
    """The sum of a frame and another sound, in steps of int16, both (n,): rounded and saturated."""
    sums: Pcm = np.clip(np.rint(added) + frame, -_FULL_SCALE, _FULL_SCALE - 1).astype(np.int16)
    return sums


class WhiteNoise:
    """White Gaussian noise of this RMS, in steps of int16, from these random numbers."""

    def __init__(self, rms: float, random: np.random.Generator) -> None:
        self._rms, self._random = rms, random

    def under(self, speech: Pcm) -> Pcm:
        """The frame `speech`, int16 (480,), plus the noise of the next tick, saturated."""
        return mixed(speech, self._random.normal(0.0, self._rms, FRAME_SAMPLES))


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
        self._noise = (
            None
            if level_dbov is None
            else WhiteNoise(_FULL_SCALE * 10 ** (level_dbov / 20), np.random.default_rng(seed))
        )

    def under(self, speech: Pcm) -> Pcm:
        """The frame `speech`, int16 (480,), plus the noise of the next tick, saturated."""
        return speech if self._noise is None else self._noise.under(speech)
