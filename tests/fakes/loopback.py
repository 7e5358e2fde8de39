"""A web server on 127.0.0.1, in a thread of its own, while it is entered."""

import asyncio
import signal
import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web
from aiohttp.typedefs import Middleware
from helpers.patience import PATIENCE_S


class Loopback(ABC):
    """What serves `routes`. sessions: each with the errors of the fake itself, which are raised when it is left."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.sessions: list[Any] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__)

    @abstractmethod
    def routes(self) -> Sequence[web.RouteDef]:
        """What it serves."""

    def middlewares(self) -> Sequence[Middleware]:
        """What each request passes through."""
        return ()

    async def stop(self) -> None:
        """Serve no longer."""
        await self._runner.cleanup()

    def url(self, scheme: Literal["http", "ws"]) -> str:
        """Where it is served, without a path."""
        return f"{scheme}{'s' if self._tls else ''}://127.0.0.1:{self._runner.addresses[0][1]}"

    def introduction(self) -> str:
        """What a client has to know: where it is served, and the key."""
        return self.url("http")

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if kind is None:
            for fault in (error for session in self.sessions for error in session.errors):
                raise fault

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**24, middlewares=self.middlewares())
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()


def free_port() -> int:
    """A port of 127.0.0.1 where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def serve_alone(server: Loopback) -> None:
    """Serve until Ctrl-C or the end of the process, as a program; it prints its introduction once it listens."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with server:
        print(server.introduction(), flush=True)
        while not ended.wait(0.1):  # its handler waits until the main thread runs, if another one gets the signal
            pass
