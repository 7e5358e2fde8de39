"""Shows live calls on the terminal, and turns Ctrl-C into a request to stop."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Self

from fdbcore.protocols import Endpoint
from fdbcore.registry import endpoint
from fdbcore.report.format import clock_text
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import CallToHold
from fdbcore.runs.watch import FINISH, GO_ON, NOW, RunProgress, RunWatch
from fdbcore.session.converse import CLOSING, OPENING, WAITING
from fdbcore.types import Side, ticks_to_s

from .status import Part, Status, Teller

if TYPE_CHECKING:
    from fdbcore.recording.meta import Outcome

_ANSWERS: Final = {FINISH: "finishing the live calls; press Ctrl-C again to end them now", NOW: "ending the live calls"}
_NOT_LIVE: Final = {OPENING: "opening", WAITING: "waiting to be joined", CLOSING: "closing"}


class Display(Teller, RunWatch):
    """On a terminal, draws one line per live call; always prints one line per case that has ended.

    In its `with` block, the first Ctrl-C asks the run to finish its live calls; a second one, or SIGTERM, to end them
    now. lines: False prints only the cases that were not done.
    """

    folder: RunFolder

    def __init__(self, command: str, status: Status, quiet: bool, lines: bool) -> None:
        super().__init__(command, status, quiet)
        self._lines = lines
        self._kinds = Counter[str]()
        self._interrupts = self._answered = GO_ON
        self._invited: set[str] = set()

    def __enter__(self) -> Self:
        signals = (signal.SIGINT, signal.SIGTERM)
        self._before: Any = {number: signal.signal(number, self._interrupt) for number in signals}
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._status.clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        more = 1 if number == signal.SIGINT else NOW
        # A signal may come in the middle of printing a line, so that `asked` prints the answer.
        self._interrupts = min(self._interrupts + more, NOW)

    def asked(self) -> int:
        """The stop that the user asked for; prints each new answer once."""
        if self._answered < self._interrupts:
            self._answered = self._interrupts
            self._print(_ANSWERS[self._answered])
        return self._answered

    def begins(self, folder: RunFolder) -> None:
        """Count the cases that have ended before."""
        self.folder = folder
        self._kinds.update(ending for case in folder.plan.cases if (ending := folder.ending(case)) is not None)

    def ended(self, case: CallToHold, outcome: Outcome, again: bool) -> None:
        """Print the line of a case that has ended; again: it will be run once more."""
        self._invited.discard(case.name)
        ending = self.folder.ending(case) or outcome["kind"]
        if not again:
            self._kinds[ending] += 1
        how = ending if outcome["reason"] is None else f"{ending}: {outcome['reason']}"
        count = "will run again" if again else f"{self._kinds.total()} of {len(self.folder.plan.cases)}"
        if self._lines:
            self._print(f"{case.name}: {how} ({count})")
        elif outcome["kind"] != "done" and not again:
            self.warn(f"{case.name}: {how}")

    def progress(self, progress: RunProgress) -> None:
        """Print once per call where somebody has to join, and redraw the lines of the live calls."""
        plan = self.folder.plan
        for case, tick in progress.live:
            if self._lines and tick == WAITING:
                self.invites([case])
        live = [
            Part(case.name, max(ticks_to_s(tick), 0), plan.expected_s(case), self._position(case, tick))
            for case, tick in progress.live
        ]
        shown = ("done", *(["declined"] if self._kinds["declined"] else []), "failed", "invalid")
        kinds = ", ".join(f"{self._kinds[kind]} {kind}" for kind in shown)
        head = f"{self._kinds.total()} of {len(plan.cases)} cases ended: {kinds}"
        if plan.settings.realtime:
            head = f"about {clock_text(progress.left_s)} left; {head}"
        self._status(head, self._kinds.total(), len(plan.cases), live)

    def invites(self, cases: Sequence[CallToHold]) -> None:
        """Print where somebody has to join these calls, once for each."""
        for case in cases:
            if not self._quiet and case.name not in self._invited:
                self._invited.add(case.name)
                for line in _invitations(case):
                    self._print(line)

    def _position(self, case: CallToHold, tick: int) -> str:
        """Progress of a live call, such as "0:12 of 1:05", or the state it is in."""
        if tick in _NOT_LIVE:
            return _NOT_LIVE[tick]
        most = "of" if case.user.length_s is not None else "of at most"
        return f"{clock_text(ticks_to_s(tick))} {most} {clock_text(self.folder.plan.expected_s(case))}"


def _invitations(case: CallToHold) -> Iterator[str]:
    """One line per side that waits for somebody to join, with the address of its page."""
    sides: Sequence[tuple[Side, str]] = (("A", case.user.address), ("B", case.system.address))
    yield from filter(None, (invitation(side, endpoint(address)) for side, address in sides))


def invitation(side: Side, party: Endpoint) -> str | None:
    """The way to join as a party that waits for somebody, on a side; None for a party of another kind."""
    from fdbcore.endpoints.webrtc.endpoint import Joined

    if not isinstance(party, Joined) or party.page is None:
        return None
    limit_s = party.describe()["join_s"]
    return (
        f"side {side}: join within {limit_s:g} s at {party.page}?role={side.lower()} (with a browser, WHIP or /signal)"
    )
