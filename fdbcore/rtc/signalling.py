"""Where peers join by WebRTC: one port with a seat for each side, taken by WebSocket (`websocket`) or HTTP (`whip`).

Everything here runs on one event loop, `fdbcore.network.event_loop()`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol

from fdbcore.errors import MissingExtraError, PartyError, SettingsError
from fdbcore.types import SIDES, Side

if TYPE_CHECKING:
    from aiohttp.web import AppRunner

MAX_BYTES: Final = 64 * 1024
"""The longest message or body that is read; an offer of a browser has 2 to 10 KiB."""
MAX_CANDIDATES: Final = 256
"""Taken from one peer; a browser on a host with many interfaces sends some dozens."""

_log = logging.getLogger(__name__)


class Negotiator(Protocol):
    """Our end of one WebRTC connection, as signalling sees it.

    All raise PartyError, one clear line, for what cannot be used. After `hang_up` another peer may take the seat, and
    `answer` or `offer` is called anew: raise PartyError to have only one. If `answer`, `offer` or `accept` raise or are
    cancelled, there is no connection, and `hang_up` does not follow.
    """

    async def answer(self, offer_sdp: str) -> str:
        """Our answer, with all our candidates in it, to the peer's offer."""
        ...

    async def offer(self) -> str:
        """Our offer, with all our candidates in it, for a peer that asked for one; `accept` follows."""
        ...

    async def accept(self, answer_sdp: str) -> None:
        """The peer's answer to our offer."""
        ...

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        """A further candidate, "candidate:..." as in RFC 8839, or "" after the last; the rest as in WebRTC."""
        ...

    async def hang_up(self, reason: str) -> None:
        """The peer left; `reason` is one line. Never called for what our own side ends."""
        ...


class Refusal(PartyError):
    """Why a peer is turned away: one line for it and for the log, and the HTTP status that means the same."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Visit:
    """One peer at the door, from its first message until it leaves."""

    def __init__(self, who: str, key: str = "") -> None:
        self.who = who
        self.key = key
        self.seat: Seat | None = None
        self.candidates = 0
        self.ice_user = ""
        self._limit: asyncio.Timeout | None = None
        self._verdict = Refusal(408, "")

    @asynccontextmanager
    async def within(self, limit_s: float | None, late: str) -> AsyncIterator[None]:
        """Refuse, saying `late`, what takes longer than `limit_s`; `dismiss` ends it too."""
        self._verdict = Refusal(408, late)
        try:
            async with asyncio.timeout(limit_s) as self._limit:
                yield
        except TimeoutError:
            raise self._verdict from None
        finally:
            self._limit = None

    def dismiss(self, line: str) -> None:
        """End what goes on `within` a limit; the first to say why is the one who is heard."""
        if self._limit is not None and not self._limit.expired() and self._verdict.status != 410:
            self._verdict = Refusal(410, line)
            self._limit.reschedule(asyncio.get_running_loop().time())


class Seat:
    """A side of a conversation, for one peer at a time; from `SignallingServer.seat`."""

    def __init__(self, server: SignallingServer, side: Side, session: str, negotiator: Negotiator) -> None:
        self.side = side
        self.session = session
        self.visit: Visit | None = None
        self._server = server
        self._negotiator = negotiator
        self._joined = asyncio.Event()

    async def taken(self, timeout_s: float) -> None:
        """Wait until a peer has our answer, or we have its; PartyError after `timeout_s`, with the last refusal."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._joined.wait()
        except TimeoutError:
            last = f"; last turned away: {line}" if (line := self._server.last_refusal) else ""
            raise PartyError(f"nobody joined side {self.side} at {self._server.url} in {timeout_s:g} s{last}") from None

    def close(self) -> None:
        """Give the seat up; a peer on it is told that the conversation is over."""
        if self.visit is not None:
            self.visit.dismiss("the conversation is over")
        self._free()
        self._server.remove(self)

    @property
    def joined(self) -> bool:
        """Whether a peer sits here and offer and answer are exchanged."""
        return self._joined.is_set()

    async def answer(self, visit: Visit, offer_sdp: str) -> str:
        """Our answer to the offer of `visit`, which takes the seat; Refusal if it cannot."""
        _check_sdp(offer_sdp)
        with self._claimed(visit):
            answer = await self._negotiator.answer(offer_sdp)
            self._settle(visit, offer_sdp)
        return answer

    async def offer(self, visit: Visit) -> str:
        """Our offer to `visit`, for which the seat is held."""
        with self._claimed(visit):
            return await self._negotiator.offer()

    async def accept(self, visit: Visit, answer_sdp: str) -> None:
        """Take the answer of `visit` to our offer."""
        _check_sdp(answer_sdp)
        with self._unclaimed_on_error():
            await self._negotiator.accept(answer_sdp)
            self._settle(visit, answer_sdp)

    async def add_candidate(self, visit: Visit, candidate: str, mid: str | None, line_index: int | None) -> None:
        """Hand a candidate of `visit` on; Refusal if it is unusable or one too many."""
        visit.candidates += 1
        if visit.candidates > MAX_CANDIDATES:
            raise Refusal(422, f"more than {MAX_CANDIDATES} candidates")
        try:
            await self._negotiator.add_candidate(candidate, mid, line_index)
        except PartyError as error:
            raise Refusal(422, str(error)) from error

    async def leave(self, visit: Visit, reason: str) -> None:
        """The peer of `visit` left: the seat is free again, unless it was given up before."""
        if self.visit is visit:
            self._free()
            _log.info("%s: side %s %s", visit.who, self.side, reason)
            await self._negotiator.hang_up(reason)

    @contextmanager
    def _claimed(self, visit: Visit) -> Iterator[None]:
        if self.visit is not None:
            raise Refusal(409, f"side {self.side} is taken")
        self.visit, visit.seat = visit, self
        with self._unclaimed_on_error():
            yield

    @contextmanager
    def _unclaimed_on_error(self) -> Iterator[None]:
        try:
            yield
        except PartyError as error:
            self._free()
            raise Refusal(422, str(error)) from error
        except BaseException:
            self._free()
            raise

    def _settle(self, visit: Visit, sdp: str) -> None:
        found = re.search(r"^a=ice-ufrag:(\S+)", sdp, re.MULTILINE)
        visit.ice_user = found[1] if found else ""
        self._joined.set()
        _log.info("%s: took side %s", visit.who, self.side)

    def _free(self) -> None:
        if self.visit is not None:
            self.visit.seat = None
        self.visit = None
        self._joined.clear()


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
            visit.dismiss("the server stops")
        if self._runner is not None:
            await self._runner.cleanup()
        self._listener = self._runner = None

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
        """The seat that a peer asks for; without a session the one that waits, if it is the only one."""
        if side not in SIDES:
            raise Refusal(404, f"side {side[:20]!a}: expected A or B")
        seats = [seat for seat in self.seats if seat.side == side and session in (None, seat.session)]
        waiting = [seat for seat in seats if seat.visit is None]
        if not seats:
            raise Refusal(404, f"no conversation waits for side {side}")
        if not waiting:
            raise Refusal(409, f"side {side} is taken")
        if len(waiting) > 1:
            raise Refusal(409, f"{len(waiting)} conversations wait for side {side}: name one with ?session=NAME")
        return waiting[0]

    def turn_away(self, who: str, refusal: Refusal) -> None:
        """Put a refusal on record."""
        self.last_refusal = str(refusal)
        _log.warning("%s: turned away: %s", who, refusal)


def is_loopback(host: str | None) -> bool:
    """Whether a host name or address can only be this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _check_sdp(sdp: object) -> None:
    if not isinstance(sdp, str) or not sdp.startswith("v=0"):
        raise Refusal(400, "expected SDP, beginning with v=0")
