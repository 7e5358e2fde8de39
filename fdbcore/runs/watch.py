"""Watches a run, a replay or a scoring. A watcher of one's own derives from `RunWatch`, `ReplayWatch` or `Watch`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from fdbcore.analysis.survey import Survey
    from fdbcore.analysis.systems import RunSummary
    from fdbcore.measures.reading import Reading
    from fdbcore.recording.meta import Outcome
    from fdbcore.report.call.document import Document
    from fdbcore.runs.folder import RunFolder
    from fdbcore.runs.plan import CallToHold
    from fdbcore.runs.replay_jobs import ReplayResult
    from fdbcore.runs.replay_many import ReplayProgress
    from fdbcore.sources.calls import PlannedCall
    from fdbcore.sources.names import Oddities

GO_ON: Final = 0
FINISH: Final = 1
NOW: Final = 2
"""Wishes for a run: go on, begin no more calls (FINISH), or also end the live ones at once (NOW)."""


class Watch:
    """Watches long work: its methods are called as the work goes on."""

    def warn(self, text: str) -> None:
        """Called with what cannot be used, and is left out or missing: by default a Python warning."""
        warnings.warn(text, stacklevel=3)

    def note(self, text: str) -> None:
        """Called with what a user should know beforehand, such as which audio goes to whom."""

    def step(self, text: str, done: float = 0, total: float | None = None) -> None:
        """Called with the current step, and how much is done of how much where that is known."""


class ReplayWatch(Watch):
    """Watches a replay of recorded calls."""

    def begins(self, calls: Sequence[PlannedCall]) -> None:
        """Called with all calls, also with those that cannot be replayed, before the first begins."""

    def ticks(self, stated_s: float | None, tick: int) -> None:
        """Called after each tick of a call that is replayed by itself. stated_s: its length, as its files state it."""

    def progress(self, progress: ReplayProgress, ended: ReplayResult | None) -> None:
        """Called for each call of several that has ended, and several times a second with None."""

    def written(self, what: str, done: int, calls: int) -> None:
        """Called as "facts", "tables" and "pages" are written, with the number of calls that are done, and of all."""

    def oddities(self, found: Oddities) -> None:
        """Called with what did not fit, such as rows without a file: before a single call, and after several."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of a run. live: each call with its tick, OPENING or CLOSING. left_s: about how many seconds are left."""

    live: Sequence[tuple[CallToHold, int]]
    left_s: float


class RunWatch(Watch):
    """Watches a run. Calls are live in its `with` block, where it may be asked to stop them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def asked(self) -> int:
        """Called several times a second; what the run shall do: GO_ON, FINISH or NOW."""
        return GO_ON

    def begins(self, folder: RunFolder) -> None:
        """Called once the plan is made and the folder is open."""

    def invites(self, cases: Sequence[CallToHold]) -> None:
        """Called with cases that somebody may join by now, before the timing self-test."""

    def progress(self, progress: RunProgress) -> None:
        """Called several times a second."""

    def ended(self, case: CallToHold, outcome: Outcome, again: bool) -> None:
        """Called when a case has ended. again: only this attempt has ended, and the case will be held again."""

    def goes_on(self, first: Sequence[CallToHold]) -> bool:
        """Called once the first cases have ended, where others are left; whether to hold these, too."""
        return True

    def results(self, summary: RunSummary, shown: tuple[Reading, Document] | Survey | None) -> None:
        """Called once the recordings are scored and the pages written, with what these show: `live.write_pages`."""
