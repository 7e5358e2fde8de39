"""Turn events of a whole dialogue, written naively: every quantity is looked up in the complete lists of both sides.

It follows the table of the floor in fdbcore/session/turns.py line by line and knows nothing of streaming, so that the
compiled detector has something independent to agree with.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fdbcore.types import Side, TurnEvent, TurnSettings, other_side

Span = tuple[int, int]


def ipus(active: Sequence[bool], settings: TurnSettings) -> list[Span]:
    """Inter-pausal units: from the first long enough run of activity up to the first long enough silence."""
    speech, silence = settings.ticks("min_speech_ms"), settings.ticks("min_silence_ms")
    text = "".join("#" if tick else "." for tick in active)
    return [match.span() for match in re.finditer(rf"#{{{speech},}}(?:(?!\.{{{silence}}}).)*", text)]


@dataclass
class Candidate:
    """The pending IPU of the side that does not hold the floor."""

    start: int
    from_overlap: bool


def naive_turns(
    active_a: Sequence[bool], active_b: Sequence[bool], settings: TurnSettings | None = None, vad_delay: int = 0
) -> list[TurnEvent]:
    """All events of the dialogue, by the time at which they are known."""
    return NaiveFloor(active_a, active_b, settings or TurnSettings(), vad_delay).run()


class NaiveFloor:
    """One dialogue, held as two complete lists of IPUs."""

    def __init__(self, a: Sequence[bool], b: Sequence[bool], settings: TurnSettings, vad_delay: int) -> None:
        names = ("short_ms", "resume_ms", "yield_hold_ms", "simultaneous_ms", "terminal_ms", "response_window_ms")
        self.K, self.W, self.Z, self.simultaneous, self.terminal, self.R = map(settings.ticks, names)
        self.min_speech, self.min_silence = settings.ticks("min_speech_ms"), settings.ticks("min_silence_ms")
        self.n, self.vad_delay = len(a), vad_delay
        tail = [False] * (self.min_silence + self.W)
        self.ipus: dict[Side, list[Span]] = {"A": ipus([*a, *tail], settings), "B": ipus([*b, *tail], settings)}
        self.events: list[TurnEvent] = []
        self.H: Side = "A"
        self.turn_start: int | None = None
        self.C: Candidate | None = None
        self.no_response_of: set[int] = set()

    # What the lists say at tick t.
    def speaks(self, side: Side, t: int) -> bool:
        return any(start <= t < end for start, end in self.ipus[side])

    def starts(self, side: Side, t: int) -> bool:
        return any(start == t for start, _ in self.ipus[side])

    def last_end(self, side: Side, t: int) -> int:
        return max((end for _, end in self.ipus[side] if end <= t), default=-1)

    def ipu_at(self, side: Side, t: int) -> Span:
        return next(span for span in self.ipus[side] if span[0] <= t < span[1])

    def emit(self, kind: Any, side: Side, start: int, end: int | None, known_at: int, **fields: Any) -> None:
        """`known_at` is a tick of the activity; an event known only in the closing silence is censored."""
        censored = known_at >= self.n
        self.events.append(TurnEvent(kind, side, start, end, known_at + self.vad_delay, censored, **fields))

    def emit_floor(self, kind: Any, side: Side, start: int, end: int | None, t: int, **fields: Any) -> None:
        self.emit(kind, side, start, end, t + self.min_silence - 1, **fields)

    def run(self) -> list[TurnEvent]:
        sides: tuple[Side, Side] = ("A", "B")
        for side in sides:
            for start, end in self.ipus[side]:
                self.emit("speech_start", side, start, None, start + self.min_speech - 1)
                self.emit("speech_end", side, start, end, end + self.min_silence - 1)
        last_t = self.n + self.W
        for t in range(last_t + 1):
            self.step(t)
        if self.turn_start is not None:
            self.emit_floor("turn", self.H, self.turn_start, self.last_end(self.H, last_t), last_t)
        return self.events

    def step(self, t: int) -> None:
        H, O = self.H, other_side(self.H)  # noqa: E741
        if self.turn_start is None:  # 1
            if self.starts("A", t) or self.starts("B", t):
                self.H = "A" if self.starts("A", t) else "B"
                self.turn_start = t
                if self.starts("A", t) and self.starts("B", t):
                    self.C = Candidate(t, from_overlap=True)
            return
        if self.C is None:
            if self.starts(H, t):  # 2
                self.pause(H, self.last_end(H, t), t, t)
            if self.starts(O, t):  # 3
                self.C = Candidate(t, from_overlap=self.speaks(H, t))
            elif not self.speaks(H, t) and not self.speaks(O, t):  # 4
                since = max(self.last_end(H, t), self.last_end(O, t))
                if t + 1 - since >= self.R and since not in self.no_response_of:
                    self.no_response_of.add(since)
                    self.emit_floor("no_response", O, since, since + self.R, t)
            return
        s = self.C.start
        c_end = self.ipu_at(O, s)[1]
        e = self.last_end(H, t)
        if c_end <= t and c_end - s <= self.K:
            if self.speaks(H, t) and self.starts(O, t):  # 5
                self.keep(t)
                self.C = Candidate(t, from_overlap=True)
            elif self.speaks(H, t) and (self.ipu_at(H, t)[0] >= c_end or t >= s + self.K):  # 6
                self.keep(t)
            elif not self.speaks(H, t) and (self.starts(O, t) or t + 1 - e >= self.W):  # 7
                self.transfer(t)
        elif c_end <= t:
            if self.speaks(H, t) or e == c_end:  # 8
                self.keep(t)
            else:  # 9
                self.transfer(t)
        elif t + 1 - s > self.K:
            if not self.C.from_overlap:  # 10
                self.transfer(t)
            elif not self.speaks(H, t) and t + 1 - e >= self.Z:  # 11
                self.transfer(t)

    def keep(self, t: int) -> None:
        assert self.C is not None
        H, s = self.H, self.C.start
        O = other_side(H)  # noqa: E741
        for start, end in self.silences(H, t):
            if end > s:
                self.pause(H, start, end, t)
        for start, end in self.stretches(s, t):
            self.emit_floor("overlap_within", O, start, end, t)
        self.intrusion(O, s, t, "kept")
        self.C = None

    def transfer(self, t: int) -> None:
        assert self.C is not None
        assert self.turn_start is not None
        H, s = self.H, self.C.start
        O = other_side(H)  # noqa: E741
        running: int | None = None
        if self.C.from_overlap:
            e = self.last_end(H, t)
            self.emit_floor("overlap_between", O, s, e, t, fto_ticks=s - e, stretches=tuple(self.stretches(s, t)))
            self.intrusion(O, s, t, "taken")
        else:
            e = self.last_end(H, s)
            self.emit_floor("gap", O, e, s, t, fto_ticks=s - e)
            for start, end in self.ipus[H]:
                if s < start <= t:
                    if end > t:
                        running = start
                        continue
                    for stretch in self.stretches(start, end):
                        self.emit_floor("overlap_within", H, *stretch, t)
                    self.intrusion(H, start, t, "kept")
        self.emit_floor("turn", H, self.turn_start, e, t)
        if self.starts(O, t):
            self.pause(O, self.ipu_at(O, s)[1], t, t)
        self.H, self.turn_start = O, s
        self.C = None if running is None else Candidate(running, from_overlap=True)

    def silences(self, side: Side, t: int) -> list[Span]:
        """Silences of a side that have ended by t."""
        spans = self.ipus[side]
        return [(end, start) for (_, end), (start, _) in pairwise(spans) if start <= t]

    def stretches(self, start: int, end: int) -> list[Span]:
        """Spans within [start, end) in which both sides are in an IPU."""
        found = []
        for a_start, a_end in self.ipus["A"]:
            for b_start, b_end in self.ipus["B"]:
                low, high = max(a_start, b_start, start), min(a_end, b_end, end)
                if low < high:
                    found.append((low, high))
        return found

    def pause(self, side: Side, start: int, end: int, t: int) -> None:
        spoke = any(max(s, start) < min(e, end) for s, e in self.ipus[other_side(side)])
        self.emit_floor("pause", side, start, end, t, other_spoke=spoke)

    def intrusion(self, side: Side, s: int, t: int, outcome: Any) -> None:
        """The record of the IPU of `side` that began at s, decided at t; a silence then has to prove long enough."""
        other = other_side(side)
        own_end = self.ipu_at(side, s)[1]
        fields: dict[str, Any] = {"outcome": outcome, "onset": "silence", "simultaneous": False, "terminal": False}
        known, stop = t, None
        if self.speaks(other, s):
            began, first_end = self.ipu_at(other, s)
            fields |= {
                "onset": "overlap",
                "simultaneous": s - began <= self.simultaneous,
                "terminal": first_end <= t and first_end - s <= self.terminal,
            }
            for end in (end for _, end in self.ipus[other] if s < end <= t):
                restart = min((start for start, _ in self.ipus[other] if start >= end), default=self.n + self.W + 1)
                if restart - end >= self.Z:
                    known, stop = max(t, end + self.Z - 1), end - s
                    break
                known = max(t, restart)
        end_then = own_end if own_end <= known else None
        if known > self.n + self.W:  # the recording ends first
            known, end_then, stop = self.n + self.W, own_end, None
        self.emit_floor("intrusion", side, s, end_then, known, stop_ticks=stop, **fields)
