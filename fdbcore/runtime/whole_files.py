"""Reads files whole, and writes them atomically: a reader sees the old file or the whole new one."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from fdbcore.runtime.locks import lock

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_MOST_BYTES: Final = 2**29
"""Of a text: a week of events takes less."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open an empty file that replaces `path` at the end of the `with` block, or is removed after an error.

    The file lies beside `path` (PATH.part) and is locked, so another process that writes the same file waits. If this
    process is killed, the next writer overwrites what it left. Raises OSError.
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


def read_whole(path: "Path | Traversable") -> bytes:
    """The bytes of a file, or of one in a package. OSError if it cannot be read, or is a pipe or a device that lies
    among files: it may never end. What a shell hands over (/dev/stdin, /dev/fd/63) is read."""
    if not isinstance(path, Path):
        return path.read_bytes()
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) or path.parts[:2] == ("/", "dev")):
        raise OSError(errno.EINVAL, "it is a pipe or a device")
    if found.st_size > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, at most {_MOST_BYTES:,} are read")
    return path.read_bytes()


def no_link(path: str, flags: int) -> int:
    """An opener for `open`. OSError if the file is a link: what is written would land elsewhere."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _locked(path: Path) -> BinaryIO:
    """The file `path`, emptied, open and locked by this process alone. What is no file of its own there is removed."""
    while True:
        try:
            file = open(path, "r+b", opener=lambda name, _: no_link(name, os.O_RDWR | os.O_CREAT))
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            path.unlink()
            continue
        try:
            lock(file, waits=True)
            with suppress(FileNotFoundError):
                found = os.fstat(file.fileno())
                if os.path.samestat(found, path.lstat()):
                    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                        file.truncate(0)
                        return file
                    path.unlink()
        except BaseException:
            file.close()
            raise
        file.close()  # while we waited for the lock, its owner renamed the file: open the new one
