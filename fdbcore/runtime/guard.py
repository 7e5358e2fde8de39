"""That nothing which this process has started outlives it, also where it is killed and can do nothing about it."""

from __future__ import annotations

import subprocess
from typing import Final

# At the end of its input, which comes when we end, however that is: kill the group whose number is $0.
_GUARD: Final = 'read -r line || kill -s KILL -- "-$0"'


class Guard:
    """A small process that kills a process group if this one ends before `release`. Alike on Linux and macOS."""

    def __init__(self, group: int) -> None:
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", _GUARD, str(group)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    def release(self) -> None:
        """The group has ended, and its number may be that of another; a second call changes nothing."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
