"""Sayings that a user simulator meant, where it tells: with the end that its words would have had."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fdbcore.types import TICK_MS, Span
from fdbcore.types.examiner_events import SAID, SAYS

NEAR_TICKS: Final = 25
"""A detector ends a turn at most so long after its last word."""


class UserSaying(NamedTuple):
    """Words of A, in ticks: where they begin and end, and where they would have ended, had A not broken them off."""

    start_tick: int
    end_tick: int
    planned_end_tick: int

    @property
    def is_broken_off(self) -> bool:
        """True if A did not say all of it."""
        return self.end_tick < self.planned_end_tick

    @property
    def is_heard(self) -> bool:
        """True if half of it or more was heard."""
        return 2 * self.end_tick >= self.start_tick + self.planned_end_tick

    def is_at(self, end_of_a_tick: int) -> bool:
        """True if A's turn ended here because of it."""
        return self.start_tick < end_of_a_tick <= self.end_tick + NEAR_TICKS


def given_up_of(events: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """A tick in each silence that an examiner at side A took for no answer: it may still hold the floor after it."""
    end_tick = None
    for event in events:
        if event["side"] == "A" and event["kind"] == SAID:
            end_tick = event["tick"]
        elif event["side"] == "A" and event["kind"] == SAYS and event["cue"] == "no answer" and end_tick is not None:
            yield (end_tick + event["tick"]) // 2


def backchannels_of(events: Sequence[Mapping[str, Any]]) -> Iterator[Span]:
    """The spans in which an examiner at side A gave a backchannel, from its first to its last word."""
    return ((says["tick"], said["tick"]) for says, said in _said(events, "backchannel"))


def sayings_of(events: Sequence[Mapping[str, Any]]) -> Iterator[UserSaying]:
    """Each time that an examiner at side A said something for a goal."""
    for says, said in _said(events, "goal"):
        yield UserSaying(says["tick"], said["tick"], says["tick"] + said["of_ms"] // TICK_MS)


def _said(events: Sequence[Mapping[str, Any]], what: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The events with which an examiner at side A began and ended each saying of a kind."""
    says = None
    for event in events:
        if event["side"] == "A" and event["kind"] == SAYS:
            says = event
        elif event["side"] == "A" and event["kind"] == SAID and says is not None and says["what"] == what:
            yield says, event
