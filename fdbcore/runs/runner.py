"""Holds the cases of a run, several at a time, where processes or machines may die, until each case has ended."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from fdbcore.clock import now_ns
from fdbcore.errors import FdbError
from fdbcore.protocols import CLEAN
from fdbcore.recording.meta import KnownMeta, Outcome
from fdbcore.runs.budget import Budget
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.held_here import CALLS_PER_PROCESS, CallsHere, HeldCalls, LiveCall
from fdbcore.runs.plan import Case, RunPlan, server
from fdbcore.runs.watch import FINISH, GO_ON, NOW, RunProgress, RunWatch
from fdbcore.runtime.waits import pass_on
from fdbcore.session.converse import LiveSettings
from fdbcore.types import TICKS_PER_S

BACK_OFF_S: Final = (2.0, 15.0)
"""The pauses before a case is held for the second and for the third time."""

_LOOK_S: Final = 0.25  # interval at which progress is reported, and a request to stop is noticed


@dataclass(slots=True)
class _Attempt:
    case: Case
    earlier: Sequence[Outcome]
    not_before_ns: int = 0

    @property
    def servers(self) -> set[str]:
        return set(map(server, self.case.addresses))


def run_cases(
    folder: RunFolder,
    *,
    jobs: int = 1,
    calls_per_process: int = CALLS_PER_PROCESS,
    watch: RunWatch | None = None,
    back_off_s: Sequence[float] = BACK_OFF_S,
    budget: Budget | None = None,
    only: Sequence[Case] | None = None,
    held: Callable[[Path, LiveSettings], HeldCalls] | None = None,
) -> None:
    """Hold every case of the open `folder` that has not ended, in the plan's order, `jobs` at a time.

    watch: after it asks to FINISH or to end NOW, this function returns with cases left. budget: no call begins that it
    does not allow, so that cases may be left. only: hold no other cases than these. held: makes what holds the calls,
    in place of processes of this machine. FdbError for an error that would stop every other case too (a full disk, an
    extra that is not installed); it is raised once the live calls are over. Processes are spawned, so a script that
    calls this needs the usual `if __name__ == "__main__"`.
    """
    left = [case for case in folder.left() if only is None or case in only]
    if not left:
        return
    if held is None:
        calls: HeldCalls = CallsHere(folder.path, folder.plan.settings, max(1, min(jobs, len(left))), calls_per_process)
    else:
        calls = held(folder.path, folder.plan.settings)
    with closing(calls):
        _Runner(folder, left, calls, watch or RunWatch(), back_off_s, budget).run()


def expected_wall_s(plan: RunPlan, cases: Iterable[Case], slots: int) -> float:
    """The seconds that `cases` take with `slots` calls at a time, about."""
    return _wall_s(plan, [(case, plan.expected_s(case)) for case in cases], slots)


def _wall_s(plan: RunPlan, remaining: Sequence[tuple[Case, float]], slots: int) -> float:
    """The largest of three lower bounds, in seconds.

    These are all calls over the slots, the calls of one server over its limit, and the longest call.
    """
    total_s = sum(left_s for _, left_s in remaining)
    by_server_s = [
        sum(left_s for case, left_s in remaining if server(case.system.address) == name) / limit
        for name, limit in plan.at_once.items()
    ]
    return max([total_s / slots, *by_server_s, *(left_s for _, left_s in remaining)], default=0.0)


@dataclass
class _Runner:
    folder: RunFolder
    left: Sequence[Case]
    calls: HeldCalls
    watch: RunWatch
    back_off_s: Sequence[float]
    budget: Budget | None

    def __post_init__(self) -> None:
        for case in self.folder.plan.cases if self.budget else ():
            self._note_cost(case)
        self._plan = self.folder.plan
        self._waiting = [_Attempt(case, self.folder.attempts(case)) for case in self.left]
        self._live: dict[int, _Attempt] = {}
        self._numbers = count()
        self._error: str | None = None

    def run(self) -> None:
        while True:
            self._error = self._error or self.calls.error
            request = max(self.watch.asked(), FINISH if self._error else GO_ON)
            if request == NOW or not (self._live or (request == GO_ON and self._waiting and self._can_afford)):
                break
            if request == GO_ON:
                self._begin_calls()
            news = self.calls.news(_LOOK_S)
            for wait in news.waits:
                pass_on(wait)
            for each in news.ended:
                attempt = self._live.pop(each.slot)
                if each.outcome is not None:
                    self._end(attempt, each.outcome)
                else:
                    self._error = self._error or each.error
            self._report_progress()
        if self._error is not None:
            raise FdbError(self._error)

    @property
    def _can_afford(self) -> bool:
        """True if the budget allows one more call."""
        return self.budget is None or self.budget.allows(len(self._live))

    def _note_cost(self, case: Case) -> None:
        if self.budget is not None and (cost := self.folder.cost(case)) is not None:
            self.budget.note(case.name, cost)

    def _begin_calls(self) -> None:
        """Begin waiting calls where there is room."""
        for _ in range(self.calls.room()):
            if not self._can_afford or (attempt := self._next()) is None:
                return
            self._begin(attempt)

    def _next(self) -> _Attempt | None:
        """Take the first waiting attempt whose pause is over and whose servers have room."""
        busy = Counter(name for attempt in self._live.values() for name in attempt.servers)
        now = now_ns()
        for attempt in self._waiting:
            free = all(busy[name] < self._plan.at_once.get(name, math.inf) for name in attempt.servers)
            if free and attempt.not_before_ns <= now:
                self._waiting.remove(attempt)
                return attempt
        return None

    def _begin(self, attempt: _Attempt) -> None:
        case, slot = attempt.case, next(self._numbers)
        meta: KnownMeta = {"case": case.to_json(), "attempts": list(attempt.earlier), "selftest": self.folder.selftest}
        self._live[slot] = attempt
        path = self.folder.path / case.name
        # Neither the system nor the line: all meet the same latencies, and systems the same noise.
        seed = f"{self._plan.decided_by['seed']}/{case.user.name}/{case.trial}"
        self.calls.hold(LiveCall(slot, path, *case.addresses, meta, self._plan.tools, case.line or CLEAN, seed))

    def _end(self, attempt: _Attempt, outcome: Outcome) -> None:
        case, earlier = attempt.case, attempt.earlier
        self.folder.settle(case, outcome, earlier)
        self._note_cost(case)
        again = self.folder.outcome(case) is None
        if again:
            pause_ns = round(1e9 * self.back_off_s[min(len(earlier), len(self.back_off_s) - 1)])
            attempts = [*earlier, self.folder.with_cost(case, outcome)]
            self._waiting.insert(0, _Attempt(case, attempts, now_ns() + pause_ns))
        self.watch.ended(case, outcome, again)

    def _report_progress(self) -> None:
        live = [(attempt.case, self.calls.tick(slot)) for slot, attempt in self._live.items()]
        expected_s = self._plan.expected_s
        remaining = [(case, max(0.0, expected_s(case) - max(0, tick) / TICKS_PER_S)) for case, tick in live]
        remaining += [(attempt.case, expected_s(attempt.case)) for attempt in self._waiting]
        self.watch.progress(RunProgress(live, _wall_s(self._plan, remaining, max(self.calls.at_once, 1))))
