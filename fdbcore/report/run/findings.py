"""What was found in the calls of a run, each to be unfolded to the calls: who never spoke, who fell silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import Survey
from fdbcore.report.format import counted
from fdbcore.types import ticks_to_s

NAMED: Final = 200
"""How many calls a finding names; the list of calls has all."""


def listed(run: Survey, page: Callable[[Call], str | None]) -> list[dict[str, Any]]:
    """Each finding with its calls: name, page, second and text. page: the address of a call's own page, if made."""
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
