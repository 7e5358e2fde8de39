"""A worker process in the folder of a run. It works as long as its owner lives and keeps the pipe open.

It is spawned, not forked. Messages in both directions go through the pipe; what it prints goes to the run's log. It
ignores Ctrl-C, which its owner handles. It shares the lock of the run, so another command waits until it has ended.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from fdbcore.recording.run import LOG, shared_lock
from fdbcore.runtime.parallel import leave_terminal, uninterrupted
from fdbcore.runtime.redaction import write_no_secrets

_LEAVING_S: Final = 10.0  # how long a process that was asked to end may take before it is killed
_DYING_S: Final = 5.0  # how long to wait for the exit code of a process whose pipe has closed
_SPAWN: Final = multiprocessing.get_context("spawn")


class RunProcess:
    """A process that runs `work(connection, *arguments)` with its end of the pipe. `close` ends it.

    connection: our end; readable when `received` has something to return.
    """

    def __init__(self, run_path: Path, work: Callable[..., None], *arguments: object) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_live, args=(run_path, work, theirs, *arguments), name="fdbcore-worker")
        with uninterrupted():
            self._process.start()
        theirs.close()  # only the process keeps its end, so its death closes the pipe

    def send(self, message: object) -> None:
        """Send a message. If the process has died, `received` reports it."""
        with suppress(BrokenPipeError):
            self.connection.send(message)

    def received(self) -> list[Any] | None:
        """The messages since the last call, once `connection` is readable; None if the process has died."""
        found: list[Any] = []
        try:
            while self.connection.poll():
                found.append(self.connection.recv())
        except (EOFError, ConnectionResetError):
            return found or None
        return found

    def cause_of_death(self) -> str:
        """How the process ended, in words."""
        self._process.join(_DYING_S)
        code = self._process.exitcode
        return f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """Ask the process to end. To end several, stop all of them before closing each."""
        self.connection.close()

    def close(self, leaving_s: float = _LEAVING_S) -> None:
        """End the process; kill it if it takes longer than `leaving_s`. No process is left afterwards."""
        self.stop()
        self._process.join(leaving_s)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def messages(connection: Connection) -> Iterator[Any]:
    """In the worker process: the messages of the owner, until it closes the pipe or dies."""
    with suppress(EOFError, ConnectionError):
        while True:
            yield connection.recv()


def _live(run_path: Path, work: Callable[..., None], connection: Connection, *arguments: object) -> None:
    leave_terminal()
    with shared_lock(run_path), open(run_path / LOG, "a", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        write_no_secrets()
        faulthandler.enable()
        with suppress(ConnectionError):  # the owner has died: nobody waits for an answer
            work(connection, *arguments)
        sys.stdout.flush()
        os._exit(0)  # a normal exit would wait for threads, and one of them may never end
