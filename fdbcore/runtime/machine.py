"""What the machine had for a call: who else took the processors' time, where the kernel tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

_STAT = Path("/proc/stat")
_SCHEDULER = Path("/proc/thread-self/schedstat")  # Linux: ns run, ns waited for a processor, times run

_STEAL_FIELD: Final = 7
_TIME_FIELDS: Final = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice

NOTED_STEAL: Final = 0.02
NOTED_WAIT_MS: Final = 50.0
"""From here on it is named as a cause: a wait so long makes a tick be missed."""


class Processors(NamedTuple):
    """Counts of the kernel since it started. total, stolen: time of all processors, in its own unit; stolen: by the
    host of this virtual machine. waited_ns: by the calling thread, for a processor. None: it does not tell."""

    total: int | None
    stolen: int | None
    waited_ns: int | None

    @classmethod
    def now(cls) -> Processors:
        """The counts so far."""
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

    def since(self, before: Processors) -> dict[str, Any]:
        """Between two counts: {"steal_share", "waited_ms"}, each None where the kernel does not tell."""
        steal_share = waited_ms = None
        if self.total is not None and before.total is not None and self.total > before.total:
            assert self.stolen is not None
            assert before.stolen is not None
            steal_share = (self.stolen - before.stolen) / (self.total - before.total)
        if self.waited_ns is not None and before.waited_ns is not None:
            waited_ms = (self.waited_ns - before.waited_ns) / 1e6
        return {"steal_share": steal_share, "waited_ms": waited_ms}


def what_stood_still(timing: Mapping[str, Any]) -> str:
    """Why ticks were missed, as far as a timing certificate tells."""
    found, suspends = timing["processors"], timing.get("suspends")
    causes = []
    if suspends:
        causes.append(f"the machine was suspended for {sum(each['ms'] for each in suspends) / 1000:.1f} s")
    if (found["steal_share"] or 0) >= NOTED_STEAL:
        causes.append(f"the host took {100 * found['steal_share']:.0f} % of the processors' time (steal)")
    if (found["waited_ms"] or 0) >= NOTED_WAIT_MS:
        causes.append(f"it waited {found['waited_ms'] / 1000:.2f} s for a processor, which other threads had")
    if causes:
        return "; ".join(causes)
    if found["steal_share"] is None and found["waited_ms"] is None:
        return "this system does not tell what stood still"
    return "the kernel knows of no cause: its own process, or what it waits for, was too slow"
