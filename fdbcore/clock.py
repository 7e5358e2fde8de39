"""The clocks that pace a session. No other Python module reads the operating system's clock."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from fdbcore._ext.pacer import Pacer
from fdbcore.errors import InputError
from fdbcore.types import TICK_NS

_HARDWARE_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class MonotonicClock:
    """Real time: tick n comes n x 10 ms after tick 0, which is the first `wait`. Implements `protocols.Clock`.

    spin_ns: as of `Pacer`; 0 when several sessions share a process.
    """

    realtime = True

    def __init__(self, spin_ns: int = 300_000) -> None:
        self._pacer = Pacer(TICK_NS, spin_ns)

    @property
    def origin_ns(self) -> int | None:
        """Deadline of tick 0 on the clock of time.monotonic_ns; None before the first `wait`."""
        return self._pacer.origin_ns

    def wait(self, tick: int) -> int:
        """Return at the deadline of `tick`, at once if that has passed; by how many whole ticks it is overdue.

        InputError unless ticks come in order.
        """
        return self._pacer.wait(tick)

    @contextmanager
    def undisturbed(self) -> Iterator[dict[str, Any]]:
        """Within a `with` block: real-time priority for the calling thread, where permitted (see `Pacer`, whose grants
        it gives), and no long garbage collections.
        """
        with _short_collections(), self._pacer.raised_priority() as grants:
            yield grants

    def certificate(self) -> dict[str, Any]:
        """`Pacer.lateness()`, the clock, the settings, the priority (None: not asked for) and the machine's load."""
        return {
            "realtime": True,
            "clock": {"name": time.get_clock_info("monotonic").implementation, "hardware": _hardware_clock()},
            "period_ns": self._pacer.period_ns,
            "spin_ns": self._pacer.spin_ns,
            **self._pacer.lateness(),
            "priority": self._pacer.priority,
            "machine": machine_load(),
        }


class VirtualClock:
    """As fast as the work goes: `wait` returns at once. Implements `protocols.Clock`."""

    realtime = False
    origin_ns: int | None = None

    def __init__(self) -> None:
        self._last_tick = -1

    def wait(self, tick: int) -> int:
        """Return at once: no tick is overdue. InputError unless ticks come in order."""
        if tick <= self._last_tick:
            raise InputError(f"tick: expected at least {self._last_tick + 1}, the next one, got {tick}")
        self._last_tick = tick
        return 0

    def certificate(self) -> dict[str, Any]:
        """That no time was kept, and so none measured: the same for every run."""
        return {"realtime": False, "clock": {"name": "virtual", "hardware": None}}


_sessions_counted = Lock()
_sessions = 0


@contextmanager
def _short_collections() -> Iterator[None]:
    """While any session keeps time, no collection of garbage looks at what was there before it.

    A full collection holds up all threads: for 13 to 19 ms with the modules of a live call loaded, which is more than a
    tick. What ended sessions have left is collected when the next one begins: in one go, minutes later, it would take
    as long.
    """
    global _sessions
    with _sessions_counted:
        if not _sessions:
            gc.freeze()
        gc.collect()
        _sessions += 1
    try:
        yield
    finally:
        with _sessions_counted:
            _sessions -= 1
            if not _sessions:
                gc.unfreeze()


def machine_load() -> dict[str, Any]:
    """Load average over 1, 5 and 15 minutes (None where the system has none) and number of processors."""
    try:
        load_average = list(os.getloadavg())
    except OSError:
        load_average = None
    return {"load_average": load_average, "cpu_count": os.cpu_count()}


def now_ns() -> int:
    """The monotonic clock that every pacer keeps, ns: what arrivals are stamped with."""
    return time.monotonic_ns()


def utc_now() -> str:
    """The wall-clock time as ISO 8601 in UTC, to the millisecond: "2025-01-31T09:30:00.125Z"."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _hardware_clock() -> str | None:
    """What the kernel counts time with ("tsc", "kvm-clock"); some are slower to read or step between processors."""
    try:
        return _HARDWARE_CLOCK.read_text().strip()
    except OSError:
        return None
