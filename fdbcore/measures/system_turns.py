"""The system's own turns against ours: where its detector puts the partner's speech, and how late it says so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.recording.reader import Recording
from fdbcore.types import TICK_MS, Side, other_side
from fdbcore.types.system_events import SYSTEM_TURN

if TYPE_CHECKING:
    from fdbcore.measures.live_record_types import HeldSystemTurns, TurnDifferences

WITHIN_MS: Final = 1000
"""The system's start or end of speech is the same as ours if it lies at most this far from it."""


def system_turns(recording: Recording, side: Side = "B") -> HeldSystemTurns | None:
    """The system's own turns against ours; None if it told none. side: which one is the system."""
    told = [event for event in recording.events if event["kind"] == SYSTEM_TURN and event["side"] == side]
    if not told:
        return None
    partner = [event for event in recording.turn_events if event.side == other_side(side)]
    starts_ms = [event.start_tick * TICK_MS for event in partner if event.kind == "speech_start"]
    ends_ms = [event.end_tick * TICK_MS for event in partner if event.kind == "speech_end" and event.end_tick]
    found = {
        name: [(event.get("at_ms"), event["tick"] * TICK_MS) for event in told if event["name"] == f"speech_{name}"]
        for name in ("started", "stopped")
    }
    return {"starts": _against(found["started"], starts_ms), "ends": _against(found["stopped"], ends_ms)}


def _against(told: Sequence[tuple[float | None, float]], ours_ms: Sequence[float]) -> TurnDifferences:
    """Each of ours with the nearest that the system told. told: where the system puts it, if it says so, and when it
    told, in ms.
    """
    differences, delays = [], []
    for at_ms, told_ms in told:
        place_ms = told_ms if at_ms is None else at_ms
        gaps_ms = [(abs(ms - place_ms), ms) for ms in ours_ms]
        gap_ms, nearest = min(gaps_ms, default=(math.inf, 0.0))
        if gap_ms > WITHIN_MS:
            continue
        delays.append(told_ms - nearest)
        if at_ms is not None:
            differences.append(at_ms - nearest)
    low, median, high = np.quantile(differences, [0.1, 0.5, 0.9]).tolist() if differences else (None, None, None)
    return {
        "n": len(delays),
        "of": len(ours_ms),
        "told": len(told),
        "median_ms": median,
        "p10_ms": low,
        "p90_ms": high,
        "told_after_ms": float(np.median(delays)) if delays else None,
    }
