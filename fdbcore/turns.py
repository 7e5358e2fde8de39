"""Turn events from the activity of both sides: the same detector live, in replay, and over stored activity."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from fdbcore._ext.turns import TurnDetector
from fdbcore.types import TurnEvent, TurnSettings

__all__ = ["TurnDetector", "detect_turns", "sweep_turns"]


def sweep_turns(
    active_a: npt.NDArray[np.bool_],
    active_b: npt.NDArray[np.bool_],
    settings: Sequence[TurnSettings],
    vad_delay_ticks: int = 0,
) -> list[list[TurnEvent]]:
    """`detect_turns` of one session under each of many settings, on all cores; for what a result owes to them."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda one: detect_turns(active_a, active_b, one, vad_delay_ticks), settings))


def detect_turns(
    active_a: npt.NDArray[np.bool_],
    active_b: npt.NDArray[np.bool_],
    settings: TurnSettings | None = None,
    vad_delay_ticks: int = 0,
) -> list[TurnEvent]:
    """All events of a session, from its whole activity (bool, shape (n_ticks,) each), in the order they become known.

    Raises FrameError when the two sides differ in length.
    """
    detector = TurnDetector(settings, vad_delay_ticks)
    tracks = (np.ascontiguousarray(track, dtype=np.bool_).view(np.uint8) for track in (active_a, active_b))
    return detector.push_all(*tracks) + detector.finish()
