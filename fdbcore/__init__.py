"""Run, replay and score full-duplex spoken conversations on one media clock.

    recording = fdbcore.replay("call.wav", out="RUN")      # one call: turn events, measures, a report
    run = fdbcore.replay_all("calls/", out="RUN")          # thousands of calls; fdbcore.run holds live ones
    fdbcore.call_rows(run), fdbcore.event_rows(run)        # tables for a data frame
    fdbcore.score(run, by="system")                        # measures with intervals, and which differences hold
    fdbcore.compare(run, fdbcore.Run("OLD"))               # what changed, for better or worse
    fdbcore.gate(run, ["premature_per_turn <= 0.05"])      # passed, failed, or undecided

The commands call these same functions. To plug in parts of your own, implement `Endpoint`, `Vad` or another of the
protocols. A name is imported only when it is first used, so `import fdbcore` stays cheap.
"""

from __future__ import annotations

from fdbcore._version import __version__

TYPE_CHECKING = False  # as in typing, whose import takes so long that a Ctrl-C may come within it
if TYPE_CHECKING:
    from typing import Any

    from fdbcore._ext.pacer import Pacer
    from fdbcore._ext.pcm import PlayoutQueue
    from fdbcore._ext.resample import Resampler
    from fdbcore._ext.turns import TurnDetector
    from fdbcore.analysis.comparison import compare
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.analysis.gates import gate
    from fdbcore.analysis.rows import call_rows, event_rows
    from fdbcore.analysis.statements import score
    from fdbcore.analysis.trends import trend
    from fdbcore.clock import MonotonicClock, VirtualClock
    from fdbcore.errors import FdbError
    from fdbcore.protocols import Clock, Endpoint, Model, Speaker, Transcriber, Vad
    from fdbcore.recording.reader import Recording
    from fdbcore.runs.live import run
    from fdbcore.runs.replay import replay
    from fdbcore.runs.replay_many import replay_all
    from fdbcore.session.conformance import vad_faults
    from fdbcore.session.turns import detect_turns
    from fdbcore.session.windows import WindowVad
    from fdbcore.suites.dialogue_acts.scoring.alignment import ActAlignment, align_acts, align_acts_batch
    from fdbcore.types import TurnEvent, TurnSettings

_HOMES = {
    "ActAlignment": "suites.dialogue_acts.scoring.alignment",
    "Call": "analysis.corpus",
    "Clock": "protocols",
    "Endpoint": "protocols",
    "FdbError": "errors",
    "Model": "protocols",
    "MonotonicClock": "clock",
    "Pacer": "_ext.pacer",
    "PlayoutQueue": "_ext.pcm",
    "Recording": "recording.reader",
    "Resampler": "_ext.resample",
    "Run": "analysis.corpus",
    "Speaker": "protocols",
    "Transcriber": "protocols",
    "TurnDetector": "_ext.turns",
    "TurnEvent": "types",
    "TurnSettings": "types",
    "Vad": "protocols",
    "VirtualClock": "clock",
    "WindowVad": "session.windows",
    "align_acts": "suites.dialogue_acts.scoring.alignment",
    "align_acts_batch": "suites.dialogue_acts.scoring.alignment",
    "call_rows": "analysis.rows",
    "compare": "analysis.comparison",
    "detect_turns": "session.turns",
    "event_rows": "analysis.rows",
    "gate": "analysis.gates",
    "replay": "runs.replay",
    "replay_all": "runs.replay_many",
    "run": "runs.live",
    "score": "analysis.statements",
    "trend": "analysis.trends",
    "vad_faults": "session.conformance",
}

__all__ = [
    "ActAlignment",
    "Call",
    "Clock",
    "Endpoint",
    "FdbError",
    "Model",
    "MonotonicClock",
    "Pacer",
    "PlayoutQueue",
    "Recording",
    "Resampler",
    "Run",
    "Speaker",
    "Transcriber",
    "TurnDetector",
    "TurnEvent",
    "TurnSettings",
    "Vad",
    "VirtualClock",
    "WindowVad",
    "__version__",
    "align_acts",
    "align_acts_batch",
    "call_rows",
    "compare",
    "detect_turns",
    "event_rows",
    "gate",
    "replay",
    "replay_all",
    "run",
    "score",
    "trend",
    "vad_faults",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next access finds it there and does not come here
    return value
