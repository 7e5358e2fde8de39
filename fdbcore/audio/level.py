"""Speech of one talker: synthesised from text, measured, and brought to a level."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import FRAME_SAMPLES, TICK_MS, Pcm

RANGE_DB: Final = 40.0
"""Synthetic speech is what lies within this of its loudest tick."""

MARGIN_DB: Final = 15.9
HANGOVER_TICKS: Final = 200 // TICK_MS
LEAST_LEVEL_DBOV: Final = -70.0
FULL_SCALE: Final = 32768


def within_range(pcm: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Per tick, whether it lies within RANGE_DB of the loudest one; the last, partial tick is filled with silence.

    pcm: (n,), of any full scale.
    """
    powers = tick_powers(pcm)
    within: npt.NDArray[np.bool_] = powers >= powers.max() / 10 ** (RANGE_DB / 10)
    return within


def tick_powers(pcm: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Mean square of each tick of (n,) samples; the last, partial tick is filled with silence."""
    ticks = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES).astype(np.float64)
    powers: npt.NDArray[np.float64] = np.mean(ticks**2, axis=1)
    return powers


def active_level_dbov(pcm: Pcm) -> float:
    """The active speech level of int16 (n,) in dBov (0 dBov: a square wave of full scale); -inf if it is silent.

    After ITU-T P.56 (2011), method B, on ticks of 10 ms instead of a smoothed envelope: all energy over the active
    time, where a tick is active if it, or one of the 20 before it, is louder than 15.9 dB below that very level.
    """
    powers = tick_powers(pcm) / FULL_SCALE**2
    level = powers.mean() if len(powers) else 0.0
    while level > 0:
        active = _active_ticks(powers, level / 10 ** (MARGIN_DB / 10))
        rest = powers.sum() / active
        if rest <= level:  # as the level rises, fewer ticks are active: it settles
            break
        level = rest
    return 10 * math.log10(level) if level > 0 else -math.inf


def levelled(pcm: Pcm, level_dbov: float) -> tuple[Pcm, float]:
    """`pcm` with its active speech at `level_dbov`, and the gain (dB) that this took. Silence stays as it is.

    Raises SettingsError for a level out of range, and if it would be clipped.
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


def _active_ticks(powers: npt.NDArray[np.float64], threshold: float) -> int:
    """How many ticks are louder than `threshold` or follow one that is within the hangover."""
    loud = np.flatnonzero(powers > threshold)
    gaps = np.diff(loud, append=len(powers))
    return int(np.minimum(gaps, HANGOVER_TICKS + 1).sum())
