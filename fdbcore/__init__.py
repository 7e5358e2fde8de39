"""Run, replay and score full-duplex spoken conversations on one media clock.

    recording = fdbcore.replay("call.wav", out="run")      # turn events, measures, report: as `fdbcore replay` does
    recording.turn_events                                  # [TurnEvent(kind="gap", side="B", ...), ...]

Everything below is imported when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdbcore._ext.pacer import Pacer
    from fdbcore._ext.pcm import PlayoutQueue
    from fdbcore._ext.resample import Resampler
    from fdbcore._ext.turns import TurnDetector
    from fdbcore.acts import ActAlignment, align_acts, align_acts_batch
    from fdbcore.clock import MonotonicClock, VirtualClock
    from fdbcore.errors import FdbError
    from fdbcore.offline import replay
    from fdbcore.recording import Recording
    from fdbcore.turns import detect_turns
    from fdbcore.types import TurnEvent, TurnSettings

__version__ = "0.1.0"

_HOMES = {
    "ActAlignment": "acts",
    "FdbError": "errors",
    "MonotonicClock": "clock",
    "Pacer": "_ext.pacer",
    "PlayoutQueue": "_ext.pcm",
    "Recording": "recording",
    "Resampler": "_ext.resample",
    "TurnDetector": "_ext.turns",
    "TurnEvent": "types",
    "TurnSettings": "types",
    "VirtualClock": "clock",
    "align_acts": "acts",
    "align_acts_batch": "acts",
    "detect_turns": "turns",
    "replay": "offline",
}

__all__ = [
    "ActAlignment",
    "FdbError",
    "MonotonicClock",
    "Pacer",
    "PlayoutQueue",
    "Recording",
    "Resampler",
    "TurnDetector",
    "TurnEvent",
    "TurnSettings",
    "VirtualClock",
    "align_acts",
    "align_acts_batch",
    "detect_turns",
    "replay",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
