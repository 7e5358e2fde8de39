"""Makes sure that no process we started outlives us, even if we are killed and cannot clean up."""

import subprocess
from typing import Final

# `read` fails at the end of the input, which comes when our process ends in any way: then kill the process group $0.
_GUARD: Final = 'read -r line || kill -s KILL -- "-$0"'


class Guard:
    """A small helper process that kills a process group if our process ends before `release`.

    group: the process group's id. It works on Linux and on macOS, which has no parent-death signal.
    """

    def __init__(self, group: int) -> None:
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", _GUARD, str(group)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,  # a group of its own, so that a Ctrl-C in the terminal does not end it
        )

    def release(self) -> None:
        """End the guard. Call it once the group has ended, because its id may then be reused. May be called again."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
