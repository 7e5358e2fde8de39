"""Where peers join by WebRTC: one port with a seat for each side, taken by WebSocket (`websocket`) or HTTP (`whip`).

Everything here runs on one event loop, `fdbcore.network.event_loop()`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from fdbcore.clock import now_ns
from fdbcore.errors import MissingExtraError, SettingsError
from fdbcore.floods import TokenBucket
from fdbcore.rtc.seat import OVER, Negotiator, Refusal, Seat, Visit
from fdbcore.types import SIDES, Side

if TYPE_CHECKING:
    from aiohttp.web import AppRunner

MAX_BYTES: Final = 64 * 1024
"""The longest message or body that is read; an offer of a browser has 2 to 10 KiB."""

TOLD_REFUSALS_PER_S: Final = 1
TOLD_REFUSALS_AT_ONCE: Final = 50

_log = logging.getLogger(__name__)


class SignallingServer:
    """One port for all seats of a process; see `websocket` and `whip` for what is spoken there.

    Beyond loopback a token is required, and SettingsError is raised without. patience_s: how long a connection may take
    over each of its steps before it is turned away. The port is plain HTTP: a proxy in front adds TLS.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, token: str | None = None, patience_s: float = 10.0
    ) -> None:
        self.host = "127.0.0.1" if host == "localhost" else host
        self.is_local = is_loopback(self.host)
        if token is None and not self.is_local:
            raise SettingsError(
                f"host {host}: expected a token beyond loopback, found none: set FDBCORE_TOKEN, here or in .env"
            )
        if token is not None and not re.fullmatch(r"[!-~]+", token):
            raise SettingsError("token: expected visible ASCII characters without spaces")
        self.token = token
        self.patience_s = patience_s
        self.seats: list[Seat] = []
        self.visits: set[Visit] = set()
        self.last_refusal: str | None = None
        self._told = TokenBucket(TOLD_REFUSALS_PER_S, TOLD_REFUSALS_AT_ONCE)
        self._untold = 0
        self._asked_port = port
        self._runner: AppRunner | None = None
        self._listener: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port listened on, once started."""
        return self._listener.sockets[0].getsockname()[1] if self._listener else self._asked_port

    @property
    def url(self) -> str:
        """Where peers find us: the page of `GET /`."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    async def start(self) -> None:
        """Listen; SettingsError if the port cannot be had."""
        try:
            from aiohttp import web

            from fdbcore.rtc import admission, websocket, whip
        except ImportError as error:
            raise MissingExtraError(f"WebRTC: expected {error.name}: pip install 'fdbcore[live]'") from error
        app = web.Application(middlewares=[admission.guard(self)], client_max_size=MAX_BYTES)
        app.add_routes([*websocket.routes(self), *whip.routes(self)])
        self._runner = web.AppRunner(app, shutdown_timeout=self.patience_s)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        connect = admission.connections(self, self._runner)
        try:
            self._listener = await loop.create_server(connect, self.host, self._asked_port)
        except OSError as error:
            await self.stop()
            raise SettingsError(f"{self.host}:{self._asked_port}: cannot listen there: {error.strerror}") from error

    async def stop(self) -> None:
        """Close every seat, connection and the port."""
        for seat in tuple(self.seats):
            seat.close()
        if self._listener is not None:
            self._listener.close()
        for visit in self.visits:
            visit.dismiss(Refusal(OVER, "the server stops"))
        if self._runner is not None:
            await self._runner.cleanup()
        self._listener = self._runner = None
        self._tell_untold()

    def seat(self, side: Side, negotiator: Negotiator, session: str = "") -> Seat:
        """A seat that waits for a peer; SettingsError if there is one. `session` names one conversation of several."""
        if not re.fullmatch(r"[\w-]{0,64}", session, re.ASCII):
            raise SettingsError(f"session {session!r}: expected at most 64 letters, digits, - and _")
        if any(seat.side == side and seat.session == session for seat in self.seats):
            raise SettingsError(f"side {side} of session {session!r}: there is a seat for it already")
        seat = Seat(self, side, session, negotiator)
        self.seats.append(seat)
        return seat

    def remove(self, seat: Seat) -> None:
        """Take a closed seat away."""
        if seat in self.seats:
            self.seats.remove(seat)

    def find(self, side: str, session: str | None) -> Seat:
        """The seat that a peer asks for; without a session the one that waits, if it is the only one.

        Where none is empty, one whose peer is not connected yet will do.
        """
        if side not in SIDES:
            raise Refusal(404, f"side {side[:20]!a}: expected A or B")
        seats = [seat for seat in self.seats if seat.side == side and session in (None, seat.session)]
        waiting = [seat for seat in seats if seat.visit is None] or [seat for seat in seats if seat.is_open]
        if not seats:
            raise Refusal(404, f"no conversation waits for side {side}")
        if not waiting:
            raise Refusal(409, f"side {side} is taken")
        if len(waiting) > 1:
            raise Refusal(409, f"{len(waiting)} conversations wait for side {side}: name one with ?session=NAME")
        return waiting[0]

    def turn_away(self, who: str, refusal: Refusal) -> None:
        """Put a refusal on record; of many that come fast the log tells the number."""
        self.last_refusal = str(refusal)
        if self._told.take(now_ns()):
            self._tell_untold()
            _log.warning("%s: turned away: %s", who, refusal)
        else:
            self._untold += 1

    def _tell_untold(self) -> None:
        if self._untold:
            _log.warning("%d more were turned away", self._untold)
        self._untold = 0


def is_loopback(host: str | None) -> bool:
    """Whether a host name or address can only be this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
