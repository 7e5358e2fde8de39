"""How long tests wait for what must happen: only a hang is found by it, however busy the machine is."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 300.0


def wait_until(happened: Callable[[], object]) -> None:
    """Wait until it is so, which another thread or process brings about; AssertionError if it never is."""
    end_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end_s, "it never happened"
        time.sleep(0.01)
