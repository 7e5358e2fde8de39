"""What a connected party runs on the network's event loop, from its handshake to its last message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeAlias

from fdbcore.errors import PartyError
from fdbcore.runtime.network import event_loop

Connection: TypeAlias = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]
"""Connects, calls its argument once the party is ready, ends when the party has left; releases all when cancelled."""


class Background:
    """One coroutine on the network's loop: `open` returns once it is ready, `close` once it has ended."""

    def __init__(self) -> None:
        self._ready: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._task: asyncio.Task[None] | None = None

    def open(self, connection: Connection, timeout_s: float) -> None:
        """Start it and wait until it is ready; its own error if it ends before.

        TimeoutError, once it has ended, if it is not ready after `timeout_s`. PartyError if another thread closes it.
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
        """Cancel it and wait until it has ended; its error, if it failed after it was ready."""
        event_loop().call_soon_threadsafe(self._cancel)
        wait((self._ended,))
        if self._ready.done():
            self._ended.result()

    def _launch(self, connection: Connection) -> None:
        if not self._ended.done():
            self._task = asyncio.get_running_loop().create_task(self._run(connection))
            self._task.add_done_callback(self._note_end)

    async def _run(self, connection: Connection) -> None:
        await connection(lambda: self._ready.set_result(None))

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
