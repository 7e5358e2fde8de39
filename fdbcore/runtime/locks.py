"""Locks files and folders between processes. A lock lasts as long as the file or folder stays open."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def lock(file: int | IO[bytes], *, shared: bool = False, waits: bool = False) -> None:
    """Lock an open file or folder, exclusively or shared (`flock`). Does nothing if the file system has no locks.

    waits: wait until others have released it; otherwise BlockingIOError if they hold it.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind if waits else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold a shared lock on the folder `path`: it tells later commands that calls are still being recorded there."""
    folder = os.open(path, os.O_RDONLY)
    try:
        lock(folder, shared=True)
        yield
    finally:
        os.close(folder)
