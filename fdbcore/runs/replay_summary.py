"""The summary of a replayed run, as `summary.json` keeps it and `fdbcore replay --json` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.analysis.score import SUMMARY_SCHEMA
from fdbcore.analysis.survey import Survey
from fdbcore.recording.run import DAMAGED, FAILED, WAITING

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import ReplaySummary


def summary_of(run: Survey) -> ReplaySummary:
    """The summary: all measures pooled, the calls that they cover, and the findings that every reader must know."""
    calls = run.corpus.calls
    read = [call for call in calls if call.status not in (FAILED, WAITING)]
    return {
        "schema": SUMMARY_SCHEMA,
        "recordings": [call.name for call in read],
        "unscored": {call.name: call.unscored for call in read if call.unscored},
        "findings": {name: [call.name for call, _ in calls] for name, calls in run.amiss().items()},
        "warnings": run.warned(),
        "measures": run.measures,
        "lines": run.lines,
        "failed": [call.reason or call.status for call in calls if call.status in (FAILED, DAMAGED)],
    }
