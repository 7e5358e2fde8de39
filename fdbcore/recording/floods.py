"""Limits on the events that a party may send, so that a party that floods us harms no other call."""

from typing import Final

FLOODS: Final = "floods: "
"""The reason of a party that sent too much begins with this. It is to blame for everything that suffered from it."""

MOST_EVENTS_PER_S: Final = 1000
MOST_BYTES_PER_S: Final = 1_000_000
MOST_EVENTS_AT_ONCE: Final = 2 * MOST_EVENTS_PER_S
MOST_BYTES_AT_ONCE: Final = 4 * MOST_BYTES_PER_S
MOST_EVENTS: Final = 200_000
MOST_BYTES: Final = 64_000_000
"""Limits for one side in one call."""


class TokenBucket:
    """A token bucket: it refills at `per_s` tokens a second, up to `at_once`. The caller passes the time, in ns."""

    def __init__(self, per_s: float, at_once: float) -> None:
        self._per_ns = per_s / 1e9
        self._at_once = self._tokens = at_once
        self._last_ns: int | None = None

    def take(self, now_ns: int, count: float = 1) -> bool:
        """Take `count` tokens and return True; False, and none are taken, if there are too few."""
        elapsed_ns = 0 if self._last_ns is None else max(0, now_ns - self._last_ns)
        self._last_ns = now_ns
        self._tokens = min(self._at_once, self._tokens + elapsed_ns * self._per_ns)
        if self._tokens < count:
            return False
        self._tokens -= count
        return True


class EventAllowance:
    """The events, and bytes of events, that one side may send in a call: per second and in all."""

    def __init__(self) -> None:
        self._events = TokenBucket(MOST_EVENTS_PER_S, MOST_EVENTS_AT_ONCE)
        self._bytes = TokenBucket(MOST_BYTES_PER_S, MOST_BYTES_AT_ONCE)
        self._n_events = self._n_bytes = 0

    def take(self, now_ns: int, size_bytes: int) -> str | None:
        """Count an event of `size_bytes`; return None, or why it is one too many."""
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
