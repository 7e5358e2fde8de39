"""Which calls of a run stand out of it as if their sides were exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.types import SIDES

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import HealthSides

EXCHANGED: Final = "sides perhaps exchanged: they sound like the other side of the other calls"
FEWEST_CALLS: Final = 8
FIGURES: Final = ("level_dbov", "noise_dbov", "spread_db", "under_db", "after_db", "high_drop_db", "peak_dbov")
LEAST_SPREAD_DB: Final = 2.0
MOST_APART: Final = 5.0  # deviations of one figure: it alone decides nothing
LEAST_GAIN: Final = 20.0  # in squared deviations, over both sides and all figures
LEAST_TIMES: Final = 2.0  # as well, the sides fit so many times better exchanged


def exchanged(calls: Mapping[str, HealthSides]) -> list[str]:
    """The names of the calls whose A sounds like the B of the others, and whose B sounds like their A.

    calls: by name, what input health says of both sides. A side sounds as its line and its background do: a person in
    a room, a machine without one. Where both sides of a run sound alike, nothing can be told.
    """
    if len(calls) < FEWEST_CALLS:
        return []
    sides = np.array([[_figures(of[side]) for side in SIDES] for of in calls.values()])
    sides = sides[:, :, ~np.isnan(sides).all(axis=0).any(axis=0)]
    usual = np.nanmedian(sides, axis=0)
    spread = np.maximum(1.4826 * np.nanmedian(np.abs(sides - usual), axis=0), LEAST_SPREAD_DB)
    straight, crossed = (_apart(sides, usual[order], spread[order]) for order in ([0, 1], [1, 0]))
    stands_out = (straight - crossed > LEAST_GAIN) & (straight > LEAST_TIMES * crossed)
    return [name for name, stands in zip(calls, stands_out, strict=True) if stands]


def _figures(of_side: Mapping[str, Any]) -> list[float]:
    """The figures, with the pitch in quarter tones, which then spreads as levels in dB do."""
    levels = [np.nan if (value := of_side.get(name)) is None else float(value) for name in FIGURES]
    pitch_hz = of_side.get("pitch_hz")
    return [*levels, 24 * np.log2(pitch_hz) if pitch_hz else np.nan]


def _apart(
    sides: npt.NDArray[np.float64], centres: npt.NDArray[np.float64], spread: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """How far each call lies from the centres of both sides, in squared deviations, (calls,)."""
    deviations = np.minimum(np.abs(sides - centres) / spread, MOST_APART)
    apart: npt.NDArray[np.float64] = np.nansum(deviations**2, axis=(1, 2))
    return apart
