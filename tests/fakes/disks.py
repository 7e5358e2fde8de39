"""Disks that cannot keep up, without a change to what writes to them."""

import fcntl
import os
import resource
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread


class SlowDisk:
    """A pipe in the place of a file: who writes more than a few pages to it waits until it flows."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._reader = Thread(target=self._read)

    def wait_for_writer(self) -> None:
        """Return once something was written."""
        while not struct.unpack("i", fcntl.ioctl(self._end, termios.FIONREAD, bytes(4)))[0]:
            time.sleep(0.01)

    def flow(self) -> None:
        """From now on take what comes, until the writer closes."""
        if not self._reader.ident:
            os.set_blocking(self._end, True)
            self._reader.start()

    def close(self) -> None:
        """After the writer has closed."""
        self._reader.join()
        os.close(self._end)

    def _read(self) -> None:
        while os.read(self._end, 1 << 20):
            pass


@contextmanager
def full_after(file_bytes: int) -> Iterator[None]:
    """No file gets longer than this, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
