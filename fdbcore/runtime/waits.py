"""Waits for busy servers: who waits tells of it, and who shows progress shows it while it lasts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from fdbcore.clock import now_ns

SHOWN_FROM_S: Final = 1.0
"""Shorter waits are not worth a line."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait for a server. name: of what is asked there. until_ns: on the clock of `now_ns`."""

    name: str
    reason: str
    wait_s: float
    until_ns: int

    def __str__(self) -> str:
        return f"{self.name}: its server is busy ({self.reason}), waiting {self.wait_s:.0f} s"


_watchers: list[Callable[[Wait], None]] = []


@contextmanager
def watching_waits(watch: Callable[[Wait], None]) -> Iterator[None]:
    """Within the block, `watch` is called with each wait of this process that begins, on the thread that waits."""
    _watchers.append(watch)
    try:
        yield
    finally:
        _watchers.remove(watch)


def tell_wait(name: str, reason: str, wait_s: float) -> None:
    """Tell that this thread is about to wait."""
    if wait_s >= SHOWN_FROM_S:
        pass_on(Wait(name, reason, wait_s, now_ns() + round(1e9 * wait_s)))


def pass_on(wait: Wait) -> None:
    """Tell of a wait, also one of another process."""
    for watch in tuple(_watchers):
        watch(wait)
