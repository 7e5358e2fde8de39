"""What both clients share: a caller who speaks at given times, and lines of JSON about what comes."""

from __future__ import annotations

import array
import json
import math
import threading
import time
from collections.abc import Callable, Sequence

PACKET_MS = 20

_printing = threading.Lock()


def tell(event: str, **fields: object) -> None:
    """Print a line."""
    with _printing:
        print(json.dumps({"event": event, **fields}), flush=True)


def call(send: Callable[[bytes], object], rate_hz: int, spans_ms: Sequence[tuple[int, int]], length_ms: int) -> None:
    """Send a tone in these spans and silence beside them, 20 ms at a time, as time passes."""
    began = time.monotonic()
    for at_ms in range(0, length_ms, PACKET_MS):
        time.sleep(max(0.0, began + at_ms / 1000 - time.monotonic()))
        loud = any(start <= at_ms < end for start, end in spans_ms)
        n = range(rate_hz * at_ms // 1000, rate_hz * (at_ms + PACKET_MS) // 1000)
        send(array.array("h", [round(9000 * loud * math.sin(2764.6 * i / rate_hz)) for i in n]).tobytes())
