"""A process that works in the folder of a run, as long as its owner lives and keeps the pipe to it open.

It is spawned, not forked. What it is told and what it answers goes through the pipe, what it prints to the run's log.
It leaves Ctrl-C to its owner, and shares the lock of the run, so that another command waits until it has ended.
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

_LEAVING_S: Final = 10.0  # what a process that is to end is given for it
_DYING_S: Final = 5.0
_SPAWN: Final = multiprocessing.get_context("spawn")


class RunProcess:
    """A process that runs `work` on its end of the pipe and `arguments`; closing it ends it.

    connection: readable when there is something for `received` to find.
    """

    def __init__(self, run_path: Path, work: Callable[..., None], *arguments: object) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_live, args=(run_path, work, theirs, *arguments), name="fdbcore-worker")
        with uninterrupted():
            self._process.start()
        theirs.close()

    def send(self, message: object) -> None:
        """Tell it something; that it has died shows when it is read."""
        with suppress(BrokenPipeError):
            self.connection.send(message)

    def received(self) -> list[Any] | None:
        """What it has sent since the last call, once `connection` is readable; None if it has died."""
        found: list[Any] = []
        try:
            while self.connection.poll():
                found.append(self.connection.recv())
        except (EOFError, ConnectionResetError):
            return found or None
        return found

    def cause_of_death(self) -> str:
        """How it has ended."""
        self._process.join(_DYING_S)
        code = self._process.exitcode
        return f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """Let it end; for several at once, before they are closed."""
        self.connection.close()

    def close(self, leaving_s: float = _LEAVING_S) -> None:
        """End it: in good order if that takes no longer than `leaving_s`; no process is left."""
        self.stop()
        self._process.join(leaving_s)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def told(connection: Connection) -> Iterator[Any]:
    """In the process: what its owner sends, until that closes the pipe, or dies."""
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
        os._exit(0)  # not held up by a thread that never ends
