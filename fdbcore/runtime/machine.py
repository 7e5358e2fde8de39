"""Measures who else used the processors during a call, as far as the kernel reports it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fdbcore.types.timing import ClockJump, ProcessorUse

_STAT = Path("/proc/stat")
_SCHEDULER = Path("/proc/thread-self/schedstat")  # Linux: ns run, ns waited for a processor, times run

_STEAL_FIELD: Final = 7
_TIME_FIELDS: Final = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice

NOTED_STEAL: Final = 0.02
NOTED_WAIT_MS: Final = 50.0
"""From these values on, steal and waiting are named as a cause: a wait this long makes a tick be missed."""


class Processors(NamedTuple):
    """Counters of the kernel since it started; None if the kernel does not report one.

    total: time of all processors, in clock ticks of the kernel. stolen: the part that the host of this virtual machine
    took. waited_ns: how long the calling thread was ready but waited for a processor, in ns.
    """

    total: int | None
    stolen: int | None
    waited_ns: int | None

    @classmethod
    def now(cls) -> Processors:
        """The counters now."""
        total = stolen = waited_ns = None
        try:
            times = [int(field) for field in _STAT.read_text().split("\n", 1)[0].split()[1:]]
            total, stolen = sum(times[:_TIME_FIELDS]), times[_STEAL_FIELD]
        except (OSError, ValueError, IndexError):
            pass
        try:
            waited_ns = int(_SCHEDULER.read_text().split()[1])
        except (OSError, ValueError, IndexError):
            pass
        return cls(total, stolen, waited_ns)

    def since(self, before: Processors) -> ProcessorUse:
        """Use since `before`: {"steal_share", "waited_ms"}, each None if the kernel does not report it."""
        steal_share = waited_ms = None
        if self.total is not None and before.total is not None and self.total > before.total:
            assert self.stolen is not None
            assert before.stolen is not None
            steal_share = (self.stolen - before.stolen) / (self.total - before.total)
        if self.waited_ns is not None and before.waited_ns is not None:
            waited_ms = (self.waited_ns - before.waited_ns) / 1e6
        return {"steal_share": steal_share, "waited_ms": waited_ms}


def cause_of_missed_ticks(found: ProcessorUse, suspends: Sequence[ClockJump] = ()) -> str:
    """The cause of missed ticks, in words, as far as the kernel reported it. suspends: of the timing certificate."""
    causes = []
    if suspends:
        causes.append(f"the machine was suspended for {sum(each['ms'] for each in suspends) / 1000:.1f} s")
    steal_share, waited_ms = found["steal_share"], found["waited_ms"]
    if steal_share is not None and steal_share >= NOTED_STEAL:
        causes.append(f"the host took {100 * steal_share:.0f} % of the processors' time (steal)")
    if waited_ms is not None and waited_ms >= NOTED_WAIT_MS:
        causes.append(f"it waited {waited_ms / 1000:.2f} s for a processor that other threads used")
    if causes:
        return "; ".join(causes)
    if steal_share is None and waited_ms is None:
        return "this system does not report the cause"
    return "the kernel reports no cause: this process, or something it waits for, was too slow"
