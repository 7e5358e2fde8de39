"""Spans that a user leaves out of a recording (a menu, hold music, the good-bye), and those kept and measured.

**The rule.** Each kept span is measured as if it were a recording of its own. Nothing outside it answers, interrupts or
ends anything in it, and no content outside it moves a number. So

- an event counts if it is decided within its kept span; otherwise it is censored, as at the end of a recording;
- what runs over an edge is cut there: its length is that within the span;
- speech over the other side that begins within min_silence_ms of the start of a span may go on from before it: such an
  onset is censored, unless the recording begins there;
- A's last turn before an edge counts as no answer if the whole response window lies before the edge: A has not hung up.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from fdbcore.types import TICKS_PER_S, Span, clock_text
from fdbcore.types.units import Tick

GUARD_TICKS: Final = 1
"""Distance from an edge where the detectors begin to hear: resampling to 48 kHz carries 3 ms of sound over it."""
NO_END: Final = 1 << 40
"""The end, in ticks, of a span that lasts until the end of a recording whose length is not known yet."""


class LeftOut(Struct, frozen=True):
    """A span that no measure counts."""

    start_tick: Tick
    end_tick: Tick
    by: Annotated[str, Meta(description="what left it out: --from, --to, a column of the table of calls")]

    @property
    def text(self) -> str:
        """The span in words, such as "0:00 to 0:12 left out by --from"."""
        return f"{self._place} left out by {self.by}"

    @property
    def brief(self) -> str:
        """The same where it is clear what it is about: "0:00 to 0:12 by --from"."""
        return f"{self._place} by {self.by}"

    @property
    def _place(self) -> str:
        end = "the end" if self.end_tick == NO_END else _clock(self.end_tick)
        return f"{_clock(self.start_tick)} to {end}"


def kept_spans(left_out: Iterable[LeftOut], n_ticks: int = NO_END) -> list[Span]:
    """The spans of a recording of `n_ticks` between those left out, which are sorted and do not overlap."""
    kept, reached = [], 0
    for span in left_out:
        if span.start_tick > reached:
            kept.append((reached, span.start_tick))
        reached = span.end_tick
    return [*kept, (reached, n_ticks)] if reached < n_ticks else kept


def heard_spans(kept: Iterable[Span], n_ticks: int = NO_END) -> list[Span]:
    """The kept spans of a recording of `n_ticks`, without the ticks at their edges that hold sound from outside."""
    heard = [(start + GUARD_TICKS if start else 0, end if end == n_ticks else end - GUARD_TICKS) for start, end in kept]
    return [(start, end) for start, end in heard if start < end]


def is_kept(tick: int, kept: Sequence[Span]) -> bool:
    """True if a tick lies in a kept span."""
    return any(start <= tick < end for start, end in kept)


def kept_ticks(kept: Iterable[Sequence[int]], n_ticks: int) -> npt.NDArray[np.bool_]:
    """True for each tick of a recording that lies in a kept span, or in one of any others, bool (n_ticks,)."""
    found = np.zeros(n_ticks, np.bool_)
    for start, end in kept:
        found[start:end] = True
    return found


def _clock(tick: int) -> str:
    """A tick as "1:06", or as "1:06.25" if it is no whole second."""
    seconds, rest = divmod(tick, TICKS_PER_S)
    return clock_text(seconds) + (f".{rest:02}".rstrip("0") if rest else "")
