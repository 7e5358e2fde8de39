"""Cues: when an examiner may speak and must yield, by the early edges of the other side and its own words."""

from random import Random
from typing import Final, Literal

from fdbcore.endpoints.examiner.edges import EarlyEdges, Edge, FinalCheck, Pauses
from fdbcore.endpoints.examiner.pacing import Pacing
from fdbcore.types import TICK_MS

Cue = Literal["opening", "answered", "pause", "no answer", "breaks in", "system speaks", "goal met", "goes on", "limit"]

_SETTLED_TICKS: Final = 40
"""Onsets of the two sides closer than this are at the same time, and interrupt nobody."""
_LEAST_BACKCHANNEL_MS: Final = 800
_BREATH_MS: Final = 500
"""Longest pause in speech over the examiner: a side with longer ones has not spoken over it all the time."""


def _ticks(ms: float) -> int:
    return round(ms / TICK_MS)


class Cues:
    """The same for every actor: it says when, and never what. other: the early edges of the other side."""

    def __init__(self, pacing: Pacing, random: Random) -> None:
        self.other = EarlyEdges()
        self.other_since = 0  # when it began to speak; a breath does not begin it anew
        self._other_end = -_BREATH_MS  # when it ended before
        self.check = FinalCheck()
        self.has_answered = False  # the other side has spoken since the last own words
        self._answered_since = 0  # when it then began; pauses of it do not matter
        self.spoke_first = False
        self._pacing, self._random = pacing, random
        self._own_start: int | None = None  # of the own words that are being said
        self._own_end: int | None = None  # of the last own words
        self._varies_ticks = self._drawn()
        self._pauses = Pauses(pacing.answers_ms)
        self._last_backchannel = 0
        self._until_backchannel = self._backchannel_drawn()
        self._last_look = 0

    def sense(self, tick: int, active: bool) -> Edge | None:
        """Take whether the other side seems to speak in `tick`; return the early edge that becomes known now."""
        silent_since = self.other.since_tick
        edge = self.other.push(tick, active)
        if edge == "end":
            self._other_end = self.other.since_tick
        elif edge == "start" and (self.other.since_tick - self._other_end) * TICK_MS > _BREATH_MS:
            self.other_since = self.other.since_tick
        if edge == "start" and self.has_answered and self._pacing.learns:
            self._pauses.learn(silent_since, self.other.since_tick, self._own_start)
        if self.other.speaks and self._own_start is None:
            if not self.has_answered:
                self.has_answered, self._answered_since = True, self.other.since_tick
            self.spoke_first |= self._own_end is None
        return edge

    def begin(self, tick: int) -> None:
        """The own words begin; backchannels are none."""
        self._own_start = tick

    def end(self, tick: int) -> None:
        """The own words have ended."""
        self._own_start, self._own_end = None, tick
        self.has_answered, self._answered_since = self.other.speaks, tick
        self._varies_ticks = self._drawn()

    def gave_backchannel(self, tick: int) -> None:
        """A backchannel begins."""
        self._last_backchannel = tick
        self._until_backchannel = self._backchannel_drawn()

    def now(self, tick: int, is_put_once: bool) -> Cue | None:
        """The cue of this tick, while nothing is said. is_put_once: see `Agenda`."""
        other, pacing = self.other, self._pacing
        has_begun = tick - other.since_tick >= _SETTLED_TICKS
        if other.speaks and other.active and has_begun and self._own_end is not None:
            alone_since = self._answered_since
            breaks_in_ms = pacing.breaks_in_ms if is_put_once else pacing.breaks_in_again_ms
            if breaks_in_ms is not None and tick - alone_since >= _ticks(breaks_in_ms):
                return "breaks in"
            since_last = tick - max(alone_since, self._last_backchannel)
            if pacing.backchannels_ms is not None and since_last >= self._until_backchannel:
                return "system speaks"
        if other.speaks:
            return None
        if self._own_end is None:
            return "opening" if self._may_open(tick) else None
        if self.has_answered:
            return self._after_silence(tick - other.since_tick)
        return "no answer" if tick - self._own_end >= _ticks(pacing.patience_ms) else None

    @property
    def over_ticks(self) -> int:
        """After such a silence of the other side, what it said is over."""
        return self._pauses.over_ticks + self._varies_ticks

    def _after_silence(self, silent_ticks: int) -> Cue | None:
        met_ms = self._pacing.met_ms
        if silent_ticks >= self.over_ticks:
            return "answered"
        return "pause" if met_ms is not None and silent_ticks >= _ticks(met_ms) + self._varies_ticks else None

    def _may_open(self, tick: int) -> bool:
        if self.spoke_first:
            return tick - self.other.since_tick >= self.over_ticks and tick >= _ticks(self._pacing.opens_ms)
        waits_ms = self._pacing.patience_ms if self._pacing.opens == "system" else self._pacing.opens_ms
        return tick >= _ticks(waits_ms)

    @property
    def has_the_floor(self) -> bool:
        """True if the own words were the last ones: to go on needs no cue."""
        return self._own_end is not None and not self.has_answered and not self.other.speaks

    def looks(self, tick: int) -> bool:
        """True if the goal is to be looked at now, while the other side speaks."""
        if self._pacing.looks_ms is None or not self.other.speaks or not self.has_answered:
            return False
        if tick - max(self._answered_since, self._last_look) < _ticks(self._pacing.looks_ms):
            return False
        self._last_look = tick
        return True

    def must_yield(self, tick: int) -> bool:
        """True if the other side has now spoken over the own words for long enough."""
        if self._own_start is None or self._pacing.yields_ms is None or not self.other.speaks:
            return False
        over_ticks = tick - max(self.other_since, self._own_start)
        return over_ticks >= _ticks(self._pacing.yields_ms)

    def _backchannel_drawn(self) -> int:
        """At no time rather than at another, as chance has it with which its stops are compared."""
        at_random_ms = (self._pacing.backchannels_ms or 0) - _LEAST_BACKCHANNEL_MS
        return _ticks(_LEAST_BACKCHANNEL_MS + self._random.expovariate(1 / max(at_random_ms, 1)))

    def _drawn(self) -> int:
        return _ticks(self._random.uniform(0, self._pacing.varies_ms))
