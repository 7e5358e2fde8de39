"""The findings in the calls of a run, each with its calls: which side never spoke, or fell silent."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import Survey
from fdbcore.measures.findings import ENDS_UNANSWERED, Finding
from fdbcore.report.format import counted
from fdbcore.types import ticks_to_s

NAMED: Final = 200
"""A finding names at most this many calls; the list of calls has all."""


def listed(run: Survey, page: Callable[[Call], str | None]) -> list[dict[str, Any]]:
    """Each finding with its calls: name, page, time (s) and text. page: gives the address of a call's page, or None."""
    return [
        {
            "what": with_calls(name, [finding for _, finding in calls], len(run.scored)),
            "calls": [(call.name, page(call), finding["start_s"], finding["text"]) for call, finding in calls[:NAMED]],
            "more": len(calls) - NAMED,
        }
        for name, calls in run.amiss().items()
    ]


def with_calls(name: str, found: Sequence[Finding], calls: int) -> str:
    """A finding of this name and how many of the scored calls have it; of calls that end unanswered, how they end."""
    if found[0]["id"] == ENDS_UNANSWERED:
        return ends_unanswered([ticks_to_s(each["end_tick"] - each["start_tick"]) for each in found], calls)
    return f"{name}: {counted(len(found), 'call')}"


def ends_unanswered(silences_s: Sequence[float], calls: int) -> str:
    """ "3 of 6 calls end with A unanswered; 12 s of silence recorded after it (median)". silences_s: one per call."""
    n = len(silences_s)
    text = f"{n:,} of {counted(calls, 'call')} {'ends' if n == 1 else 'end'} with A unanswered"
    return f"{text}; {median(silences_s):.0f} s of silence recorded after it{' (median)' if n > 1 else ''}"
