"""What a terminal shows while calls are live, and what Ctrl-C means meanwhile."""

from __future__ import annotations

import shutil
import signal
import sys
from collections import Counter
from types import FrameType
from typing import Any, Final

import click

from fdbcore.cases import Case
from fdbcore.live import CLOSING, OPENING
from fdbcore.report.words import clock_text
from fdbcore.run_folder import Outcome, RunFolder
from fdbcore.runner import FINISH, GO_ON, NOW, Progress, Watch
from fdbcore.types import ticks_to_s

_ANSWERS: Final = {FINISH: "finishing the live calls; Ctrl-C again ends them now", NOW: "ending the live calls"}


class Display(Watch):
    """A line for each call that is live, on a terminal; elsewhere one for each that has ended.

    Within its `with` block Ctrl-C asks the run to finish its live calls, and the second one to end them. lines: False
    shows only the cases that are not done.
    """

    def __init__(self, folder: RunFolder, lines: bool) -> None:
        self._plan = folder.plan
        self._lines = lines
        self._redraws = lines and sys.stderr.isatty()
        self._drawn = 0
        self._kinds = Counter(o["kind"] for case in folder.plan.cases if (o := folder.outcome(case)) is not None)
        self._interrupts = self._answered = GO_ON

    def __enter__(self) -> Display:
        self._before: Any = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        self._draw([])

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupts = min(self._interrupts + 1, NOW)  # no more: it may come in the middle of a line

    def asked(self) -> int:
        """What Ctrl-C asks for, as `run_cases` wants to know it; says so once."""
        if self._answered < self._interrupts:
            self._answered = self._interrupts
            self._draw([])
            click.echo(_ANSWERS[self._answered], err=True)
        return self._answered

    def ended(self, case: Case, outcome: Outcome, again: bool) -> None:
        """Print the line of a case."""
        if not again:
            self._kinds[outcome["kind"]] += 1
        how = outcome["kind"] if outcome["reason"] is None else f"{outcome['kind']}: {outcome['reason']}"
        count = "held again soon" if again else f"{self._kinds.total()} of {len(self._plan.cases)}"
        self._draw([])
        if self._lines:
            click.echo(f"{case.name}: {how} ({count})", err=True)
        elif outcome["kind"] != "done" and not again:
            click.echo(f"fdbcore run: {case.name}: {how}", err=True)

    def progress(self, progress: Progress) -> None:
        """Draw the lines of the live calls anew."""
        if self._redraws:
            columns, rows = shutil.get_terminal_size()
            live = [f"  {case.name}  {self._place(case, tick)}" for case, tick in progress.live]
            self._draw([line[: columns - 1] for line in [self._head(progress), *live][: rows - 1]])

    def _head(self, progress: Progress) -> str:
        kinds = ", ".join(f"{self._kinds[kind]} {kind}" for kind in ("done", "failed", "invalid"))
        head = f"{self._kinds.total()} of {len(self._plan.cases)} cases ended: {kinds}"
        return f"{head}; about {clock_text(progress.left_s)} left" if self._plan.settings.realtime else head

    def _place(self, case: Case, tick: int) -> str:
        if tick in (OPENING, CLOSING):
            return "opening" if tick == OPENING else "closing"
        most = "of" if case.user.length_s is not None else "of at most"
        return f"{clock_text(ticks_to_s(tick))} {most} {clock_text(self._plan.expected_s(case))}"

    def _draw(self, lines: list[str]) -> None:
        """Put `lines` where the last ones were."""
        if self._drawn or lines:
            up = f"\x1b[{self._drawn}A" if self._drawn else ""
            click.echo(f"\r{up}\x1b[J" + "".join(f"{line}\n" for line in lines), nl=False, err=True)
        self._drawn = len(lines)
