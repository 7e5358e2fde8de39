"""Holds the cases of a run, several at a time, in processes that may die, until each case has ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import wait as readable
from typing import TYPE_CHECKING, Final

from fdbcore.clock import now_ns
from fdbcore.errors import FdbError
from fdbcore.protocols import CLEAN
from fdbcore.recording.run import LOG
from fdbcore.runs.budget import Budget
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import Case, RunPlan, server
from fdbcore.runs.workers import LiveCall, Worker
from fdbcore.runtime.live_calls import live_calls
from fdbcore.runtime.waits import Wait
from fdbcore.types import TICKS_PER_S

if TYPE_CHECKING:
    from fdbcore.recording.recorded_types import KnownMeta
    from fdbcore.recording.run_types import Outcome

BACK_OFF_S: Final = (2.0, 15.0)
"""The pauses before a case is held for the second and for the third time."""

CALLS_PER_PROCESS: Final = 4
"""How many calls share a process. With four, each with two WebRTC legs, packets leave within 2 ms (p99) of their time
(`python -m benchmarks live`), and the death of a process loses no more than four calls."""

GO_ON, FINISH, NOW = 0, 1, 2
"""What a run can be asked to do: go on, begin no more calls (FINISH), or also end the live ones at once (NOW)."""

_LOOK_S: Final = 0.25  # how often progress is reported, and a request to stop is noticed


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. live: each call with its tick, OPENING or CLOSING. left_s: about how many seconds are left."""

    live: Sequence[tuple[Case, int]]
    left_s: float


class Watch:
    """Watches a run: its methods are called as the run goes on. Derive from it."""

    def ended(self, case: Case, outcome: Outcome, again: bool) -> None:
        """Called when a case has ended. again: only this attempt has ended, and the case will be held again."""

    def progress(self, progress: RunProgress) -> None:
        """Called several times a second."""

    def waits(self, wait: Wait) -> None:
        """Called when a call begins to wait for a busy server."""


@dataclass(slots=True)
class _Attempt:
    case: Case
    earlier: Sequence[Outcome]
    not_before_ns: int = 0

    @property
    def servers(self) -> set[str]:
        return {server(self.case.user.address), server(self.case.system.address)}


@dataclass(slots=True)
class _Process:
    worker: Worker
    calls: dict[int, _Attempt] = field(default_factory=dict)


def run_cases(
    folder: RunFolder,
    *,
    jobs: int = 1,
    calls_per_process: int = CALLS_PER_PROCESS,
    watch: Watch | None = None,
    asked: Callable[[], int] = lambda: GO_ON,
    back_off_s: Sequence[float] = BACK_OFF_S,
    budget: Budget | None = None,
    only: Sequence[Case] | None = None,
) -> None:
    """Hold every case of the open `folder` that has not ended, in the plan's order, `jobs` at a time.

    asked: called several times a second; returns GO_ON, FINISH or NOW. After FINISH or NOW this function returns with
    cases left. FdbError for an error that would stop every other case too (a full disk, an extra that is not
    installed); it is raised once the live calls are over. Processes are spawned, so a script that calls this needs the
    usual `if __name__ == "__main__"`. budget: no call begins that it does not allow, so that cases may be left. only:
    hold no other cases than these.
    """
    _Runner(folder, jobs, calls_per_process, watch or Watch(), asked, back_off_s, budget, only).run()


def expected_wall_s(plan: RunPlan, cases: Iterable[Case], slots: int) -> float:
    """About how many seconds `cases` take with `slots` calls at a time."""
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


class _Runner:
    def __init__(
        self,
        folder: RunFolder,
        jobs: int,
        calls_per_process: int,
        watch: Watch,
        asked: Callable[[], int],
        back_off_s: Sequence[float],
        budget: Budget | None,
        only: Sequence[Case] | None,
    ) -> None:
        self._folder = folder
        self._plan = folder.plan
        self._watch = watch
        self._asked = asked
        self._back_off_s = back_off_s
        self._budget = budget
        for case in folder.plan.cases if budget else ():
            self._note_cost(case)
        left = [case for case in folder.left() if only is None or case in only]
        self._waiting = [_Attempt(case, folder.attempts(case)) for case in left]
        self._at_once = max(1, min(jobs, len(self._waiting)))
        self._n_processes = math.ceil(min(jobs, len(self._waiting)) / calls_per_process)
        self._slots = min(calls_per_process, self._at_once)
        self._processes: list[_Process] = []
        self._error: str | None = None

    def run(self) -> None:
        with ExitStack() as at_end:
            if self._plan.settings.realtime:
                at_end.enter_context(live_calls())
            at_end.callback(self._close)
            while True:
                request = max(self._asked(), FINISH if self._error else GO_ON)
                if request == NOW or not (self._live or (request == GO_ON and self._waiting and self._can_afford)):
                    break
                if request == GO_ON:
                    self._begin_calls()
                for connection in readable([process.worker.connection for process in self._processes], timeout=_LOOK_S):
                    self._read(next(process for process in self._processes if process.worker.connection is connection))
                self._report_progress()
        if self._error is not None:
            raise FdbError(self._error)

    @property
    def _live(self) -> list[tuple[_Attempt, int]]:
        return [
            (attempt, process.worker.progress[slot])
            for process in self._processes
            for slot, attempt in process.calls.items()
        ]

    @property
    def _can_afford(self) -> bool:
        """Whether the budget allows one more call."""
        return self._budget is None or self._budget.allows(len(self._live))

    def _note_cost(self, case: Case) -> None:
        if self._budget is not None and (cost := self._folder.cost(case)) is not None:
            self._budget.note(case.name, cost)

    def _begin_calls(self) -> None:
        """Begin waiting calls in free slots, once every process is loaded: loading would disturb live calls."""
        while len(self._processes) < self._n_processes:
            self._processes.append(_Process(Worker(self._folder.path, self._plan.settings, self._slots)))
        if not all(process.worker.ready for process in self._processes):
            return
        for slot in range(self._slots):  # one slot of each process at a time, which spreads the calls evenly
            for process in self._processes:
                free = slot not in process.calls and len(self._live) < self._at_once and self._can_afford
                if free and (attempt := self._next()) is not None:
                    self._begin(process, slot, attempt)

    def _next(self) -> _Attempt | None:
        """Take the first waiting attempt whose pause is over and whose servers have room."""
        busy = Counter(name for attempt, _ in self._live for name in attempt.servers)
        now = now_ns()
        for attempt in self._waiting:
            free = all(busy[name] < self._plan.at_once.get(name, math.inf) for name in attempt.servers)
            if free and attempt.not_before_ns <= now:
                self._waiting.remove(attempt)
                return attempt
        return None

    def _begin(self, process: _Process, slot: int, attempt: _Attempt) -> None:
        case = attempt.case
        meta: KnownMeta = {"case": case.to_json(), "attempts": list(attempt.earlier), "selftest": self._folder.selftest}
        process.calls[slot] = attempt
        path = self._folder.path / case.name
        # Neither the system nor the line: all meet the same latencies, and systems the same noise.
        seed = f"{self._plan.decided_by['seed']}/{case.user.name}/{case.trial}"
        addresses = case.user.address, case.system.address
        process.worker.hold(LiveCall(slot, path, *addresses, meta, self._plan.tools, case.line or CLEAN, seed))

    def _read(self, process: _Process) -> None:
        ended = process.worker.ended()
        for wait in process.worker.waits:
            self._watch.waits(wait)
        if ended is None:
            self._bury(process)
            return
        for call in ended:
            attempt = process.calls.pop(call.slot)
            if call.outcome is not None:
                self._end(attempt, call.outcome)
            else:
                self._error = self._error or call.error

    def _bury(self, process: _Process) -> None:
        """Replace a process that has died. Its calls are invalid, because the harness failed, and are held again."""
        cause = process.worker.cause_of_death()
        self._processes.remove(process)
        process.worker.close()
        if not process.worker.ready:  # a new one would die in the same way
            self._error = f"a process for the calls could not start ({cause}): see {self._folder.path / LOG}"
        for attempt in process.calls.values():
            reason = f"the process that held the call died: {cause}"
            self._end(attempt, {"kind": "invalid", "side": None, "reason": reason, "transient": True})

    def _end(self, attempt: _Attempt, outcome: Outcome) -> None:
        case, earlier = attempt.case, attempt.earlier
        self._folder.settle(case, outcome, earlier)
        self._note_cost(case)
        again = self._folder.outcome(case) is None
        if again:
            pause_ns = round(1e9 * self._back_off_s[min(len(earlier), len(self._back_off_s) - 1)])
            attempts = [*earlier, self._folder.with_cost(case, outcome)]
            self._waiting.insert(0, _Attempt(case, attempts, now_ns() + pause_ns))
        self._watch.ended(case, outcome, again)

    def _report_progress(self) -> None:
        live = [(attempt.case, tick) for attempt, tick in self._live]
        expected_s = self._plan.expected_s
        remaining = [(case, max(0.0, expected_s(case) - max(0, tick) / TICKS_PER_S)) for case, tick in live]
        remaining += [(attempt.case, expected_s(attempt.case)) for attempt in self._waiting]
        self._watch.progress(RunProgress(live, _wall_s(self._plan, remaining, self._at_once)))

    def _close(self) -> None:
        for process in self._processes:  # ask all first, so that they end at the same time
            process.worker.stop()
        for process in self._processes:
            process.worker.close()
