"""Moments to listen to where a gate failed or a measure got worse: the worst ones, which show it to a listener."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.differences import pooled_value
from fdbcore.analysis.facts import MOMENTS
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.matching import CALL_NAME, Matched
from fdbcore.analysis.summaries import headline
from fdbcore.errors import FdbError
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.measure import ShownMoments
from fdbcore.measures.moments import limit_ticks
from fdbcore.recording.files import REPORT
from fdbcore.sources.recorded import settings_of
from fdbcore.types import ticks_to_s
from fdbcore.types.units import Seconds


class GateMoment(TypedDict):
    """A place to listen to, such as where a gate failed: a moment of a call, or the whole call."""

    call: str
    file: Annotated[str, Meta(description="its audio, from the folder of the run")]
    start_s: Seconds
    text: str
    page: Annotated[str, Meta(description="the address of that moment on the page of the call")]
    length_s: NotRequired[Annotated[Seconds, Meta(description="where it is compared with the other side")]]
    was: NotRequired[
        Annotated[
            GateMoment | None,
            Meta(description="its like on the other side, of any length; null where that has none"),
        ]
    ]


WORST: Final = 5
MOST_CALLS: Final = 100
"""Of a measure that got worse, at most this many calls are read: those that are the furthest from what they were."""


def moment(call: Call, start_s: float, text: str) -> GateMoment:
    """A moment of a call, or the whole call (start_s is then 0); the page of the call must exist."""
    return {
        "call": call.name,
        "file": " + ".join(call.files) or str(call.path),
        "start_s": start_s,
        "text": text,
        "page": f"{call.path / REPORT}#t={start_s:g}",
    }


def worst(group: CallGroup, measure: str, at_most: bool) -> list[GateMoment]:
    """The worst moments for a measure, at most one per call; for a measure that no moment shows, the worst calls.

    at_most: the gate sets an upper limit, so high values are bad. Raises RecordingError if a recording cannot be read.
    """
    shown = MEASURES[measure].shown
    found = _worst_calls(group, measure, at_most) if shown is None else _worst_moments(group, shown)
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])[:WORST]]


def _worst_moments(group: CallGroup, shown: ShownMoments) -> Iterator[tuple[float, GateMoment]]:
    """The longest moment of each call, with its length in ticks; see `ShownMoments` for several kinds."""
    for call in group.calls:
        reading = call.recording
        least_ticks = limit_ticks(shown.kinds[0], settings_of(reading)) if len(shown.kinds) > 1 else 0
        fits = [
            (each.end_tick - each.start_tick, each)
            for each in call.fact(MOMENTS, reading)
            if each.kind in shown.kinds and shown.side in (None, each.side)
        ]
        if fits and (longest := max(fits, key=lambda pair: pair[0]))[0] > least_ticks:
            yield longest[0], moment(call, ticks_to_s(longest[1].start_tick), longest[1].text)


def _worst_calls(group: CallGroup, measure: str, at_most: bool) -> Iterator[tuple[float, GateMoment]]:
    for call, quantities in zip(group.calls, group.quantities, strict=True):
        value, n = headline(quantities[measure]) if measure in quantities else (None, 0)
        if value is not None:
            yield value if at_most else -value, moment(call, 0.0, f"{value:.3g} (n = {n:,})")


def worsened(matched: Matched, measure: str) -> list[GateMoment]:
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
    calls = matched.a.only([number for number, call in enumerate(matched.a.calls) if call.name in kept])
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
