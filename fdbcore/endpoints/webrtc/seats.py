"""A seat for each side of a conversation, which peers take by WebRTC.

Offer and answer only give a peer a chance: the seat is taken once the connection is up, within CONNECT_S. Until then
whoever comes next has the chance in its place (a page that is loaded anew, a peer that was started anew), and who
hangs up or fails leaves the seat free. A peer that is connected keeps it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final, Protocol

from fdbcore.clock import now_ns
from fdbcore.errors import PartyError, SettingsError
from fdbcore.recording.floods import TokenBucket
from fdbcore.runtime.address import host_port
from fdbcore.types import SIDES, Side

MAX_CANDIDATES: Final = 256
"""Taken from one peer; a browser on a host with many interfaces sends some dozens."""
CONNECT_S: Final = 10.0
"""From the answer until packets can be sent both ways, for ICE and DTLS."""
OVER: Final = 410
"""The status of what is no refusal: our side has ended it."""

MAX_BYTES: Final = 64 * 1024
"""The longest message or body that is read; an offer of a browser has 2 to 10 KiB."""
TOLD_REFUSALS_PER_S: Final = 1
TOLD_REFUSALS_AT_ONCE: Final = 50

_log = logging.getLogger(__name__)


class Negotiator(Protocol):
    """Our end of one WebRTC connection, as signalling sees it.

    All raise PartyError, one clear line, for what cannot be used. After `hang_up` another peer may come, and `answer`
    or `offer` is called anew: raise PartyError to have only one. If `answer`, `offer` or `accept` raise or are
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

    async def connected(self, timeout_s: float) -> None:
        """Return once the connection is up; PartyError if it fails, or is not up after `timeout_s`."""
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
    """One peer at the door, from its first message until it leaves. dismissal: why it was sent away, if it was."""

    def __init__(self, who: str, key: str = "") -> None:
        self.who = who
        self.key = key
        self.seat: Seat | None = None
        self.candidates = 0
        self.ice_user = ""
        self.dismissal: Refusal | None = None
        self._limit: asyncio.Timeout | None = None

    @asynccontextmanager
    async def within(self, limit_s: float | None, late: str) -> AsyncIterator[None]:
        """Refuse, saying `late`, what takes longer than `limit_s`; `dismiss` ends it too."""
        try:
            async with asyncio.timeout(limit_s) as self._limit:
                yield
        except TimeoutError:
            raise self.dismissal or Refusal(408, late) from None
        finally:
            self._limit = None

    def dismiss(self, refusal: Refusal) -> None:
        """End what goes on `within` a limit; the first to say why is the one who is heard."""
        if self._limit is not None and not self._limit.expired() and self.dismissal is None:
            self.dismissal = refusal
            self._limit.reschedule(asyncio.get_running_loop().time())


class Seat:
    """A side of a conversation, for one peer at a time; from `Seats.seat`.

    visit: who negotiates, connects or sits here. connected: whether that peer sits.
    """

    def __init__(self, seats: Seats, side: Side, session: str, negotiator: Negotiator) -> None:
        self.side = side
        self.session = session
        self.visit: Visit | None = None
        self._seats = seats
        self._negotiator = negotiator
        self._negotiates = False
        self._connecting: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()

    async def taken(self, timeout_s: float) -> None:
        """Wait until a peer is connected; PartyError after `timeout_s`, with what became of the last one."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
        except TimeoutError:
            last = f"; last turned away: {line}" if (line := self._seats.last_refusal) else ""
            last = "; a peer was still connecting" if self.joined else last
            raise PartyError(f"nobody joined side {self.side} at {self._seats.url} in {timeout_s:g} s{last}") from None

    def close(self) -> None:
        """Give the seat up; a peer on it is told that the conversation is over."""
        if self.visit is not None:
            self.visit.dismiss(Refusal(OVER, "the conversation is over"))
        self._free()
        self._seats.remove(self)

    @property
    def joined(self) -> bool:
        """Whether offer and answer are exchanged with a peer."""
        return self._connecting is not None or self.connected

    @property
    def connected(self) -> bool:
        """Whether a peer sits here."""
        return self._connected.is_set()

    @property
    def is_open(self) -> bool:
        """Whether a peer may come: to an empty seat, or in the place of one that is not connected yet."""
        return not self._negotiates and not self.connected

    async def answer(self, visit: Visit, offer_sdp: str) -> str:
        """Our answer to the offer of `visit`, which may now connect; Refusal if it cannot."""
        _check_sdp(offer_sdp)
        async with self._negotiating(visit):
            answer = await self._negotiator.answer(offer_sdp)
        self._await_connection(visit, offer_sdp)
        return answer

    async def offer(self, visit: Visit) -> str:
        """Our offer to `visit`; the seat waits for its answer."""
        async with self._negotiating(visit):
            return await self._negotiator.offer()

    async def accept(self, visit: Visit, answer_sdp: str) -> None:
        """Take the answer of `visit` to our offer; it may now connect."""
        _check_sdp(answer_sdp)
        async with self._negotiating(visit):
            await self._negotiator.accept(answer_sdp)
        self._await_connection(visit, answer_sdp)

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

    @asynccontextmanager
    async def _negotiating(self, visit: Visit) -> AsyncIterator[None]:
        """Let `visit` in, in the place of one that is not connected, and keep others out; an error frees the seat."""
        if not self.is_open:
            raise Refusal(409, f"side {self.side} is taken")
        self._negotiates = True
        try:
            if self.visit is not visit:
                await self._seat(visit)
            yield
        except PartyError as error:
            self._free()
            raise Refusal(422, str(error)) from error
        except BaseException:
            self._free()
            raise
        finally:
            self._negotiates = False

    async def _seat(self, visit: Visit) -> None:
        before = self.visit
        self._free()
        self.visit, visit.seat = visit, self
        if before is not None:
            refusal = Refusal(409, "gave way, not connected yet, to a peer that came later")
            self._seats.turn_away(before.who, refusal)
            before.dismiss(refusal)
            await self._negotiator.hang_up(str(refusal))

    def _await_connection(self, visit: Visit, sdp: str) -> None:
        if self.visit is visit:
            found = re.search(r"^a=ice-ufrag:(\S+)", sdp, re.MULTILINE)
            visit.ice_user = found[1] if found else ""
            self._connecting = asyncio.get_running_loop().create_task(self._connect(visit))

    async def _connect(self, visit: Visit) -> None:
        try:
            await self._negotiator.connected(CONNECT_S)
        except PartyError as error:
            if self.visit is visit:
                self._connecting = None  # this task, which goes on
                self._seats.turn_away(visit.who, refusal := Refusal(408, str(error)))
                visit.dismiss(refusal)
                await self.leave(visit, str(error))
        else:
            _log.info("%s: took side %s", visit.who, self.side)
            self._connected.set()

    def _free(self) -> None:
        if self.visit is not None:
            self.visit.seat = None
        if self._connecting is not None:
            self._connecting.cancel()
        self.visit = self._connecting = None
        self._connected.clear()


class Seats:
    """All seats behind one port, and who may ask for them.

    Beyond loopback a token is required, and SettingsError is raised without. patience_s: how long a connection may take
    over each of its steps before it is turned away.
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
        self.port = port
        self.token = token
        self.patience_s = patience_s
        self.seats: list[Seat] = []
        self.visits: set[Visit] = set()
        self.last_refusal: str | None = None
        self._told = TokenBucket(TOLD_REFUSALS_PER_S, TOLD_REFUSALS_AT_ONCE)
        self._untold = 0

    @property
    def url(self) -> str:
        """Where peers find us: the page of `GET /`."""
        return f"http://{host_port(self.host, self.port)}"

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
            self.tell_untold()
            _log.warning("%s: turned away: %s", who, refusal)
        else:
            self._untold += 1

    def tell_untold(self) -> None:
        """Log how many were turned away without a line of their own."""
        if self._untold:
            _log.warning("%d more were turned away", self._untold)
        self._untold = 0


def _check_sdp(sdp: object) -> None:
    if not isinstance(sdp, str) or not sdp.startswith("v=0"):
        raise Refusal(400, "expected SDP, beginning with v=0")


def is_loopback(host: str | None) -> bool:
    """Whether a host name or address can only be this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
