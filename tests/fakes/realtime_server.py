"""A server of OpenAI's realtime interface (GA), over real sockets, that says what a test has planned.

    with RealtimeServer(Plan([Reply("Good day.")])) as server:
        AsyncOpenAI(base_url=server.base_url, api_key=server.key).realtime.connect(model=server.model)  # or a call
        server.sessions[0].events("session.update")

It finds turns by the energy of what it hears, keeps to the documented order of events, checks settings by the types of
the vendor's own client, and goes wrong where its `Faults` say so. What is documented nowhere, it does in the plainest
way: the pace of deltas, and texts of errors.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Handler
from fakes.realtime.checks import Wrong
from fakes.realtime.dialects import DIALECTS
from fakes.realtime.parts import Item, Logged, Wire
from fakes.realtime.plan import RATE_HZ, Call, Faults, Pace, Plan, Reply, Wave, place_of, tones
from fakes.realtime.session import Session
from fakes.realtime.webrtc import CallDesk
from fakes.realtime.websocket import BETA_IS_GONE, SocketWire, lets_in, refusal, serve, turn_away, wrong_model

__all__ = [
    "RATE_HZ",
    "Call",
    "Faults",
    "Item",
    "Logged",
    "Pace",
    "Plan",
    "RealtimeServer",
    "Reply",
    "Wave",
    "place_of",
    "tones",
]


@dataclass(frozen=True)
class Asked:
    """An HTTP request, be it refused or not."""

    at_s: float
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


class RealtimeServer:
    """Serves on 127.0.0.1, in a thread of its own, while it is entered. sessions: all that were begun. asked: all
    requests. key, variable: what lets in, and the environment variable that holds it."""

    def __init__(self, plan: Plan | None = None, dialect: str = "openai", faults: Faults | None = None) -> None:
        self.plan, self.faults = plan or Plan(), faults or Faults()
        self.dialect = DIALECTS[dialect]
        self.key = f"sk-fake-{dialect}-0123456789abcdef" if self.dialect.header else ""
        self.variable = self.dialect.variable
        self.model = self.dialect.models[-1] if self.dialect.models else "local"
        self.sessions: list[Session] = []
        self.asked: list[Asked] = []
        self._desk = CallDesk(self.dialect, self.key, self._begin)
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._busy = 0

    @property
    def base_url(self) -> str:
        """What a client of the vendor calls so: without the last part of the path."""
        return f"http://127.0.0.1:{self._port}{self.dialect.path.removesuffix('/realtime')}"

    def wait_for(self, when: Callable[[], object], timeout_s: float = 10.0) -> None:
        """Wait until it is so, which another thread brings about."""
        end_s = time.monotonic() + timeout_s
        while not when():
            if time.monotonic() > end_s:
                raise TimeoutError
            time.sleep(0.005)

    def __enter__(self) -> Self:
        self._runner = self._loop.run_until_complete(self._started())
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-realtime")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stopped(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _started(self) -> web.AppRunner:
        app = web.Application(client_max_size=2**24, middlewares=[self._let_in])
        app.router.add_get(self.dialect.path, self._talk)
        if self.dialect.webrtc:
            app.add_routes(self._desk.routes())
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._port = runner.addresses[0][1]
        return runner

    async def _stopped(self) -> None:
        await self._desk.end()
        await self._runner.cleanup()

    @web.middleware
    async def _let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append(
            Asked(time.monotonic(), request.method, request.path, dict(request.query), dict(request.headers))
        )
        if self.faults.http_status is not None and len(self.asked) <= self.faults.refused:
            return refusal(self.faults)
        return await handler(request)

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        if refused := lets_in(self.dialect, self.key, request.headers):
            return refused
        socket = web.WebSocketResponse(timeout=0.5, max_msg_size=2**25)
        await socket.prepare(request)
        wire = SocketWire(socket, request.transport)
        model = request.query.get("model") or request.query.get("deployment", "")
        wrong = wrong_model(self.dialect, model)
        if "OpenAI-Beta" in request.headers and self.dialect.name in ("openai", "azure"):
            wrong = BETA_IS_GONE
        elif self.faults.at_once is not None:
            wrong = Wrong(self.faults.at_once, f"It was planned to fail by {self.faults.at_once}.")
        with suppress(ConnectionError):
            if wrong is not None:
                await turn_away(wire, wrong)
            elif self.dialect.one_session and self._busy:
                await turn_away(wire, Wrong("session_limit_reached", "Another session is active."), 1008)
            else:
                await self._hold(socket, wire, model)
        return socket

    def _begin(self, wire: Wire, model: str) -> Session:
        self.sessions.append(Session(wire, self.dialect, self.plan, self.faults, model, len(self.sessions)))
        return self.sessions[-1]

    async def _hold(self, socket: web.WebSocketResponse, wire: SocketWire, model: str) -> None:
        session = self._begin(wire, model)
        self._busy += 1
        try:
            await serve(socket, session)
        finally:
            self._busy -= 1
