"""Run, replay and score full-duplex spoken conversations on one media clock.

    recording = fdbcore.replay("call.wav", out="RUN")      # one call: turn events, measures, a report
    run = fdbcore.replay_all("calls/", out="RUN")          # thousands of calls; fdbcore.run holds live ones
    fdbcore.call_rows(run), fdbcore.event_rows(run)        # tables for a data frame
    fdbcore.score(run, by="system")                        # measures with intervals, and which differences hold
    fdbcore.score_suite(run)                               # the measures of the benchmark that it was held for
    fdbcore.compare(run, fdbcore.Run("OLD"))               # what changed, for better or worse
    fdbcore.gate(run, ["premature_per_turn <= 0.05"])      # passed, failed, or undecided

The commands call these same functions. To plug in parts of your own, implement `Endpoint`, `Vad` or another of the
protocols. A name is imported only when it is first used, so `import fdbcore` stays cheap.
"""

from __future__ import annotations

from fdbcore._version import __version__ as __version__

TYPE_CHECKING = False  # as in typing, whose import takes so long that a Ctrl-C may come within it
if TYPE_CHECKING:
    from typing import Any

    from fdbcore._ext.pacer import Pacer as Pacer
    from fdbcore._ext.pcm import PlayoutQueue as PlayoutQueue
    from fdbcore._ext.resample import Resampler as Resampler
    from fdbcore._ext.turns import TurnDetector as TurnDetector
    from fdbcore.analysis.comparison import compare as compare
    from fdbcore.analysis.corpus import Call as Call
    from fdbcore.analysis.corpus import Run as Run
    from fdbcore.analysis.gates import gate as gate
    from fdbcore.analysis.rows import call_rows as call_rows
    from fdbcore.analysis.rows import event_rows as event_rows
    from fdbcore.analysis.statements import score as score
    from fdbcore.analysis.trends import trend as trend
    from fdbcore.clock import MonotonicClock as MonotonicClock
    from fdbcore.clock import VirtualClock as VirtualClock
    from fdbcore.errors import FdbError as FdbError
    from fdbcore.protocols import Clock as Clock
    from fdbcore.protocols import Endpoint as Endpoint
    from fdbcore.protocols import Model as Model
    from fdbcore.protocols import Speaker as Speaker
    from fdbcore.protocols import Transcriber as Transcriber
    from fdbcore.protocols import Vad as Vad
    from fdbcore.recording.reader import Recording as Recording
    from fdbcore.runs.live import run as run
    from fdbcore.runs.replay import replay as replay
    from fdbcore.runs.replay_many import replay_all as replay_all
    from fdbcore.runs.requests import RunRequest as RunRequest
    from fdbcore.runs.requests import ScoreRequest as ScoreRequest
    from fdbcore.runs.suite_scores import score_suite as score_suite
    from fdbcore.runs.watch import RunWatch as RunWatch
    from fdbcore.session.conformance import vad_faults as vad_faults
    from fdbcore.session.turns import detect_turns as detect_turns
    from fdbcore.session.windows import WindowVad as WindowVad
    from fdbcore.suites.dialogue_acts.scoring.alignment import ActAlignment as ActAlignment
    from fdbcore.suites.dialogue_acts.scoring.alignment import align_acts as align_acts
    from fdbcore.suites.dialogue_acts.scoring.alignment import align_acts_batch as align_acts_batch
    from fdbcore.types import TurnEvent as TurnEvent
    from fdbcore.types import TurnSettings as TurnSettings

_NAMES = {
    "_ext.pacer": "Pacer",
    "_ext.pcm": "PlayoutQueue",
    "_ext.resample": "Resampler",
    "_ext.turns": "TurnDetector",
    "analysis.comparison": "compare",
    "analysis.corpus": "Call Run",
    "analysis.gates": "gate",
    "analysis.rows": "call_rows event_rows",
    "analysis.statements": "score",
    "analysis.trends": "trend",
    "clock": "MonotonicClock VirtualClock",
    "errors": "FdbError",
    "protocols": "Clock Endpoint Model Speaker Transcriber Vad",
    "recording.reader": "Recording",
    "runs.live": "run",
    "runs.replay": "replay",
    "runs.replay_many": "replay_all",
    "runs.requests": "RunRequest ScoreRequest",
    "runs.suite_scores": "score_suite",
    "runs.watch": "RunWatch",
    "session.conformance": "vad_faults",
    "session.turns": "detect_turns",
    "session.windows": "WindowVad",
    "suites.dialogue_acts.scoring.alignment": "ActAlignment align_acts align_acts_batch",
    "types": "TurnEvent TurnSettings",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next access finds it there and does not come here
    return value
