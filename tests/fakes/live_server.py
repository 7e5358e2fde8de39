"""A server of GPT-Live, over real sockets and in real time, that says what a test has planned.

    with LiveServer(LivePlan([Reply("Good day.")])) as server:
        AsyncOpenAI(base_url=server.base_url, api_key=server.key).live.connect()
        server.sessions[0].events("session.start")

Unknown, and so plain here: its close codes, the codes of errors that the vendor's own client does not name, and the
length of its frames (100 ms, as was seen once).

Run alone, it prints its base URL and key: `PYTHONPATH=tests python -m fakes.live_server`.
"""

from collections.abc import Sequence
from contextlib import suppress

from aiohttp import WSMsgType, web
from fakes.live.plan import LivePlan
from fakes.live.session import MODELS, LiveSession
from fakes.loopback import serve_alone
from fakes.realtime.checks import Wrong
from fakes.realtime.plan import RATE_HZ, Call, Faults, Reply, Wave, place_of, tones
from fakes.realtime.websocket import SocketWire
from fakes.vendor_server import VendorServer, failure

__all__ = ["RATE_HZ", "Call", "Faults", "LivePlan", "LiveServer", "Reply", "Wave", "place_of", "tones"]

PATH = "/v1/live/sessions"


class LiveServer(VendorServer):
    """Serves on 127.0.0.1, in a thread of its own, while it is entered. sessions: all that were begun."""

    sessions: list[LiveSession]
    variable = "OPENAI_API_KEY"
    model = MODELS[0]

    def __init__(self, plan: LivePlan | None = None, faults: Faults | None = None) -> None:
        super().__init__("authorization", faults)
        self.plan = plan or LivePlan()

    @property
    def base_url(self) -> str:
        return f"{self.url('http')}/v1"

    def routes(self) -> Sequence[web.RouteDef]:
        attach = web.get(f"{PATH}/{{session_id}}/attach", self._attach)
        return [web.get(PATH, self._talk), attach]

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        if refused := self.keeps_out(request):
            return refused
        if request.query:
            return failure(400, Wrong("unknown_parameter", "This endpoint has no query parameters."))
        socket = web.WebSocketResponse(timeout=0.5, max_msg_size=2**25)
        await socket.prepare(request)
        session = LiveSession(SocketWire(socket, request.transport), self.plan, self.faults, len(self.sessions))
        self.sessions.append(session)
        try:
            async for message in socket:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    await session.take(message.data)
            if session.settings:
                session.wire = session.attached.pop(0) if session.attached else session.wire
                await session.finish("connection_lost")
        except ConnectionError:
            pass  # nobody is left to tell
        except Exception as error:
            session.errors.append(error)
        finally:
            session.end()
        return socket

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        """A second connection, which sees what happens in a session, with times."""
        if refused := self.keeps_out(request):
            return refused
        session = next((each for each in self.sessions if each.id == request.match_info["session_id"]), None)
        if session is None or session.ended:
            return failure(404, Wrong("session_not_found", "No such session."))
        socket = web.WebSocketResponse(timeout=0.5, max_msg_size=2**25)
        await socket.prepare(request)
        wire = SocketWire(socket, request.transport)
        session.attached.append(wire)
        with suppress(ConnectionError):
            async for _ in socket:
                pass
        if wire in session.attached:
            session.attached.remove(wire)
        return socket


if __name__ == "__main__":
    serve_alone(LiveServer())
