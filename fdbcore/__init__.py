"""Run, replay and score full-duplex spoken conversations on one media clock.

    recording = fdbcore.replay("call.wav", out="RUN")      # one call: turn events, measures, a report
    run = fdbcore.replay_all("calls/", out="RUN")          # thousands of calls; fdbcore.run holds live ones
    fdbcore.call_rows(run), fdbcore.event_rows(run)        # tables for a data frame
    fdbcore.score(run, by="system")                        # measures with intervals, and which differences hold
    fdbcore.score_suite(run)                               # the measures of the benchmark that it was held for
    fdbcore.compare(run, fdbcore.Run("OLD"))               # changes, for better or worse
    fdbcore.gate(run, ["premature_per_turn <= 0.05"])      # passed, failed, or undecided

The commands call these same functions. To plug in parts of your own, implement `Endpoint`, `Vad` or another of the
protocols. A name is imported only when it is first used, so `import fdbcore` stays cheap.
"""

from fdbcore._version import __version__ as __version__
from fdbcore.doors import door

__getattr__ = door(__name__)
