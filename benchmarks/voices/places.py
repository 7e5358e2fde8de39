"""Where the sides of a file lie: the figures that input health has of each.

A row of the table is a line: where it lies, and what it does to units, offsets of the floor and answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from benchmarks.voices.speech import Bools
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.recording.recorded_types import Health
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import SIDES

Place: TypeAlias = Mapping[str, float | None]
FIGURES: Final = (
    "level_dbov", "noise_dbov", "snr_db", "spread_db", "under_db", "after_db", "fall_ms", "high_drop_db",
)  # fmt: skip


def health_of(path: Path, active: Bools, vad: str) -> Health:
    """The input health of a file. active: what a detector of this name found, bool (n_ticks, 2)."""
    (session,) = session_inputs([path])
    with session.open() as source, HealthProbe() as probe:
        for _ in probe.tap(source.blocks()):
            pass
        return examine(probe.sides(), dict(zip(SIDES, active.T, strict=True)), vads=dict.fromkeys(SIDES, vad))


def places(health: Health) -> list[Place]:
    """The place of each side of a file with speech."""
    sides = [health["sides"][side] for side in SIDES]
    return [{name: side[name] for name in FIGURES} for side in sides if side["level_dbov"] is not None]


def warned_share(healths: Sequence[Health]) -> float:
    """The share of files of which input health warns."""
    return float(np.mean([health["verdict"] != "ok" for health in healths]))


def pooled(found: Sequence[Place]) -> dict[str, float | None]:
    """The medians over sides; None where fewer than half of them have a figure."""
    row: dict[str, float | None] = {}
    for name in found[0] if found else ():
        values = [value for each in found if (value := each[name]) is not None]
        row[name] = round(float(np.median(values)), 1) if 2 * len(values) >= len(found) else None
    return row
