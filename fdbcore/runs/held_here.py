"""Holds live calls in processes of this machine: `CallsHere`, which is `HeldCalls`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait as readable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from fdbcore.recording.run import LOG
from fdbcore.runs.workers import Ended, LiveCall, Worker
from fdbcore.runtime.live_calls import live_calls
from fdbcore.runtime.waits import Wait
from fdbcore.session.converse import OPENING, LiveSettings

CALLS_PER_PROCESS: Final = 4
"""How many calls share a process. With four, each with two WebRTC legs, packets leave within 2 ms (p99) of their time
(`python -m benchmarks live`), and the death of a process loses no more than four calls."""


class CallNews(NamedTuple):
    """What has happened: calls that ended, or were lost; and those that began to wait for a busy server."""

    ended: Sequence[Ended] = ()
    waits: Sequence[Wait] = ()


class HeldCalls(Protocol):
    """Where live calls are held. `LiveCall.slot` is any number that is unique among those that are held."""

    error: str | None = None
    """Why no other call can be held."""

    @property
    def at_once(self) -> int:
        """So many calls can be held at a time."""

    def room(self) -> int:
        """How many more calls may begin now: none while what holds them is loading, which would disturb live calls."""

    def hold(self, call: LiveCall) -> None:
        """Begin a conversation. There must be room."""

    def news(self, within_s: float) -> CallNews:
        """What happens, or nothing within this time. A call whose process died is invalid, for the harness failed."""

    def tick(self, slot: int) -> int:
        """How far a call is; see `session.converse`."""

    def close(self) -> None:
        """End the live calls as interrupted, and what holds them."""


@dataclass(slots=True)
class _Process:
    worker: Worker
    calls: dict[int, int] = field(default_factory=dict)
    """The call in each slot."""


class CallsHere:
    """`HeldCalls` in processes, each with `calls_per_process` of them at most."""

    def __init__(
        self, run_path: Path, settings: LiveSettings, calls: int, calls_per_process: int = CALLS_PER_PROCESS
    ) -> None:
        self.error: str | None = None
        self.at_once = calls
        self._run_path, self._settings = run_path, settings
        self._n_processes = math.ceil(calls / calls_per_process)
        self._slots = min(calls_per_process, calls)
        self._processes: list[_Process] = []
        self._at_end = ExitStack()
        if settings.realtime:
            self._at_end.enter_context(live_calls())

    def room(self) -> int:
        """See `HeldCalls`."""
        while len(self._processes) < self._n_processes:
            self._processes.append(_Process(Worker(self._run_path, self._settings, self._slots)))
        if not all(process.worker.ready for process in self._processes):
            return 0
        return self.at_once - sum(len(process.calls) for process in self._processes)

    def hold(self, call: LiveCall) -> None:
        """See `HeldCalls`. It begins in the process with the fewest."""
        process = min(self._processes, key=lambda each: len(each.calls))
        slot = next(slot for slot in range(self._slots) if slot not in process.calls)
        process.calls[slot] = call.slot
        process.worker.hold(replace(call, slot=slot))

    def news(self, within_s: float) -> CallNews:
        """See `HeldCalls`."""
        ended: list[Ended] = []
        waits: list[Wait] = []
        ready = readable([process.worker.connection for process in self._processes], within_s)
        for process in [process for process in self._processes if process.worker.connection in ready]:
            found = process.worker.ended()
            waits += process.worker.waits
            if found is None:
                ended += self._bury(process)
            else:
                ended += [replace(each, slot=process.calls.pop(each.slot)) for each in found]
        return CallNews(ended, waits)

    def tick(self, slot: int) -> int:
        """See `HeldCalls`."""
        for process in self._processes:
            for own, number in process.calls.items():
                if number == slot:
                    return process.worker.progress[own]
        return OPENING

    def close(self) -> None:
        """See `HeldCalls`."""
        for process in self._processes:  # ask all first, so that they end at the same time
            process.worker.stop()
        for process in self._processes:
            process.worker.close()
        self._at_end.close()

    def _bury(self, process: _Process) -> list[Ended]:
        """Remove a process that has died; another takes its place. What became of its calls."""
        cause = process.worker.cause_of_death()
        self._processes.remove(process)
        process.worker.close()
        if not process.worker.ready:  # a new one would die in the same way
            self.error = f"a process for the calls could not start ({cause}): see {self._run_path / LOG}"
        return [lost(number, f"the process that held the call died: {cause}") for number in process.calls.values()]


def lost(slot: int, reason: str) -> Ended:
    """The end of a call that is to be held again, because what held it failed."""
    return Ended(slot, {"kind": "invalid", "side": None, "reason": reason, "transient": True})
