"""The input health of files, as the project has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.voices.speech import Bools
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.recording.health import Health
from fdbcore.sources.sessions import session_inputs
from fdbcore.types import SIDES


def health_of(path: Path, active: Bools, vad: str) -> Health:
    """The input health of a file. active: what a detector of this name found, bool (n_ticks, 2)."""
    (session,) = session_inputs([path])
    with session.open() as source, HealthProbe() as probe:
        for _ in probe.tap(source.blocks()):
            pass
        return examine(probe.sides(), dict(zip(SIDES, active.T, strict=True)), vads=dict.fromkeys(SIDES, vad))


def warned_share(healths: Sequence[Health]) -> float:
    """The share of files of which input health warns."""
    return float(np.mean([health["verdict"] != "ok" for health in healths]))
