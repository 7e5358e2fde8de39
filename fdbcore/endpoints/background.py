"""Runs the connection of a party on the network's event loop, from its handshake to its last message."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeAlias

from fdbcore.errors import PartyError
from fdbcore.runtime.network import event_loop

Connection: TypeAlias = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]
"""A coroutine function that connects, calls its argument once the party is ready, and returns when the party has left.
If it is cancelled, it releases everything."""


class Background:
    """One connection on the network's loop: `open` returns once it is ready, `close` once it has ended."""

    def __init__(self) -> None:
        self._ready: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._task: asyncio.Task[None] | None = None

    def open(self, connection: Connection, timeout_s: float) -> None:
        """Start the connection and wait until it is ready. If it ends before that, its own error is raised.

        If it is not ready after `timeout_s`, it is cancelled, and TimeoutError is raised once it has ended. PartyError
        if another thread closes it meanwhile.
        """
        event_loop().call_soon_threadsafe(self._launch, connection)
        try:
            wait((self._ready, self._ended), timeout_s, FIRST_COMPLETED)
        except BaseException:
            self.close()
            raise
        if self._ready.done():
            return
        if self._ended.done():
            self._ended.result()
            raise PartyError("closed while it was being opened")
        self.close()
        raise TimeoutError

    def close(self) -> None:
        """Cancel the connection and wait until it has ended. Raises its error if it failed after it was ready."""
        event_loop().call_soon_threadsafe(self._cancel)
        wait((self._ended,))
        if self._ready.done():
            self._ended.result()

    def _launch(self, connection: Connection) -> None:
        if not self._ended.done():  # it was not closed before it began
            started = connection(lambda: self._ready.set_result(None))
            self._task = asyncio.get_running_loop().create_task(started)
            self._task.add_done_callback(self._note_end)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif not self._ended.done():
            self._ended.set_result(None)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)
