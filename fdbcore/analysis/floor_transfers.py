"""Floor transfer offsets and answer latencies of groups of calls, and their density, for figures of systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.facts import fto_ms
from fdbcore.analysis.groups import CallGroup
from fdbcore.measures.answers import response_curve
from fdbcore.types import SIDES, Side

BANDWIDTH_MS: Final = 100
"""The bandwidth of the Gaussian kernel of densities. It is the same for all, so that peaks can be compared."""

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(slots=True)
class SystemTransfers:
    """A group of calls: how many, the floor transfer offsets to each side (ms), the latencies of B's answers (ms), and
    the number of all opportunities to answer."""

    name: str
    calls: int
    fto_ms: dict[Side, list[int]]
    latencies_ms: list[int]
    eligible: int


def system(name: str, group: CallGroup) -> SystemTransfers:
    """Read the turn events of all calls of a group. Raises RecordingError if a recording cannot be read."""
    found = SystemTransfers(name, len(group.calls), {side: [] for side in SIDES}, [], 0)
    for call in group.calls:
        dialogue = call.recording.dialogue
        for side, offsets_ms in fto_ms(dialogue).items():
            found.fto_ms[side].extend(offsets_ms)
        latencies_ms, opportunities = response_curve(dialogue)
        found.latencies_ms.extend(latencies_ms)
        found.eligible += opportunities
    return found


def density(values_ms: Sequence[float], at_ms: Floats) -> Floats:
    """The Gaussian kernel density of the values, per second, (n,) at the points `at_ms` (n,)."""
    values = np.sort(np.asarray(values_ms, dtype=np.float64))
    unique, counts = np.unique(values, return_counts=True)
    kernels = np.exp(-0.5 * ((at_ms[:, None] - unique) / BANDWIDTH_MS) ** 2)
    found: Floats = kernels @ counts / (len(values) * BANDWIDTH_MS * np.sqrt(2 * np.pi)) * 1000
    return found
