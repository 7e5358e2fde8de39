"""Knows which recording of the smoke set is heard, and since when, by how loud it is from tick to tick."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.decode import AudioFile
from fdbcore.suites.fdb_v3.smoke.smoke_set import FOLDER, SMOKE
from fdbcore.types import TICKS_PER_S

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry

Levels: TypeAlias = npt.NDArray[np.float64]

LEAST_TICKS, MOST_TICKS = 150, 250
"""Of speech, so many ticks tell a recording from the others; more are not compared."""
ALIKE: Final = 0.9
"""The correlation of levels from which on two sounds are the same."""


class KnownSound(NamedTuple):
    """A recording that is heard. start: the tick of what was heard at which it began; below 0 if its beginning is not
    there.
    """

    record: RecordedScenarioEntry
    start: int


def level(pcm: npt.NDArray[np.int16]) -> float:
    """How loud (n,) samples are: their RMS."""
    return float(np.sqrt(np.mean(pcm.astype(np.float64) ** 2)))


@cache
def smoke_records() -> Mapping[str, RecordedScenarioEntry]:
    """The records of the smoke set by their ids."""
    return {record["id"]: record for record in json.loads(SMOKE.read_text(encoding="utf-8"))["record"]}


@cache
def _levels() -> Mapping[str, Levels]:
    """The level of each tick of each recording."""
    found = {}
    for name, record in smoke_records().items():
        with AudioFile(FOLDER / record["audio"]["path"]) as file:
            pcm = np.concatenate([block[:, 0] for block in file.blocks()]).astype(np.float64)
        samples = record["audio"]["rate_hz"] // TICKS_PER_S
        ticks = pcm[: len(pcm) // samples * samples].reshape(-1, samples)
        found[name] = np.sqrt(np.mean(ticks**2, axis=1))
    return found


def known_sound(heard: Sequence[float]) -> KnownSound | None:
    """The recording of which at least LEAST_TICKS of speech are heard; None if there is none. heard: levels by tick."""
    levels = np.array(heard)
    loud = np.flatnonzero(levels > levels.max(initial=0.0) / 20)
    if not len(loud) or len(levels) - loud[0] < LEAST_TICKS:
        return None
    first = int(loud[0])
    best, found = ALIKE, None
    for name, known in _levels().items():
        n_ticks = min(len(levels) - first, len(known), MOST_TICKS)
        windows = np.lib.stride_tricks.sliding_window_view(known, n_ticks)
        places = _likeness(windows, levels[first : first + n_ticks])
        place = int(places.argmax())
        if places[place] > best:
            best, found = float(places[place]), KnownSound(smoke_records()[name], first - place)
    return found


def _likeness(windows: Levels, sought: Levels) -> Levels:
    """The correlation of each of (n, ticks) with (ticks,)."""
    centred = sought - sought.mean()
    spread = windows.std(axis=1) * sought.std() * len(sought)
    found: Levels = np.divide(windows @ centred, spread, out=np.zeros(len(windows)), where=spread > 0)
    return found
