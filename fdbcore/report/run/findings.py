"""The findings in the calls of a run, each with its calls: which side never spoke, or fell silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import Survey
from fdbcore.report.format import counted
from fdbcore.types import ticks_to_s

NAMED: Final = 200
"""A finding names at most this many calls; the list of calls has all."""


def listed(run: Survey, page: Callable[[Call], str | None]) -> list[dict[str, Any]]:
    """Each finding with its calls: name, page, time (s) and text. page: gives the address of a call's page, or None."""
    return [
        {
            "what": f"{name}: {counted(len(calls), 'call')}",
            "calls": [
                (call.name, page(call), ticks_to_s(finding.start_tick), finding.text) for call, finding in calls[:NAMED]
            ],
            "more": len(calls) - NAMED,
        }
        for name, calls in run.amiss().items()
    ]
