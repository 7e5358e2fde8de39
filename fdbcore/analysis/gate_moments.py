"""The worst moments of a failed gate: those that show its measure to a listener."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.facts import MOMENTS
from fdbcore.analysis.groups import CallGroup
from fdbcore.analysis.survey import headline
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.measure import ShownMoments
from fdbcore.measures.moments import limit_ticks
from fdbcore.recording.files import REPORT
from fdbcore.sources.recorded import settings_of
from fdbcore.types import clock_text, ticks_to_s

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import GateMoment

WORST: Final = 5


@dataclass(frozen=True, slots=True)
class Worst:
    """A moment of a call, or the whole call (start_s is then 0)."""

    call: Call
    start_s: float
    text: str

    @property
    def file(self) -> str:
        """The files of its audio."""
        return " + ".join(self.call.files) or str(self.call.path)

    def to_json(self) -> GateMoment:
        """All of it as JSON values; the page of the call must exist."""
        return {
            "call": self.call.name,
            "file": self.file,
            "start_s": self.start_s,
            "text": self.text,
            "page": f"{self.call.path / REPORT}#t={self.start_s:g}",
        }

    @property
    def at(self) -> str:
        """Its time in the call."""
        return clock_text(self.start_s)


def worst(group: CallGroup, measure: str, at_most: bool) -> list[Worst]:
    """The worst moments for a measure, at most one per call; for a measure that no moment shows, the worst calls.

    at_most: the gate sets an upper limit, so high values are bad. Raises RecordingError if a recording cannot be read.
    """
    shown = MEASURES[measure].shown
    found = _worst_calls(group, measure, at_most) if shown is None else _worst_moments(group, shown)
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])[:WORST]]


def _worst_moments(group: CallGroup, shown: ShownMoments) -> Iterator[tuple[float, Worst]]:
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
            yield longest[0], Worst(call, ticks_to_s(longest[1].start_tick), longest[1].text)


def _worst_calls(group: CallGroup, measure: str, at_most: bool) -> Iterator[tuple[float, Worst]]:
    for call, quantities in zip(group.calls, group.quantities, strict=True):
        value, n = headline(quantities[measure]) if measure in quantities else (None, 0)
        if value is not None:
            yield value if at_most else -value, Worst(call, 0.0, f"{value:.3g} (n = {n:,})")


def calls_of(found: Sequence[Sequence[Worst]]) -> list[Call]:
    """The calls of these moments, each once."""
    return list({each.call.name: each.call for of_gate in found for each in of_gate}.values())
