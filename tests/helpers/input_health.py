"""What input health says of audio in memory, decided by the energy detector unless the test brings its own activity."""

import json
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from helpers.faulty_audio import Stereo
from helpers.schema import validator

from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.protocols import Vad
from fdbcore.recording.health import Health, HealthFinding
from fdbcore.session.vad import EnergyVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES, Side

Activity: TypeAlias = dict[Side, npt.NDArray[np.bool_]]


def active(pcm: Stereo, make: Callable[[], Vad] = EnergyVad) -> Activity:
    tracks: Activity = {}
    for side, channel in zip(SIDES, pcm.T, strict=True):
        vad = make()
        said = [vad.push(frame) for frame in np.ascontiguousarray(channel).reshape(-1, FRAME_SAMPLES)]
        tracks[side] = np.array((said + vad.finish())[vad.delay_ticks :], dtype=np.bool_)
    return tracks


def blocks(pcm: Stereo, samples: int = SAMPLE_RATE_HZ) -> Iterator[tuple[Stereo, Stereo]]:
    a, b = np.ascontiguousarray(pcm.T)
    for start in range(0, len(pcm), samples):
        yield a[start : start + samples], b[start : start + samples]


def health_of(pcm: Stereo, tracks: Activity | None = None, two_files: bool = False, live: bool = False) -> Health:
    with HealthProbe() as probe:
        for _ in probe.tap(blocks(pcm)):
            pass
        health = examine(probe.sides(), tracks or active(pcm), two_files, live)
    validator("replay", "Health").validate(json.loads(json.dumps(health, allow_nan=False)))
    return health


def found(pcm: Stereo, two_files: bool = False) -> dict[tuple[str, str | None], HealthFinding]:
    return {(f["id"], f["side"]): f for f in health_of(pcm, two_files=two_files)["findings"]}
