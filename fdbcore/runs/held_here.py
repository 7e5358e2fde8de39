"""Holds live calls in processes of this machine, which do nothing else meanwhile: `CallsHere`, which is `HeldCalls`.

A process writes the progress of its calls into shared memory, so that no tick waits for a reader.
"""

import math
import multiprocessing
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as readable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final, NamedTuple, Protocol

from fdbcore.clock import now_ns
from fdbcore.endpoints.webrtc.early import EarlyPorts, close_own, early
from fdbcore.errors import FdbError, MissingExtraError, RecordingError, SettingsError
from fdbcore.lines.line import line_at
from fdbcore.measures.examiner_rule import fault_of_call
from fdbcore.measures.reading import Reading
from fdbcore.recording.meta import KnownMeta, Outcome
from fdbcore.recording.run import LOG
from fdbcore.registry import endpoint, vad
from fdbcore.runs.tools import PlannedTools, same_tools
from fdbcore.runtime.live_calls import live_calls
from fdbcore.runtime.process import WorkerProcess, messages
from fdbcore.runtime.redaction import redacted
from fdbcore.runtime.waits import Wait, watching_waits
from fdbcore.session.converse import OPENING, SILENT, LiveSettings, converse, said_nothing

CALLS_PER_PROCESS: Final = 4
"""The number of calls that share a process. With four, each with two WebRTC legs, packets leave within 2 ms (p99) of
their time (`python -m benchmarks live`), and the death of a process loses no more than four calls."""

SWITCH_INTERVAL_S: Final = 0.0005
"""Time that a thread may hold the GIL while others wait for it: a twentieth of a tick (sys.setswitchinterval)."""

_CLOSING_S: Final = 5.0  # time for calls that were asked to end now


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A conversation for a worker to hold.

    slot: its place among the worker's calls. meta: added to its meta.json. tools: what b may call. line: the address
    of what the call goes over. seed: of the latencies of tools, and of what is random on the line.
    """

    slot: int
    path: Path
    a: str
    b: str
    meta: KnownMeta
    tools: PlannedTools | None
    line: str
    seed: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the call in `slot`. error: set if it would stop every other call too, so that the run cannot go on."""

    slot: int
    outcome: Outcome | None
    error: str | None = None


class CallNews(NamedTuple):
    """News of calls: those that ended, or were lost; and those that began to wait for a busy server."""

    ended: Sequence[Ended] = ()
    waits: Sequence[Wait] = ()


class HeldCalls(Protocol):
    """The place where live calls are held. `LiveCall.slot` is any number that is unique among those that are held."""

    error: str | None = None
    """The reason why no other call can be held."""

    @property
    def at_once(self) -> int:
        """So many calls can be held at a time."""

    def room(self) -> int:
        """Calls that may begin now: none while what holds them is loading, which would disturb live calls."""

    def hold(self, call: LiveCall) -> None:
        """Begin a conversation. There must be room."""

    def news(self, within_s: float) -> CallNews:
        """The news within this time, perhaps none. A call whose process died is invalid, for the harness failed."""

    def tick(self, slot: int) -> int:
        """The progress of a call; see `session.converse`."""

    def close(self) -> None:
        """End the live calls as interrupted, and what holds them."""


class CallsHere:
    """`HeldCalls` in processes, each with `calls_per_process` of them at most.

    The first process gets the first call, and so the ports that this process has opened early for it.
    """

    def __init__(
        self, run_path: Path, settings: LiveSettings, calls: int, calls_per_process: int = CALLS_PER_PROCESS
    ) -> None:
        self.error: str | None = None
        self.at_once = calls
        self._run_path, self._settings = run_path, settings
        self._n_processes = math.ceil(calls / calls_per_process)
        self._slots = min(calls_per_process, calls)
        self._processes: list[Worker] = []
        self._at_end = ExitStack()
        if settings.realtime:
            self._at_end.enter_context(live_calls())

    def room(self) -> int:
        """See `HeldCalls`."""
        while len(self._processes) < self._n_processes:
            self._processes.append(Worker(self._run_path, self._settings, self._slots))
            close_own()
        if not all(process.ready for process in self._processes):
            return 0
        return self.at_once - sum(len(process.held) for process in self._processes)

    def hold(self, call: LiveCall) -> None:
        """See `HeldCalls`. It begins in the process with the fewest."""
        process = min(self._processes, key=lambda each: len(each.held))
        slot = next(slot for slot in range(self._slots) if slot not in process.held)
        process.held[slot] = call.slot
        process.hold(replace(call, slot=slot))

    def news(self, within_s: float) -> CallNews:
        """See `HeldCalls`."""
        ended: list[Ended] = []
        waits: list[Wait] = []
        ready = readable([process.connection for process in self._processes], within_s)
        for process in [process for process in self._processes if process.connection in ready]:
            found = process.ended()
            waits += process.waits
            if found is None:
                ended += self._bury(process)
            else:
                ended += [replace(each, slot=process.held.pop(each.slot)) for each in found]
        return CallNews(ended, waits)

    def tick(self, slot: int) -> int:
        """See `HeldCalls`."""
        for process in self._processes:
            for own, number in process.held.items():
                if number == slot:
                    return process.progress[own]
        return OPENING

    def close(self) -> None:
        """See `HeldCalls`."""
        for process in self._processes:  # ask all first, so that they end at the same time
            process.stop()
        for process in self._processes:
            process.close()
        self._at_end.close()

    def _bury(self, process: "Worker") -> list[Ended]:
        """Remove a process that has died; another takes its place. What became of its calls."""
        cause = process.cause_of_death()
        self._processes.remove(process)
        process.close()
        if not process.ready:  # a new one would die in the same way
            self.error = f"a process for the calls could not start ({cause}): see {self._run_path / LOG}"
        return [lost(number, f"the process that held the call died: {cause}") for number in process.held.values()]


def lost(slot: int, reason: str) -> Ended:
    """The end of a call that is to be held again, because what held it failed."""
    return Ended(slot, {"kind": "invalid", "side": None, "reason": reason, "transient": True})


class Worker(WorkerProcess):
    """A process for up to `calls` conversations at once. Closing it ends its live calls as interrupted.

    connection: readable when `ended` has something to return. ready: whether the process is loaded. held: the number of
    the call in each slot. waits: for busy servers, told since `ended` was last called.
    """

    def __init__(self, run_path: Path, settings: LiveSettings, calls: int) -> None:
        settings = replace(settings, spin_ns=0) if calls > 1 else settings  # spinning would take time from the others
        self.ready = False
        self.held: dict[int, int] = {}
        self.progress: list[int] = multiprocessing.get_context("spawn").RawArray("q", [OPENING] * calls)
        self.waits: list[Wait] = []
        super().__init__(run_path / LOG, _hold_calls, self.progress, settings, early)

    def hold(self, call: LiveCall) -> None:
        """Begin a conversation. Its slot must be free."""
        self.progress[call.slot] = OPENING
        self.send(call)

    def ended(self) -> list[Ended] | None:
        """The calls that ended since the last time, once `connection` is readable; None if the process has died."""
        received = self.received()
        self.ready = self.ready or bool(received)  # the first message says that it is loaded
        self.waits = [message for message in received or () if isinstance(message, Wait)]
        return None if received is None else [message for message in received if isinstance(message, Ended)]


def _hold_calls(connection: Connection, progress: list[int], settings: LiveSettings, opened: EarlyPorts) -> None:
    """Hold calls as they come: the life of the process. opened: ports that the run has opened early."""
    early.update(opened)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    vad(settings.vad)(source_rate_hz=48_000)  # load the model while no call is live
    connection.send(None)  # loaded
    calls = _Calls(connection, progress, settings)
    with watching_waits(calls.tell):
        for call in messages(connection):
            calls.begin(call)
        calls.end_now()


class _Calls:
    """The conversations of this process, each on a thread of its own."""

    def __init__(self, connection: Connection, progress: list[int], settings: LiveSettings) -> None:
        self._connection = connection
        self._sending = Lock()
        self._progress = progress
        self._settings = settings
        self._stop = Event()
        self._threads: list[Thread] = []

    def begin(self, call: LiveCall) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(Thread(target=self._hold, args=(call,), daemon=True, name=f"fdbcore-call-{call.slot}"))
        self._threads[-1].start()

    def end_now(self) -> None:
        self._stop.set()
        deadline_ns = now_ns() + round(1e9 * _CLOSING_S)
        for thread in self._threads:
            thread.join(max(0, deadline_ns - now_ns()) / 1e9)

    def tell(self, message: Ended | Wait) -> None:
        """Send a message to the owner; if that is gone, nobody waits for it."""
        with suppress(OSError), self._sending:
            self._connection.send(message)

    def _hold(self, call: LiveCall) -> None:
        with suppress(KeyboardInterrupt):  # stopped
            self.tell(self._conversation(call))

    def _conversation(self, call: LiveCall) -> Ended:
        show = partial(self._progress.__setitem__, call.slot)
        try:
            a, b = endpoint(call.a), endpoint(call.b)
            with nullcontext() if call.tools is None else same_tools(call.tools) as world:
                ruled = by_user if call.meta["case"].get("may_be_silent") else by_examiner
                recording = converse(
                    *(a, b, call.path, self._settings, call.meta, self._stop, show, world, call.seed, ruled),
                    line=line_at(call.line, call.seed),
                )
            if recording.meta["status"] != "complete":
                return Ended(call.slot, _invalid(recording.meta["reason"]))
            return Ended(call.slot, recording.meta["outcome"])
        except (SettingsError, MissingExtraError, RecordingError) as error:
            return Ended(call.slot, None, redacted(str(error)))
        except Exception as error:
            traceback.print_exc()
            return Ended(call.slot, _invalid(redacted(f"{type(error).__name__}: {error}")))


def by_examiner(path: Path, outcome: Outcome) -> Outcome:
    """The outcome of a call; another one if it is the examiner's fault that it is worth nothing.

    A call whose recording the rule cannot read is invalid too: nobody knows whether it is worth anything.
    """
    if outcome["kind"] != "done" and not said_nothing(outcome):
        return outcome
    try:
        fault = fault_of_call(Reading(path))
    except FdbError as error:
        return _invalid(redacted(f"the rule for examiners could not be asked: {error}"))
    return outcome if fault is None else {"kind": "invalid", "side": "A", "reason": redacted(fault), "transient": True}


def by_user(path: Path, outcome: Outcome) -> Outcome:
    """The outcome of a call with a user to whom a system may say nothing: then it is done."""
    is_silent = outcome["kind"] == "failed" and outcome["side"] == "B" and outcome["reason"] == SILENT
    return {"kind": "done", "side": None, "reason": None} if is_silent else outcome


def _invalid(reason: str | None) -> Outcome:
    return {"kind": "invalid", "side": None, "reason": reason}
