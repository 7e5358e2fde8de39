"""When a call with a recorded user is over, before its recording ends."""

from __future__ import annotations

from collections.abc import Sequence

from fdbcore.types import TICKS_PER_S, CallEnd, Side, TurnEvent


class CallEnding:
    """Follows the turn events of a call, and says whether it is over by a rule.

    The user's end is that of its last speech so far: a pause within the request is shorter than `CallEnd.quiet_s`.
    """

    def __init__(self, rule: CallEnd) -> None:
        self._quiet_ticks, self._most_ticks = round(rule.quiet_s * TICKS_PER_S), round(rule.most_s * TICKS_PER_S)
        self._read = 0  # how many turn events were read
        self._speaking: set[Side] = set()
        self._end: dict[Side, int | None] = {"A": None, "B": None}

    def is_over(self, tick: int, events: Sequence[TurnEvent], busy_tick: int) -> bool:
        """Whether the call ended before `tick`. events: all so far. busy_tick: the last with a call under way; or -1.

        Nobody knows of speech before the turn detector has found it, which takes as long as its settings say.
        """
        for event in events[self._read :]:
            if event.kind == "speech_start":
                self._speaking.add(event.side)
            elif event.kind == "speech_end":
                self._speaking.discard(event.side)
                self._end[event.side] = event.end_tick
        self._read = len(events)
        user_end, answer_end = self._end["A"], self._end["B"]
        if user_end is None or "A" in self._speaking:
            return False
        if tick - user_end >= self._most_ticks:
            return True
        if "B" in self._speaking or answer_end is None or answer_end <= user_end:
            return False
        return tick - max(answer_end, busy_tick + 1) >= self._quiet_ticks
