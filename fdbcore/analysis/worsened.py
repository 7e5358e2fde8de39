"""What to listen to if a measure got worse: the worst moments of the calls that it got worse in."""

from __future__ import annotations

from typing import Final

from fdbcore.analysis.differences import pooled_value
from fdbcore.analysis.gate_moments import Worst, worst
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.matching import CALL_NAME, Matched
from fdbcore.analysis.survey import headline
from fdbcore.errors import FdbError
from fdbcore.measures.catalogue import MEASURES

MOST_CALLS: Final = 100
"""At most this many calls are read: those that are the furthest from what they were."""


def worsened(matched: Matched, measure: str) -> list[Worst]:
    """The worst moments of side A, in calls that are worse than the same call of B, or than all calls of B together.

    measure: one that has a better direction. At most one moment per call; for a measure that no moment shows, the worst
    calls. Calls that cannot be read have none.
    """
    at_most = MEASURES[measure].better == "less"
    before = _values(matched.b, measure) if matched.paired_by == CALL_NAME else {}
    of_all = pooled_value(matched.pools(measure)[1])
    by_how_much = {}
    for name, value in _values(matched.a, measure).items():
        if (was := before.get(name, of_all)) is not None:
            by_how_much[name] = value - was if at_most else was - value
    names = sorted((name for name, by in by_how_much.items() if by > 0), key=lambda name: -by_how_much[name])
    kept = {*names[:MOST_CALLS]}
    numbers = [number for number, call in enumerate(matched.a.calls) if call.name in kept]
    calls = CallGroup("", [matched.a.calls[n] for n in numbers], [matched.a.quantities[n] for n in numbers])
    try:
        return worst(calls, measure, at_most)
    except FdbError:
        return []


def _values(group: CallGroup, measure: str) -> dict[str, float]:
    """The measure of each call that has it, by the name of the call."""
    found = {}
    for call, quantities in zip(group.calls, group.quantities, strict=True):
        if measure in quantities and (value := headline(quantities[measure])[0]) is not None:
            found[call.name] = value
    return found
