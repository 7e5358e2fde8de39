"""The waits of B as they would have been, had it waited longer or shorter: who would have been cut in on.

Two times race in each silence of A: until A goes on, and until B begins. Whichever comes first hides the other, so the
distributions of both are product-limit estimates. Another setting moves all times of B by the same step; what an answer
costs beyond the wait stays as it was measured. Of each silence, what is known of it stays known:

- A went on, B was silent: B would have begun later than that. A shorter wait begins before A with the probability that
  the other waits give, under this condition; a longer one never does.
- B cut in on A: it still does if its moved time comes before A's.
- B began, and A was not heard to go on: it was done, but for the share of longer pauses that longer waits show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.measures.waits import CallWaits
from fdbcore.stats.bootstrap import FEW_CLUSTERS, Floats
from fdbcore.stats.survival import Survival, product_limit

LATE_Q: Final = 0.95
"""Nearly all waits of B are over by this quantile of them: a longer silence without B is one that its ear missed."""
EARLY_Q: Final = 0.05
MARGIN_Q: Final = 0.9
KEEPS_SHARE: Final = 0.5
"""B does not take back an answer if it gave so many of those that A's going on could have stopped."""
LEAST_AT_RISK: Final = 0.33
"""The least number of waits, as a share of the answered ones, from which longer pauses are told."""
_HALF_TICK: Final = 0.5


@dataclass(frozen=True)
class WaitsForB:
    """The waits of several calls as arrays, each (n,), times in ticks. calls: how many; turns: (calls,), of A.

    lapse_ticks: a longer silence of A is no pause.
    """

    calls: int
    turns: npt.NDArray[np.int64]
    call: npt.NDArray[np.int64]
    turn: npt.NDArray[np.int64]
    start_tick: npt.NDArray[np.int64]
    went_on: Floats
    seen: Floats
    started: Floats
    is_unheard: npt.NDArray[np.bool_]
    has_sound: npt.NDArray[np.bool_]
    lapse_ticks: int

    @classmethod
    def of(cls, found: Sequence[CallWaits], lapse_ticks: int) -> WaitsForB:
        """The waits of these calls."""
        turns = np.array([each.turns for each in found], np.int64)
        first = np.cumsum(turns) - turns
        rows = [(k, first[k] + wait.turn, *wait[1:]) for k, each in enumerate(found) for wait in each.waits]
        columns = [np.array(column) for column in zip(*rows, strict=True)] if rows else [np.zeros(0)] * 8
        call, turn, start = (column.astype(np.int64) for column in columns[:3])
        went_on, seen, started = (column.astype(np.float64) for column in columns[3:6])
        is_unheard, has_sound = (column.astype(np.bool_) for column in columns[6:])
        return cls(len(found), turns, call, turn, start, went_on, seen, started, is_unheard, has_sound, lapse_ticks)

    @cached_property
    def is_pause(self) -> npt.NDArray[np.bool_]:
        """True where A went on."""
        return np.isfinite(self.went_on)

    @cached_property
    def has_begun(self) -> npt.NDArray[np.bool_]:
        """True where B began."""
        return np.isfinite(self.started)

    @cached_property
    def answers(self) -> npt.NDArray[np.bool_]:
        """True where A was done, as far as is known, and B began."""
        return self.has_begun & ~self.is_pause

    @cached_property
    def is_late(self) -> npt.NDArray[np.bool_]:
        """True where B began although A already spoke again."""
        return self.has_begun & (self.started >= self.went_on)

    @cached_property
    def margin_ticks(self) -> float:
        """The time before B begins from which on A's going on no longer stops it; 0 if it takes answers back."""
        if not self.is_late.any():
            return 0.0
        margin = float(np.quantile(self.started[self.is_late] - self.went_on[self.is_late], MARGIN_Q))
        earliest = float(np.quantile(self.started[self.has_begun], EARLY_Q))
        could = self.is_pause & (self.went_on >= earliest - margin) & (self.went_on < earliest)
        return margin if self.is_late.sum() >= KEEPS_SHARE * could.sum() else 0.0

    @cached_property
    def decided(self) -> Floats:
        """When B had decided to begin, so that A could no longer stop it, (n,); infinite where it did not begin."""
        found: Floats = np.where(self.is_late, np.minimum(self.started - self.margin_ticks, self.went_on - 1), np.inf)
        return np.where(self.is_late, found, self.started - self.margin_ticks)

    @cached_property
    def of_b(self) -> Survival:
        """The times after which B decides to begin, where A does not go on before."""
        heard = ~self.is_unheard
        times = np.where(self.has_begun, self.decided, self.went_on)
        return product_limit(times[heard], self.has_begun[heard])

    @cached_property
    def of_a(self) -> Survival:
        """The times after which A goes on by itself, where B does not begin before; as long as many waits show it."""
        heard, least = ~self.is_unheard, int(LEAST_AT_RISK * self.answers.sum())
        times = np.where(self.is_pause, self.went_on, self.seen)
        return product_limit(times[heard], self.is_pause[heard], max(least, 1))

    def cut_in(self, later_ticks: float) -> Floats:
        """The probability of each silence, (n,), that B begins in it before A goes on, if it waits so much longer."""
        found = self.is_unheard.astype(np.float64)
        known = self.is_pause & self.has_begun
        found[known] = (self.decided + later_ticks < self.went_on)[known]
        silent = self.is_pause & ~self.has_begun
        if later_ticks < 0:
            until = self.went_on[silent] - _HALF_TICK
            found[silent] = _lost(self.of_b, until, until - later_ticks)
        ended, seen = self.answers & (self.seen < self.lapse_ticks), self.seen
        since = np.maximum(seen, self.decided + later_ticks)[ended]
        found[ended] = _lost(self.of_a, seen[ended], np.full(since.shape, self.lapse_ticks), since)
        return found

    def premature(self, later_ticks: float) -> Floats:
        """The probability of each of A's turns, (all turns,), that B begins in it before A is done."""
        none = np.ones(int(self.turns.sum()))
        np.multiply.at(none, self.turn, 1 - self.cut_in(later_ticks))
        return 1 - none

    def left_waiting(self, later_ticks: float) -> npt.NDArray[np.bool_]:
        """True for each silence, (n,), after which A was done, and B did not begin within lapse_ms."""
        return ~self.is_pause & ~self.is_unheard & (self.started + later_ticks > self.lapse_ticks)

    def by_call(self, of_turns: Floats) -> Floats:
        """The sums of values of all turns by call, (calls,)."""
        sums: Floats = np.bincount(np.repeat(np.arange(self.calls), self.turns), of_turns, self.calls).astype(
            np.float64
        )
        return sums

    def calls_at_risk(self, later_ticks: float) -> int:
        """The number of calls in which it is seen whether A goes on after B would begin."""
        time = np.median(self.decided[self.has_begun]) + later_ticks if self.has_begun.any() else np.inf
        return len(np.unique(self.call[np.where(self.is_pause, self.went_on, self.seen) >= time]))

    @cached_property
    def longest_pause_ticks(self) -> int:
        """The longest pause that many waits would show; longer ones are taken for ends of turns."""
        return int(np.quantile(self.seen[self.answers], 1 - LEAST_AT_RISK)) if self.answers.any() else self.lapse_ticks

    @cached_property
    def unexplained(self) -> float:
        """The share of B's decisions that this detector's silences do not explain: B did not begin although a silence
        outlasted nearly all of its waits, it began within A's speech, or it began late in a silence with a sound that
        only its own ear may have taken for speech.
        """
        if not self.has_begun.any():
            return 1.0
        quiet = self.has_begun & ~self.has_sound
        is_known = quiet.sum() >= FEW_CLUSTERS
        late = np.quantile(self.started[quiet if is_known else self.has_begun], LATE_Q)
        silent = ~self.has_begun & ~self.is_unheard
        missed = silent & (np.where(self.is_pause, self.went_on, self.seen) > late)
        sounds = self.has_begun & self.has_sound & ((self.started > late) | np.bool_(not is_known))
        amiss = int(missed.sum() + self.is_unheard.sum())
        return (amiss + int(sounds.sum())) / (amiss + int(self.has_begun.sum()))


def _lost(survival: Survival, known: Floats, until: Floats, since: Floats | None = None) -> Floats:
    """The share of what survived until `known` that has its event from `since` (by default then) to `until`, (n,)."""
    left, first = survival(known), survival(known if since is None else since)
    return np.divide(first - survival(until), left, out=np.zeros_like(left), where=left > 0)
