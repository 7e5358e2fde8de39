"""A worker process. It works as long as its owner lives and keeps the pipe open.

It is spawned, not forked. Messages in both directions go through the pipe. Ctrl-C reaches it only through its owner.
"""

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final

from fdbcore.runtime.locks import shared_lock
from fdbcore.runtime.redaction import write_no_secrets

_LEAVING_S: Final = 10.0  # time for a process that was asked to end before it is killed
_DYING_S: Final = 5.0  # wait for the exit code of a process whose pipe has closed
_SPAWN: Final = multiprocessing.get_context("spawn")
_SAFE_PATH, _OURS = "PYTHONSAFEPATH", "for workers"


class WorkerProcess:
    """A process that runs `work(connection, *arguments)` with its end of the pipe. `close` ends it.

    connection: our end; readable when `received` has something to return. log: what the process prints goes there, and
    it shares the lock of that folder, so another command waits until it has ended. None: it prints where we do.
    """

    def __init__(self, log: Path | None, work: Callable[..., None], *arguments: object) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_live, args=(log, work, theirs, *arguments), name="fdbcore-worker")
        with _importing_nothing_from_here(), _uninterrupted():
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
        """The end of the process, in words."""
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


def _live(log: Path | None, work: Callable[..., None], connection: Connection, *arguments: object) -> None:
    _leave_terminal()
    _import_as_before()
    with nullcontext() if log is None else _printing_to(log):
        faulthandler.enable()
        with suppress(ConnectionError):  # the owner has died: nobody waits for an answer
            work(connection, *arguments)
        sys.stdout.flush()
        os._exit(0)  # a normal exit would wait for threads, and one of them may never end


@contextmanager
def _importing_nothing_from_here() -> Iterator[None]:
    """Python processes that are started in the `with` block take no module of the current folder for one of Python's.

    multiprocessing has no option for it, so the environment says it, and says no more of it afterwards: programs that
    the user names may import what lies beside them.
    """
    if not os.environ.get(_SAFE_PATH):
        os.environ[_SAFE_PATH] = _OURS
    try:
        yield
    finally:
        _import_as_before()


def _import_as_before() -> None:
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]


@contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    with shared_lock(log.parent), open(log, "a", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        write_no_secrets()
        yield


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started: it would reach them before they leave the terminal's group.

    The mask alone is not enough, because another thread may receive the signal. So the handler is replaced too, and
    is called afterwards.
    """
    resource_tracker.ensure_running()  # otherwise the first process starts it, and that unblocks Ctrl-C again
    put_off: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    is_ours = callable(handler) and threading.current_thread() is threading.main_thread()
    if is_ours:
        signal.signal(signal.SIGINT, lambda number, frame: put_off.append((number, frame)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if is_ours:
            signal.signal(signal.SIGINT, handler)
    if put_off and callable(handler):
        handler(*put_off[0])


def _leave_terminal() -> None:
    """In a process started under `_uninterrupted`: leave the terminal's group, and drop a Ctrl-C since then."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops the pending signal once it is unblocked
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)
