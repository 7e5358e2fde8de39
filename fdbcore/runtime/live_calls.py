"""Tells processes of one user on this machine whether live calls are held, which need its processor cores."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

from fdbcore.runtime.locks import lock


@contextmanager
def live_calls() -> Iterator[None]:
    """Live calls are held as long as the `with` block lasts."""
    with open(_file(), "ab") as file:
        lock(file, shared=True, waits=True)
        yield


def are_held() -> bool:
    """True if some process holds live calls, this one included."""
    with open(_file(), "ab") as file:
        try:
            lock(file)
        except BlockingIOError:
            return True
    return False


def _file() -> Path:
    return Path(gettempdir()) / f"fdbcore-live-calls-{os.getuid()}"
