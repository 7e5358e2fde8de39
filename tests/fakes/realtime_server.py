"""A server of OpenAI's realtime interface (GA), over real sockets, that says what a test has planned.

    with RealtimeServer(Plan([Reply("Good day.")])) as server:
        AsyncOpenAI(base_url=server.base_url, api_key=server.key).realtime.connect(model=server.model)  # or a call
        server.sessions[0].events("session.update")

It finds turns by the energy of what it hears, keeps to the documented order of events, checks settings by the types of
the vendor's own client, and goes wrong where its `Faults` say so. What is documented nowhere, it does in the plainest
way: the pace of deltas, and texts of errors.

Run alone, it prints its base URL and key: `PYTHONPATH=tests python -m fakes.realtime_server [DIALECT]`.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

from aiohttp import web
from fakes.loopback import serve_alone
from fakes.realtime.checks import Wrong
from fakes.realtime.dialects import DIALECTS
from fakes.realtime.parts import Item, Logged, Wire
from fakes.realtime.plan import RATE_HZ, Call, Faults, Pace, Plan, Reply, Wave, place_of, tones
from fakes.realtime.session import Session
from fakes.realtime.webrtc import CallDesk
from fakes.realtime.websocket import SocketWire, serve, turn_away, wrong_model
from fakes.vendor_server import VendorServer

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


class RealtimeServer(VendorServer):
    """Serves on 127.0.0.1, in a thread of its own, while it is entered.

    sessions: all that were begun. key, variable: what lets in, and the environment variable that holds it.
    """

    sessions: list[Session]

    def __init__(self, plan: Plan | None = None, dialect: str = "openai", faults: Faults | None = None) -> None:
        self.dialect = DIALECTS[dialect]
        super().__init__(self.dialect.header, faults)
        self.plan = plan or Plan()
        self.variable = self.dialect.variable
        self.model = self.dialect.models[-1] if self.dialect.models else "local"
        self.queries: list[dict[str, str]] = []
        self._desk = CallDesk(self, self.dialect, self._begin)
        self._busy = 0

    @property
    def base_url(self) -> str:
        """What a client of the vendor calls so: without the last part of the path."""
        return f"{self.url('http')}{self.dialect.path.removesuffix('/realtime')}"

    def routes(self) -> Sequence[web.RouteDef]:
        path = self.dialect.path
        return [web.get(path, self._talk), *(self._desk.routes() if self.dialect.webrtc else ())]

    async def stop(self) -> None:
        await self._desk.end()
        await super().stop()

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        if refused := self.keeps_out(request):
            return refused
        socket = web.WebSocketResponse(timeout=0.5, max_msg_size=2**25)
        await socket.prepare(request)
        wire = SocketWire(socket, request.transport)
        self.queries.append(dict(request.query))
        model = request.query.get("model") or request.query.get("deployment", "")
        wrong = wrong_model(self.dialect, model)
        if self.faults.at_once is not None:
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


if __name__ == "__main__":
    serve_alone(RealtimeServer(dialect=sys.argv[1] if len(sys.argv) > 1 else "openai"))
