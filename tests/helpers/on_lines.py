"""A clean dialogue for lines, and input health of calls whose sides lie exactly on measured ones."""

from typing import Any

import numpy as np
import soxr
from helpers.faulty_audio import sample

from benchmarks.voices.dialogues import CUTS_DB, Dialogue
from benchmarks.voices.speech import RATE_HZ, TICK_SAMPLES, Bools, Floats, runs
from fdbcore.measures.health.measured_lines import MeasuredLine
from fdbcore.types import SAMPLE_RATE_HZ


def clean_dialogue() -> Dialogue:
    """The first 40 s of the sample with silence between its words."""
    pcm: Floats = soxr.resample(sample()[: 40 * SAMPLE_RATE_HZ].astype(np.float32) / 32_768, SAMPLE_RATE_HZ, RATE_HZ)
    pcm -= pcm.mean(axis=0)  # its silence would be a step
    ticks = pcm.reshape(-1, TICK_SAMPLES, 2)
    levels = 10 * np.log10(np.mean(ticks**2, axis=1) + 1e-12)
    spoken: Bools = levels > levels.max(axis=0) - 36
    ticks[~spoken.repeat(TICK_SAMPLES, axis=0).reshape(ticks.shape)] = 0
    a, b = (runs(spoken[:, side]) * TICK_SAMPLES for side in (0, 1))
    return Dialogue(ticks.reshape(-1, 2), {cut: (a, b) for cut in CUTS_DB}, ("one", "two"))


def health_at(of_a: MeasuredLine, of_b: MeasuredLine) -> dict[str, Any]:
    """Input health with both sides exactly on measured lines."""
    sides = {}
    for side, line in (("A", of_a), ("B", of_b)):
        at = {name: value for name, value in line.place.items()}
        snr_db = at["snr_db"]
        assert snr_db is not None
        sides[side] = {
            "level_dbov": at["level_dbov"],
            "noise_dbov": None,
            "peak_dbov": 0.0,
            "dc_of_full_scale": 0.0,
            "snr_db": snr_db,
            "spread_db": at["spread_db"],
            "under_db": None if at["softest_db"] is None else at["softest_db"] + snr_db,
            "after_db": None if at["after_db"] is None else at["after_db"] + snr_db,
            "fall_ms": at["fall_ms"],
            "tail_ms": 100.0 if line.is_room else 30.0,
            "high_drop_db": at["high_drop_db"],
            "speech_s": 3.0,
        }
    return {
        "schema": "fdbcore.health/3",
        "verdict": "ok",
        "findings": [],
        "suspect": {"A": [], "B": []},
        "sides": sides,
    }
