"""What to listen to first when a gate fails: the moments that made its measure what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fdbcore.corpus import Call
from fdbcore.measures.moments import MomentKind, worst_moments
from fdbcore.report.survey import headline
from fdbcore.report.words import clock_text
from fdbcore.statements import Group
from fdbcore.types import Side, ticks_to_s

WORST: Final = 5

_SLOW: Final[tuple[MomentKind, Side | None]] = ("slow_answer", "B")
_NONE: Final[tuple[MomentKind, Side | None]] = ("no_answer", "B")
KINDS: Final[Mapping[str, tuple[MomentKind, Side | None]]] = {
    "response_latency_ms": _SLOW,
    "response_latency_minus_harness_ms": _SLOW,
    "response_long_ipu_latency_ms": _SLOW,
    "gap_per_min": _SLOW,
    "gap_s_per_min": _SLOW,
    "answered_per_turn": _NONE,
    "no_response_per_turn": _NONE,
    "a_unanswered_wait_s": _NONE,
    "lapse_s": ("lapse", None),
    "premature_per_turn": ("cut_off", "B"),
    "cut_off_per_labelled_a_pause": ("false_cut_off", "B"),
    "long_cut_off_per_labelled_a_pause": ("false_cut_off", "B"),
    "b_stopped_within_1s_per_long_a_onset": ("talk_over", "A"),
    "b_stopped_within_2s_per_long_a_onset": ("talk_over", "A"),
    "b_stop_latency_ms_per_long_a_onset": ("talk_over", "A"),
    "b_onset_in_overlap_per_a_speech_min": ("talk_over", "B"),
    "overlap_per_min": ("talk_over", None),
    "overlap_s_per_min": ("talk_over", None),
    "overlap_share_of_speech": ("talk_over", None),
}
"""The kind of moment that raises, or lowers, a measure; and whose."""


@dataclass(frozen=True, slots=True)
class Worst:
    """A moment of a call, or the whole call (at 0)."""

    call: Call
    start_s: float
    text: str

    @property
    def file(self) -> str:
        """Where its audio came from."""
        return " + ".join(self.call.files) or str(self.call.path)

    @property
    def at(self) -> str:
        """Its time in the call."""
        return clock_text(self.start_s)


def worst(group: Group, measure: str, at_most: bool) -> list[Worst]:
    """The worst moments for a measure, at most one of each call; the worst calls for one that no moment explains.

    at_most: a high figure is what is wrong. RecordingError if a recording cannot be read.
    """
    kind = KINDS.get(measure)
    found = _worst_calls(group, measure, at_most) if kind is None else _worst_moments(group, *kind)
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])[:WORST]]


def _worst_moments(group: Group, kind: MomentKind, side: Side | None) -> Iterator[tuple[float, Worst]]:
    for call in group.calls:
        of_call = worst_moments(call.recording)
        fits = [each for each in of_call if each.kind == kind and side in (None, each.side)]
        if fits:
            first = fits[0]
            yield first.severity, Worst(call, ticks_to_s(first.start_tick), first.text)


def _worst_calls(group: Group, measure: str, at_most: bool) -> Iterator[tuple[float, Worst]]:
    for call, quantities in zip(group.calls, group.quantities, strict=True):
        value, n = headline(quantities[measure]) if measure in quantities else (None, 0)
        if value is not None:
            yield value if at_most else -value, Worst(call, 0.0, f"{value:.3g} (n = {n:,})")


def calls_of(found: Sequence[Sequence[Worst]]) -> list[Call]:
    """The calls whose pages are linked, each once."""
    return list({each.call.name: each.call for of in found for each in of}.values())
