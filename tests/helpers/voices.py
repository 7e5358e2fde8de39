"""Calls of noise where somebody speaks, as files: what the energy detector hears is known to the tick."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from helpers.drawn import activity
from scipy.io import wavfile

RATE_HZ = 16_000


DIALOGUE = "A 0.3-2 4.6-6.4 | B 2.4-4.3 6.7-8"


Samples = npt.NDArray[np.int16]


def voices(drawing: str, tail_s: float = 1.5) -> Samples:
    """Loud noise where a drawing says that a side speaks, int16 (n, 2) at 16 kHz; the energy detector hears it."""
    rng = np.random.default_rng(1)
    tracks = np.stack(activity(drawing, tail_s), axis=1).repeat(RATE_HZ // 100, axis=0)
    return np.where(tracks, rng.normal(0, 3000, tracks.shape), 0).astype(np.int16)


def write(path: Path, samples: npt.NDArray[Any], rate_hz: int = RATE_HZ) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, rate_hz, samples)
    return path
