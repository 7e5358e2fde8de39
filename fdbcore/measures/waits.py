"""The waits of B after A falls silent: how long A was silent, and when B began. `analysis.tuning` shifts them.

A falls silent, and two things may happen first: A goes on by itself (it was a **pause**), or B begins. Each hides when
the other would have come. If B begins first, A's pause is *cut off*: A going on within GOES_ON_TICKS still counts as
its own doing, what comes later may be a reaction to B. A recorded user does not hear B, so its pauses are all known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.reading import Reading
from fdbcore.types import TICKS_PER_S, Span

GOES_ON_TICKS: Final = TICKS_PER_S
"""If A speaks again so soon after B begins, it was not done: it has not yet heard anything to react to."""
NEVER: Final = math.inf
LOUDER: Final = 4  # 12 dB
LEAST_PEAK: Final = 33  # -60 dBFS
LEAST_LOUD_TICKS, EDGE_TICKS = 3, 8  # A's own speech ends slowly, and begins softly
_DEAF: Final = "clip"
"""The kind of a party that plays a recording."""


class WaitForB(NamedTuple):
    """A silence of A in which B could begin. Times are ticks from its start.

    turn: the number of A's turn in the call. went_on: when A went on; NEVER if that is not known, or A was done. seen:
    until when it is known whether A goes on. started: when B began; NEVER if it did not in this silence. It is later
    than `went_on` if B began although A already spoke again. is_unheard: B began within A's speech, without a silence.
    has_sound: something sounds on A's line before the first of these, which the system may have taken for speech.
    """

    turn: int
    start_tick: int
    went_on: float
    seen: float
    started: float
    is_unheard: bool = False
    has_sound: bool = False


class CallWaits(NamedTuple):
    """The waits of a call. turns: of A, that ended. censored: turns whose answer the end of the recording hides."""

    waits: list[WaitForB]
    turns: int
    censored: int


def waits_of(reading: Reading) -> CallWaits:
    """The waits of B in a recording, in order. RecordingError if it cannot be read."""
    is_deaf = reading.parties.get("A", {}).get("kind") == _DEAF
    ends = [] if reading.labels is None else [label.end_tick for label in reading.labels.of("A", "turn_end")]
    found = waits_in(reading.dialogue, is_deaf, ends)
    return found._replace(waits=list(_with_sounds(found.waits, reading)))


def _with_sounds(waits: Sequence[WaitForB], reading: Reading) -> Iterator[WaitForB]:
    """The waits, each with whether something sounds in it, that is far louder than A's line is while A is silent."""
    peaks = reading.peaks[:, 0].astype(np.int64)
    quiet = peaks[~reading.dialogue.speaking["A"][: len(peaks)]]
    is_loud = peaks > max(LOUDER * int(np.median(quiet)) if len(quiet) else 0, LEAST_PEAK)
    for wait in waits:
        first, until = wait.start_tick + EDGE_TICKS, min(wait.went_on, wait.started, wait.seen) - EDGE_TICKS
        heard = is_loud[first : wait.start_tick + max(int(until), 0)]
        yield wait._replace(has_sound=int(heard.sum()) >= LEAST_LOUD_TICKS)


def waits_in(dialogue: Dialogue, is_deaf: bool = False, turn_ends: Sequence[int] = ()) -> CallWaits:
    """The waits of B in a dialogue, in order. is_deaf: A does not hear B. turn_ends: ticks at which labels say so."""
    found, turns, censored = list[WaitForB](), 0, 0
    for span in dialogue.spans:
        walked = _Span(dialogue, span, is_deaf, turn_ends, turns)
        found += walked.waits
        turns, censored = walked.turns, censored + walked.censored
    return CallWaits(found, turns, censored)


class _Span:
    """A kept span of a call, walked through from one of A's IPUs to the next."""

    def __init__(self, dialogue: Dialogue, span: Span, is_deaf: bool, turn_ends: Sequence[int], turns: int) -> None:
        start, self._end = span
        self.waits: list[WaitForB] = []
        self.turns, self.censored = turns, 0
        self._dialogue, self._turn_ends = dialogue, turn_ends
        self._lapse, self._near = dialogue.settings.ticks("lapse_ms"), dialogue.settings.ticks("min_silence_ms")
        self._reach = self._lapse if is_deaf else GOES_ON_TICKS
        within = {side: each[(each[:, 0] >= start) & (each[:, 1] <= self._end)] for side, each in dialogue.ipus.items()}
        self._b, asides = within["B"], {first for first, _ in dialogue.asides("A")}
        is_open, spans = False, within["A"].tolist()
        for (first, last), following in zip(spans, [*(each[0] for each in spans[1:]), NEVER], strict=True):
            if is_open:
                self._begun_late(first, last)
            if is_open or not (first in asides or dialogue.is_backchannel(last)):
                over = self._spoken_at(last)
                is_open = self._silence(last, following - last) if over is None else self._over(first, over, is_open)
        self.turns += is_open

    def _spoken_at(self, tick: int) -> int | None:
        """The start of B's IPU that a tick lies in; None if B is silent there."""
        row = int(np.searchsorted(self._b[:, 0], tick, side="right")) - 1
        return int(self._b[row, 0]) if row >= 0 and self._b[row, 1] > tick else None

    def _begun_late(self, first: int, last: int) -> None:
        """Note in the last wait if B begins soon after A went on with an IPU: it had decided before."""
        row = int(np.searchsorted(self._b[:, 0], first))
        began = int(self._b[row, 0]) if row < len(self._b) else last
        if self.waits[-1].started == NEVER and began < min(last, first + GOES_ON_TICKS):
            self.waits[-1] = self.waits[-1]._replace(started=float(began - self.waits[-1].start_tick))

    def _over(self, first: int, began: int, is_open: bool) -> bool:
        """A's IPU ends while B speaks, and with it A's turn; False. It is no turn if A began while B had the floor."""
        if not is_open and (began <= first or self._spoken_at(first) is not None):
            return False
        own = [wait for wait in self.waits if wait.turn == self.turns]
        if began > first and not any(wait.started < NEVER for wait in own):
            self.waits.append(WaitForB(self.turns, began, NEVER, 0, NEVER, is_unheard=True))
        self.turns += 1
        return False

    def _silence(self, last: int, goes_on: float) -> bool:
        """Both are silent: note the wait. True if A's turn goes on after it. goes_on: ticks until A speaks."""
        row = int(np.searchsorted(self._b[:, 0], last))
        began = float(self._b[row, 0] - last) if row < len(self._b) else NEVER
        is_end = any(abs(tick - last) <= self._near for tick in self._turn_ends)
        paused = next((end - last for start, end in self._dialogue.pauses if start - self._near <= last < end), None)
        known = self._lapse if is_end or paused is not None else min(self._lapse, began + self._reach)
        if paused is not None and began < min(goes_on, paused):  # a label knows that B cut in, whatever A did then
            goes_on = min(goes_on, float(paused))
        if goes_on <= known and not is_end:
            self.waits.append(WaitForB(self.turns, last, goes_on, goes_on, began if began < goes_on else NEVER))
            return True
        in_vain = goes_on < began or math.isinf(began)
        left = self._end - last
        if in_vain and math.isinf(goes_on) and (left <= self._lapse or self._dialogue.line_at(self._end) == "closed"):
            self.censored += 1
            self.waits = [wait for wait in self.waits if wait.turn != self.turns]
            return False
        self.waits.append(WaitForB(self.turns, last, NEVER, known, NEVER if in_vain else began))
        self.turns += 1
        return False
