"""Measures the level of one talker's speech, and brings speech to a level."""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import FRAME_SAMPLES, TICK_MS, Pcm

RANGE_DB: Final = 40.0
"""In synthetic speech, a tick is speech if it lies within this range below the loudest tick."""

MARGIN_DB: Final = 15.9  # ITU-T P.56: a tick is active if it is louder than the active level less this margin ...
HANGOVER_TICKS: Final = 200 // TICK_MS  # ... or at most this long after such a tick
LEAST_LEVEL_DBOV: Final = -70.0
FULL_SCALE: Final = 32768


def within_range(pcm: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """True for each tick that lies within RANGE_DB of the loudest one, bool (n_ticks,).

    pcm: (n,), of any full scale. The last, partial tick is filled up with silence.
    """
    powers = tick_powers(pcm)
    within: npt.NDArray[np.bool_] = powers >= powers.max() / 10 ** (RANGE_DB / 10)
    return within


def tick_powers(pcm: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The mean square of each tick of (n,) samples; the last, partial tick is filled up with silence."""
    ticks = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES).astype(np.float64)
    powers: npt.NDArray[np.float64] = np.mean(ticks**2, axis=1)
    return powers


def active_level_dbov(pcm: Pcm) -> float:
    """The active speech level of int16 (n,) in dBov; -inf if it is silent. 0 dBov is a square wave at full scale.

    After method B of ITU-T P.56 (2011), on ticks of 10 ms instead of a smoothed envelope. The level is all energy
    divided by the active time. A tick is active if it, or one of the 20 ticks before it, exceeds the level less
    15.9 dB. The level depends on itself, so it is iterated until it settles.
    """
    powers = tick_powers(pcm) / FULL_SCALE**2
    level = powers.mean() if len(powers) else 0.0
    while level > 0:
        loud = np.flatnonzero(powers > level / 10 ** (MARGIN_DB / 10))
        ticks_to_next_loud = np.diff(loud, append=len(powers))
        active_ticks = int(np.minimum(ticks_to_next_loud, HANGOVER_TICKS + 1).sum())
        next_level = powers.sum() / active_ticks
        if next_level <= level:  # a higher level leaves fewer active ticks, so it only rises, until it settles
            break
        level = next_level
    return 10 * math.log10(level) if level > 0 else -math.inf


def levelled(pcm: Pcm, level_dbov: float) -> tuple[Pcm, float]:
    """`pcm`, int16 (n,), amplified so that its active speech level is `level_dbov`, and the gain in dB.

    Silence stays as it is, with a gain of 0. SettingsError if the level is out of range, or if the speech would clip.
    """
    if not LEAST_LEVEL_DBOV <= level_dbov <= 0:
        raise SettingsError(f"level_dbov: expected from {LEAST_LEVEL_DBOV:.0f} to 0, got {level_dbov}")
    gain_db = level_dbov - active_level_dbov(pcm)
    if math.isinf(gain_db):
        return pcm, 0.0
    raised = np.rint(pcm * 10 ** (gain_db / 20))
    if raised.max() >= FULL_SCALE or raised.min() < -FULL_SCALE:
        highest_dbov = level_dbov - 20 * math.log10(np.abs(raised).max() / (FULL_SCALE - 1))
        raise SettingsError(f"level_dbov: expected at most {highest_dbov:.1f}, or it clips, got {level_dbov}")
    return raised.astype(np.int16), gain_db
