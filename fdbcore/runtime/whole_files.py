"""Files that a reader sees as they were, or whole: never half written, however many processes write them at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fdbcore.runtime.locks import lock


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """An empty file that takes the name `path` once all is written to it, and is gone after an error.

    It lies beside `path`, and is locked: another process that writes the same waits, and what a kill leaves of it is
    written over by the next. Raises OSError.
    """
    temporary = path.with_name(path.name + ".part")
    with _locked(temporary) as file:
        try:
            yield file
            file.flush()
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def _locked(path: Path) -> BinaryIO:
    """The file `path`, emptied, that no other process has open so."""
    while True:
        file = open(path, "r+b", opener=lambda name, _: os.open(name, os.O_RDWR | os.O_CREAT, 0o666))
        try:
            lock(file, waits=True)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    file.truncate(0)
                    return file
        except BaseException:
            file.close()
            raise
        file.close()  # while this process waited, another gave it its name
