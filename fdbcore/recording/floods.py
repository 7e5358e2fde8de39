"""How much a party may tell, so that one that tells without end harms no other call."""

from __future__ import annotations

from typing import Final

FLOODS: Final = "floods: "
"""How the reason of one begins that told too much: what suffers from it meanwhile is its own fault."""

MOST_EVENTS_PER_S: Final = 1000
MOST_BYTES_PER_S: Final = 1_000_000
MOST_EVENTS_AT_ONCE: Final = 2 * MOST_EVENTS_PER_S
MOST_BYTES_AT_ONCE: Final = 4 * MOST_BYTES_PER_S
MOST_EVENTS: Final = 200_000
MOST_BYTES: Final = 64_000_000
"""Of one side, in one call."""


class TokenBucket:
    """Lets through `per_s` a second, and `at_once` after a rest; the time is what it is told, in ns."""

    def __init__(self, per_s: float, at_once: float) -> None:
        self._per_ns = per_s / 1e9
        self._at_once = self._left = at_once
        self._last_ns: int | None = None

    def take(self, now_ns: int, count: float = 1) -> bool:
        """Whether `count` may pass now; if not, nothing is taken."""
        rested_ns = 0 if self._last_ns is None else max(0, now_ns - self._last_ns)
        self._last_ns = now_ns
        self._left = min(self._at_once, self._left + rested_ns * self._per_ns)
        if self._left < count:
            return False
        self._left -= count
        return True


class EventAllowance:
    """What one side may tell in a call: events and their bytes, a second and in all."""

    def __init__(self) -> None:
        self._events = TokenBucket(MOST_EVENTS_PER_S, MOST_EVENTS_AT_ONCE)
        self._bytes = TokenBucket(MOST_BYTES_PER_S, MOST_BYTES_AT_ONCE)
        self._n_events = self._n_bytes = 0

    def take(self, now_ns: int, size_bytes: int) -> str | None:
        """Count an event; None, or why it is one too many."""
        self._n_events += 1
        self._n_bytes += size_bytes
        if not self._events.take(now_ns):
            return f"{FLOODS}more than {MOST_EVENTS_PER_S} events a second"
        if not self._bytes.take(now_ns, size_bytes):
            return f"{FLOODS}more than {MOST_BYTES_PER_S // 1_000_000} MB of events a second"
        if self._n_events > MOST_EVENTS:
            return f"{FLOODS}more than {MOST_EVENTS:,} events in a call"
        if self._n_bytes > MOST_BYTES:
            return f"{FLOODS}more than {MOST_BYTES // 1_000_000} MB of events in a call"
        return None
