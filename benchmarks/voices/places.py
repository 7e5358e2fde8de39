"""What a side sounds like beside its speech, as input health can measure it, and the errors of a detector there.

A row of the table is a line: where it lies, and what it does to units, offsets of the floor and answers. Health can
measure the same of a call, whose line then lies between rows of the table, or far from all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.voices.speech import TICK_SAMPLES, Bools, runs, units
from fdbcore.measures.health.finding import decibels, near
from fdbcore.measures.health.hearing import HealthProbe, SideAudio
from fdbcore.measures.health.levels import LEAST_QUIET_TICKS, MARGIN_TICKS, PASSBAND, STOPBAND, figures
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import SIDES

Place: TypeAlias = Mapping[str, float | None]

AFTER_TICKS: Final = (5, 15)
"""What a gate or a comfort noise lets through after speech is heard 50 to 150 ms after it."""

FALL_DB: Final = (15.0, 35.0)
"""A room shows in how long the level takes to fall from one to the other below the peak of a unit."""


def places(path: Path, active: Bools) -> list[Place]:
    """The place of each side of a file with speech. active: what a detector found, bool (n_ticks, 2)."""
    (session,) = session_inputs([path])
    with session.open() as source, HealthProbe() as probe:
        for _ in probe.tap(source.blocks()):
            pass
        sides = probe.sides()
        tracks = zip((sides[side] for side in SIDES), active.T, strict=True)
        return [place(heard, track) for heard, track in tracks if track.any()]


def place(heard: SideAudio, active: Bools) -> Place:
    """Figures of one side in dB and ms; None for what it does not show. active: its speech, bool (n_ticks,).

    level_dbov, noise_dbov, snr_db: as health has them. spread_db: how much the background varies (robust standard
    deviation of the levels of ticks). under_db: the softest 5 % of ticks in speech above the background: below 0 where
    noise is not under the speech. after_db: the sound 50 to 150 ms after speech, above the background. fall_ms: from
    15 to 35 dB below the peak of a unit. telephone_drop_db: the band of 2.5 to 3.3 kHz above that of 4.5 to 7.5 kHz.
    """
    known = figures(heard, active)
    levels = 10 * np.log10(np.maximum(heard.powers, 1e-12))
    quiet = ~near(active, MARGIN_TICKS)
    noise = known["noise_dbov"]
    has_quiet = noise is not None and np.count_nonzero(quiet) >= LEAST_QUIET_TICKS
    spread = 1.4826 * float(np.median(np.abs(levels[quiet] - np.median(levels[quiet])))) if has_quiet else None
    spoken = [(start, end) for start, end in (units(runs(active) * TICK_SAMPLES) // TICK_SAMPLES).tolist()]
    after = [
        decibels(float(np.mean(heard.powers[end + AFTER_TICKS[0] : end + AFTER_TICKS[1]])))
        for _, end in spoken
        if end + AFTER_TICKS[1] <= len(active) and not active[end : end + AFTER_TICKS[1]].any()
    ]
    falls = [ms for start, end in spoken if (ms := _fall_ms(levels, start, end)) is not None]
    bands = [decibels(float(heard.spectrum[band].mean())) for band in (PASSBAND, STOPBAND)]
    return {
        "level_dbov": known["level_dbov"],
        "noise_dbov": noise,
        "snr_db": known["snr_db"],
        "spread_db": spread,
        "under_db": None if noise is None else float(np.quantile(levels[active], 0.05)) - noise,
        "after_db": None if noise is None or not after else float(np.median(after)) - noise,
        "fall_ms": float(np.median(falls)) if len(falls) * 2 > len(spoken) else None,
        "telephone_drop_db": bands[0] - bands[1],
    }


def _fall_ms(levels: npt.NDArray[np.floating], start: int, end: int) -> float | None:
    """How long the end of a unit takes to die away; None if the background hides it."""
    peak = levels[start:end].max()
    last_loud = start + int(np.flatnonzero(levels[start:end] >= peak - FALL_DB[0])[-1])
    fallen = np.flatnonzero(levels[last_loud : end + 50] < peak - FALL_DB[1])
    return 10.0 * int(fallen[0]) if len(fallen) else None


def pooled(found: Sequence[Place]) -> dict[str, float | None]:
    """The medians over sides; None where fewer than half of them have a figure."""
    row: dict[str, float | None] = {}
    for name in found[0] if found else ():
        values = [value for each in found if (value := each[name]) is not None]
        row[name] = round(float(np.median(values)), 1) if 2 * len(values) >= len(found) else None
    return row
