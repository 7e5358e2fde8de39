"""A server that speaks Socket.IO 5 over a WebSocket, as far as Freeze-Omni's demo server does, around a few lines.

    with FreezeOmniServer(Quirks(cues={3000: "time_out"})) as server:
        ... server.url("ws") + "/socket.io/?EIO=4&transport=websocket", server.parties[0].user

`test_freeze_omni_server.py` holds it to what Flask-SocketIO itself sends.

Run alone, it prints where it is served: `PYTHONPATH=tests python -m fakes.freeze_omni_server`.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aiohttp import web
from fakes.far_end import TEXT_OR_BYTES, FarEnd, Party
from fakes.freeze_omni_model import HANDLED, Habits, User
from fakes.loopback import serve_alone
from fakes.realtime.plan import Wave


@dataclass(frozen=True)
class Quirks:
    """How the server behaves, and where it goes wrong.

    habits: of the model. cues: by ms of the audio that came in, methods of `Line`. max_users: more are told so, and are
    sent away at their next event. refuses: the HTTP status in place of the WebSocket. ping_s: between its pings;
    pong_s: how long it waits for an answer. ready_s: until the connection to the namespace is confirmed.
    """

    habits: Habits = field(default_factory=Habits)
    cues: Mapping[int, str] = field(default_factory=dict)
    max_users: int = 5
    refuses: int | None = None
    ping_s: float = 25.0
    pong_s: float = 20.0
    ready_s: float = 0.0


class FreezeOmniServer(FarEnd["Line", Quirks]):
    """The server."""

    KEY = ""
    usual = Quirks()

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/socket.io/", self._connect)]

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if self.quirks.refuses is not None:
            return web.Response(status=self.quirks.refuses)
        if request.query.get("EIO") != "4" or request.query.get("transport") != "websocket":
            told = {"code": 5, "message": "Unsupported protocol version"}  # polling is not faked
            return web.json_response(told, status=400)
        return await self.serve(request, lambda ws: Line(self, request, ws))


class Line(Party):
    """One connection. user: what the model has of it; None if there were too many, or it has timed out."""

    def __init__(self, server: FreezeOmniServer, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(request, ws, server.quirks.cues)
        self.quirks = server.quirks
        here = sum(not party.ws.closed for party in server.parties)
        self.user = None if here >= self.quirks.max_users else User(self.quirks.habits)
        self._number = len(server.parties) + 1
        self._pong = asyncio.Event()
        self._is_connected = self._is_dead = False

    @property
    def said(self) -> list[Wave]:
        return self.user.said if self.user else []

    @property
    def heard_ms(self) -> float:
        return self.user.ear.heard_ms if self.user else 0.0

    async def run(self) -> None:
        waits = {"pingTimeout": round(1000 * self.quirks.pong_s), "pingInterval": round(1000 * self.quirks.ping_s)}
        told = {"sid": f"engine{self._number}", "upgrades": [], **waits, "maxPayload": 1_000_000}
        await self._send("0" + json.dumps(told))
        self.begin(self._keep_alive())
        async for received in self.ws:
            if received.type in TEXT_OR_BYTES:
                self.note(self.received, received.data)
                await self._take(str(received.data))

    async def _take(self, packet: str) -> None:
        match packet[:1], packet[1:2]:
            case "3", _:
                self._pong.set()
            case "1", _:
                await self.ws.close()
            case "4", "0":
                await self._join()
            case "4", "1":
                await self.ws.close()
            case "4", "2" if self._is_connected:
                number = packet[2 : packet.index("[")]
                event, *data = json.loads(packet[2 + len(number) :])
                if event in HANDLED:
                    await self._take_event(event, data[0] if data else None)
                    if number:
                        await self._send(f"43{number}[]")

    async def _join(self) -> None:
        await asyncio.sleep(self.quirks.ready_s)
        self._is_connected = True
        if self.user is None:
            await self.emit("too_many_users")
        await self._send("40" + json.dumps({"sid": f"socket{self._number}"}))

    async def _take_event(self, event: str, data: object) -> None:
        if self.user is None:
            self._is_connected = False
            return await self._send("41")
        for name, audio in self.user.take(event, data):
            await self.emit(name, audio)
        await self.do_what_is_due()

    async def emit(self, event: str, audio: bytes | None = None) -> None:
        """Send an event; audio is a binary message of its own, after the one that announces it."""
        if audio is None:
            return await self._send("42" + json.dumps([event], separators=(",", ":")))
        await self._send("451-" + json.dumps([event, {"_placeholder": True, "num": 0}], separators=(",", ":")))
        await self._send(audio)

    async def _send(self, packet: str | bytes) -> None:
        if self._is_dead or self.ws.closed:
            return
        self.note(self.sent, packet)
        await (self.ws.send_str(packet) if isinstance(packet, str) else self.ws.send_bytes(packet))

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self.quirks.ping_s)
            self._pong.clear()
            await self._send("2")
            try:
                await asyncio.wait_for(self._pong.wait(), self.quirks.pong_s)
            except TimeoutError:
                if not self._is_dead:
                    await self.ws.close()

    # Cues, beside `abort`

    async def answer(self) -> None:
        """Begin an answer."""
        assert self.user is not None
        self.user.answer()

    async def interrupt(self) -> None:
        """Take back what was not yet handed out."""
        assert self.user is not None
        self.user.interrupt()

    async def time_out(self) -> None:
        """Nothing was said for too long: the user is told, and forgotten; its next event ends the connection."""
        await self.emit("out_time")
        self.user = None

    async def hang_up(self) -> None:
        """Leave the namespace, and close."""
        await self._send("41")
        await self.ws.close()

    async def die(self) -> None:
        """Say nothing more, and keep the connection."""
        self._is_dead = True

    async def send_garbage(self) -> None:
        """Send a packet that ends too early."""
        await self._send('42["aud')

    async def send_unknown(self) -> None:
        """Send an event that nobody knows."""
        await self.emit("mood")

    async def send_stray_bytes(self) -> None:
        """Send a binary message that nothing announced."""
        await self._send(bytes(4))

    async def send_half_a_sample(self) -> None:
        """Send audio of three bytes."""
        await self.emit("audio", bytes(3))


if __name__ == "__main__":
    serve_alone(FreezeOmniServer())
