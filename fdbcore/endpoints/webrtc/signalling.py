"""The port at which peers join: it has a seat for each side, taken by WebSocket or HTTP.

`websocket_server` and `whip_server` have the protocols. Everything runs on one event loop,
`fdbcore.runtime.network.event_loop()`.
"""

import asyncio
import socket
from typing import TYPE_CHECKING

from fdbcore.endpoints.webrtc.seats import MAX_BYTES, OVER, Refusal, Seats
from fdbcore.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from aiohttp.web import AppRunner


class SignallingServer(Seats):
    """One port for all seats of a process. `websocket_server` and `whip_server` have the protocols.

    The port speaks plain HTTP; a proxy in front of it can add TLS. port: 0 for any free port; after `start` it is the
    real one.
    """

    _runner: "AppRunner | None" = None
    _listener: asyncio.Server | None = None
    _awaited_seats = 0

    def listen(self) -> socket.socket:
        """Open the port; `start` answers whoever comes. SettingsError if it is not available."""
        try:
            family, *_, place = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            return socket.create_server(place, family=family)
        except OSError as error:
            why = str(error.strerror).partition(" (")[0]
            raise SettingsError(f"{self.host}:{self.port}: cannot listen there: {why}") from error

    async def start(self, listening: socket.socket | None = None, awaited_seats: int = 0) -> None:
        """Answer whoever comes, once there are `awaited_seats`. SettingsError if the port is not available.

        listening: from `listen`, if it was called before.
        """
        try:
            from aiohttp import web

            from fdbcore.endpoints.webrtc import admission, websocket_server, whip_server
        except ImportError as error:
            raise MissingExtraError(f"WebRTC: expected {error.name}: pip install 'fdbcore[live]'") from error
        sock = listening or self.listen()
        self.port = sock.getsockname()[1]
        app = web.Application(middlewares=[admission.guard(self)], client_max_size=MAX_BYTES)
        app.add_routes([*websocket_server.routes(self), *whip_server.routes(self)])
        self._runner = web.AppRunner(app, shutdown_timeout=self.patience_s)
        await self._runner.setup()
        connect = admission.connections(self, self._runner)
        self._listener = await asyncio.get_running_loop().create_server(connect, sock=sock, start_serving=False)
        self._awaited_seats = awaited_seats
        await self.serve()

    async def serve(self) -> None:
        """Begin to answer if all seats that are awaited are there: who came before has waited."""
        if self._listener is not None and len(self.seats) >= self._awaited_seats:
            await self._listener.start_serving()

    async def stop(self) -> None:
        """Close all seats and connections, and the port."""
        for seat in tuple(self.seats):
            seat.close()
        if self._listener is not None:
            self._listener.close()
        for visit in self.visits:
            visit.dismiss(Refusal(OVER, "the server stops"))
        if self._runner is not None:
            await self._runner.cleanup()
        self._listener = self._runner = None
        self.log_unlogged()
