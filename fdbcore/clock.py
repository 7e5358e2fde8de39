"""The clocks that pace a session. No other Python module reads the operating system's clock."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from fdbcore._ext.pacer import Pacer
from fdbcore.errors import InputError
from fdbcore.types import TICK_NS

if TYPE_CHECKING:
    from fdbcore.types.timing import MachineLoad, Priority, TimingCertificate

_CLOCK_TIME = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d*)?)", re.ASCII)
_HARDWARE_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class MonotonicClock:
    """Real time: tick n is due n x 10 ms after tick 0, and tick 0 is the first `wait`. Implements `protocols.Clock`.

    spin_ns: how long `Pacer` spins before each deadline, in ns. Pass 0 when several sessions share a process.
    """

    realtime = True

    def __init__(self, spin_ns: int = 300_000) -> None:
        self._pacer = Pacer(TICK_NS, spin_ns)

    @property
    def origin_ns(self) -> int | None:
        """The due time of tick 0, in ns of time.monotonic_ns; None before the first `wait`."""
        return self._pacer.origin_ns

    def wait(self, tick: int) -> int:
        """Sleep until `tick` is due, and return by how many whole ticks it is overdue (0 if it is on time).

        Returns at once if the deadline has passed. Raises InputError unless the ticks come in order.
        """
        return self._pacer.wait(tick)

    @contextmanager
    def undisturbed(self) -> Iterator[Priority]:
        """Give the calling thread real-time priority where permitted, and keep garbage collections short.

        Both last as long as the `with` block. Yields what the system granted, as `Pacer.raised_priority` does.
        """
        with _short_collections(), self._pacer.raised_priority() as grants:
            yield grants

    def certificate(self) -> TimingCertificate:
        """Lateness of the ticks (`Pacer.lateness`), clock, settings, priority and machine load, as JSON values.

        The priority is None if it was not asked for.
        """
        return {
            "realtime": True,
            "clock": {"name": time.get_clock_info("monotonic").implementation, "hardware": _hardware_clock()},
            "period_ns": self._pacer.period_ns,
            "spin_ns": self._pacer.spin_ns,
            **self._pacer.lateness(),  # type: ignore[typeddict-item]  # it has no other keys
            "priority": self._pacer.priority,
            "machine": machine_load(),
        }


class VirtualClock:
    """Runs as fast as the work goes: `wait` returns at once. Implements `protocols.Clock`."""

    realtime = False
    origin_ns: int | None = None

    def __init__(self) -> None:
        self._last_tick = -1

    def wait(self, tick: int) -> int:
        """Return 0 at once: no tick is ever overdue. Raises InputError unless the ticks come in order."""
        if tick <= self._last_tick:
            raise InputError(f"tick: expected at least {self._last_tick + 1}, the next one, got {tick}")
        self._last_tick = tick
        return 0

    def certificate(self) -> TimingCertificate:
        """State that no real time was kept, so none was measured. The same for every run."""
        return {"realtime": False, "clock": {"name": "virtual", "hardware": None}}


_timed_sessions_lock = Lock()
_timed_sessions = 0  # sessions of this process that keep real time now


@contextmanager
def _short_collections() -> Iterator[None]:
    """Keep garbage collections short while any session keeps real time: they skip the objects that existed before.

    A full collection stops all threads. With the modules of a live call loaded it takes 13 to 19 ms, longer than a
    tick. The garbage of ended sessions is collected when the next session begins: left to pile up for minutes, it
    would take as long again.
    """
    global _timed_sessions
    with _timed_sessions_lock:
        if not _timed_sessions:
            gc.freeze()
        gc.collect()
        _timed_sessions += 1
    try:
        yield
    finally:
        with _timed_sessions_lock:
            _timed_sessions -= 1
            if not _timed_sessions:
                gc.unfreeze()


def machine_load() -> MachineLoad:
    """The load average over 1, 5 and 15 minutes (None where the system has none) and the number of processors."""
    try:
        load_average = list(os.getloadavg())
    except OSError:
        load_average = None
    return {"load_average": load_average, "cpu_count": os.cpu_count()}


def now_ns() -> int:
    """The monotonic time in ns. Every pacer keeps this clock, and arrivals are stamped with it."""
    return time.monotonic_ns()


def utc_now() -> str:
    """The wall-clock time as ISO 8601 in UTC, to the millisecond: "2025-01-31T09:30:00.125Z"."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()


def local_minute() -> str:
    """The wall-clock time on the user's clock, for names of files: "20250131-0930"."""
    return datetime.now().astimezone().strftime("%Y%m%d-%H%M")


def iso_s(text: str) -> float:
    """An ISO 8601 time in seconds since 1970. A time without a zone is taken as UTC. ValueError if it is not valid."""
    time_read = datetime.fromisoformat(text)
    return (time_read if time_read.tzinfo else time_read.replace(tzinfo=UTC)).timestamp()


def clock_s(text: str) -> float | None:
    """The seconds of a clock time such as 3:40, 00:02.8 or 1:02:03.5; None if a text is none.

    ValueError for minutes or seconds from 60 on after a colon.
    """
    found = _CLOCK_TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    if seconds >= 60 or (found[1] and minutes >= 60):
        raise ValueError(f"{'minutes' if seconds < 60 else 'seconds'} below 60 after a colon")
    return 3600 * hours + 60 * minutes + seconds


def _hardware_clock() -> str | None:
    """The kernel's time source ("tsc", "kvm-clock"), None if unknown. Some are slow to read or differ by processor."""
    try:
        return _HARDWARE_CLOCK.read_text().strip()
    except OSError:
        return None
