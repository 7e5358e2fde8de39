"""Locks of files and folders, held between processes for as long as what is locked stays open."""

from __future__ import annotations

import fcntl
from typing import IO


def lock(file: int | IO[bytes], *, shared: bool = False, waits: bool = False) -> None:
    """Lock an open file or folder, alone or shared; where the file system has no locks, nothing is locked.

    BlockingIOError if others hold it so that it cannot be had; waits: until it can.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind if waits else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return
