"""A system that keeps the plain WebSocket contract, over real sockets, and breaks it on request."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
from aiohttp import WSMsgType, web
from helpers.patience import PATIENCE_S

from fdbcore.runtime.network import await_result
from fdbcore.types import FRAME_SAMPLES


def frames(count: int, first: int = 1) -> list[bytes]:
    """Frames that say which they are: constant at first, first + 1, ..."""
    return [np.full(FRAME_SAMPLES, value, dtype="<i2").tobytes() for value in range(first, first + count)]


class Call:
    """One connection, as the system sees it. hello: what it was greeted with. heard, events: what came after it."""

    def __init__(self, ws: web.WebSocketResponse, transport: asyncio.Transport) -> None:
        self.ws = ws
        self._transport = transport
        self.hello: dict[str, Any] = {}
        self.heard: list[bytes] = []
        self.events: list[dict[str, Any]] = []

    async def ready(self, **fields: object) -> None:
        """Answer the greeting."""
        await self.tell("ready", **fields)

    async def tell(self, kind: str, **fields: object) -> None:
        """Send an event."""
        await self.ws.send_json({"type": kind, **fields})

    async def say(self, messages: Iterable[bytes]) -> None:
        """Send audio."""
        for message in messages:
            await self.ws.send_bytes(message)

    async def listen(self) -> AsyncIterator[bytes]:
        """The frames that come in, until the other side closes; events are kept aside."""
        async for message in self.ws:
            if message.type is WSMsgType.BINARY:
                self.heard.append(message.data)
                yield message.data
            elif message.type is WSMsgType.TEXT:
                self.events.append(json.loads(message.data))

    async def listen_to_the_end(self) -> None:
        """Hear all, and say nothing."""
        async for _ in self.listen():
            pass

    def break_off(self) -> None:
        """Cut the connection as a crash would, without a word."""
        self._transport.abort()


Script: TypeAlias = Callable[[Call], Awaitable[None]]
"""What the system does once it has been greeted; the connection is closed when it returns."""


class PcmServer:
    """Plays `script` to each caller, on 127.0.0.1, while it is entered; with another status than 101 it refuses."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, status: int = 101) -> None:
        self._script = script
        self._tls = tls
        self._status = status
        self._port = 0
        self.calls: list[Call] = []

    @property
    def address(self) -> str:
        """Where it is served."""
        return f"pcm_ws{'s' if self._tls else ''}://127.0.0.1:{self._port}/talk"

    def __enter__(self) -> Self:
        await_result(self._start(), PATIENCE_S)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await_result(self._runner.cleanup(), PATIENCE_S)

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_get("/talk", self._serve)
        self._runner = web.AppRunner(app, handle_signals=False, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        self._port = self._runner.addresses[0][1]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if self._status != 101:
            return web.Response(status=self._status)
        assert request.transport is not None
        ws = web.WebSocketResponse(timeout=0.5)
        await ws.prepare(request)
        call = Call(ws, request.transport)
        self.calls.append(call)
        try:
            call.hello = await ws.receive_json()
            await self._script(call)
            await ws.close()
        except (ConnectionError, TypeError):
            pass  # the caller has gone: nobody is left to tell
        return ws


async def hang(call: Call) -> None:
    """Stay, and neither read nor answer."""
    await asyncio.sleep(3600)
