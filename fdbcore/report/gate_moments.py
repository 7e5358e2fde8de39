"""What to listen to first when a gate fails: the moments that made its measure what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from fdbcore.corpus import Call
from fdbcore.held import settings_of
from fdbcore.measures.moments import MomentKind, limit_ticks, worst_moments
from fdbcore.report.survey import headline
from fdbcore.report.words import clock_text
from fdbcore.statements import Group
from fdbcore.types import Side, ticks_to_s

WORST: Final = 5
_Kinds: TypeAlias = tuple[Sequence[MomentKind], Side | None]

_SLOW: Final[_Kinds] = (["slow_answer"], "B")
_NONE: Final[_Kinds] = (["no_answer"], "B")
_TALK_OVER_A: Final[_Kinds] = (["talk_over"], "A")
_TALK_OVER: Final[_Kinds] = (["talk_over"], None)
_FALSE_CUT_OFF: Final[_Kinds] = (["false_cut_off"], "B")
KINDS: Final[Mapping[str, _Kinds]] = {
    "response_latency_ms": _SLOW,
    "response_latency_minus_harness_ms": _SLOW,
    "response_long_ipu_latency_ms": _SLOW,
    "gap_per_min": _SLOW,
    "gap_s_per_min": _SLOW,
    "answered_per_turn": _NONE,
    "no_response_per_turn": _NONE,
    "a_unanswered_wait_s": _NONE,
    "lapse_s": (["lapse", "no_answer", "slow_answer"], None),
    "premature_per_turn": (["cut_off"], "B"),
    "cut_off_per_labelled_a_pause": _FALSE_CUT_OFF,
    "long_cut_off_per_labelled_a_pause": _FALSE_CUT_OFF,
    "b_stopped_within_1s_per_long_a_onset": _TALK_OVER_A,
    "b_stopped_within_2s_per_long_a_onset": _TALK_OVER_A,
    "b_stop_latency_ms_per_long_a_onset": _TALK_OVER_A,
    "b_onset_in_overlap_per_a_speech_min": (["talk_over"], "B"),
    "overlap_per_min": _TALK_OVER,
    "overlap_s_per_min": _TALK_OVER,
    "overlap_share_of_speech": _TALK_OVER,
}
"""The kinds of moments that raise, or lower, a measure, and whose; a silence of both may be of several kinds."""


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


def _worst_moments(group: Group, kinds: Sequence[MomentKind], side: Side | None) -> Iterator[tuple[float, Worst]]:
    """The longest of each call; of a silence that several kinds may be, those that last as long as the first kind."""
    for call in group.calls:
        recording = call.recording
        least_ticks = limit_ticks(kinds[0], settings_of(recording)) if len(kinds) > 1 else 0
        fits = [
            (each.end_tick - each.start_tick, each)
            for each in worst_moments(recording)
            if each.kind in kinds and side in (None, each.side)
        ]
        if fits and (longest := max(fits, key=lambda pair: pair[0]))[0] > least_ticks:
            yield longest[0], Worst(call, ticks_to_s(longest[1].start_tick), longest[1].text)


def _worst_calls(group: Group, measure: str, at_most: bool) -> Iterator[tuple[float, Worst]]:
    for call, quantities in zip(group.calls, group.quantities, strict=True):
        value, n = headline(quantities[measure]) if measure in quantities else (None, 0)
        if value is not None:
            yield value if at_most else -value, Worst(call, 0.0, f"{value:.3g} (n = {n:,})")


def calls_of(found: Sequence[Sequence[Worst]]) -> list[Call]:
    """The calls whose pages are linked, each once."""
    return list({each.call.name: each.call for of in found for each in of}.values())
