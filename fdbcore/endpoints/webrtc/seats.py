"""Seats for the sides of conversations, which peers take by WebRTC.

Offer and answer do not yet take a seat; it is taken once the connection is up, within CONNECT_S. Until then the next
peer replaces the one that is connecting (a page that is reloaded, a peer that is restarted), and a peer that hangs up
or fails leaves the seat free. A connected peer keeps its seat.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

from fdbcore.clock import now_ns
from fdbcore.errors import PartyError, SettingsError
from fdbcore.recording.floods import TokenBucket
from fdbcore.runtime.address import host_port, is_loopback
from fdbcore.types import SIDES, Side

MAX_CANDIDATES: Final = 256
"""ICE candidates that one peer may send. A browser on a host with many interfaces sends some dozens."""
CONNECT_S: Final = 10.0
"""Time that ICE and DTLS may take, from the answer until packets can be sent both ways."""
OVER: Final = 410
"""The status if our side has ended the conversation, which is not a refusal."""

MAX_BYTES: Final = 64 * 1024
"""The longest message or body that is read. A browser's offer has 2 to 10 KiB."""
LOGGED_REFUSALS_PER_S: Final = 1
LOGGED_REFUSALS_AT_ONCE: Final = 50

_log = logging.getLogger(__name__)


class Negotiator(Protocol):
    """Our end of one WebRTC connection, as signalling sees it.

    Every method raises PartyError (one clear line) for input that cannot be used. After `hang_up` another peer may
    come, and `answer` or `offer` is called again; raise PartyError there to refuse a second peer. If `answer`, `offer`
    or `accept` raises or is cancelled, there is no connection, and `hang_up` is not called.
    """

    async def answer(self, offer_sdp: str) -> str:
        """Our answer to the peer's offer, with all our candidates in it."""
        ...

    async def offer(self) -> str:
        """Our offer for a peer that asked for one, with all our candidates in it; `accept` follows."""
        ...

    async def accept(self, answer_sdp: str) -> None:
        """Take the peer's answer to our offer."""
        ...

    async def connected(self, timeout_s: float) -> None:
        """Return once the connection is up; PartyError if it fails, or is not up after `timeout_s`."""
        ...

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        """Take a further candidate, "candidate:..." as in RFC 8839, or "" after the last one.

        mid, line_index: sdpMid and sdpMLineIndex of WebRTC's RTCIceCandidate.
        """
        ...

    async def hang_up(self, reason: str) -> None:
        """Note that the peer left; `reason` is one line. Not called if our own side ended the conversation."""
        ...


class Refusal(PartyError):
    """The refusal of a peer: one line for the peer and the log, and the matching HTTP status."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Visit:
    """One peer, from its first message until it leaves. dismissal: why it was sent away, else None."""

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
        """Limit the time of a `with` block to `limit_s`: then Refusal with the text `late`. `dismiss` ends it too."""
        try:
            async with asyncio.timeout(limit_s) as self._limit:
                yield
        except TimeoutError:
            raise self.dismissal or Refusal(408, late) from None
        finally:
            self._limit = None

    def dismiss(self, refusal: Refusal) -> None:
        """End the block that runs `within` a limit, with this refusal. Only the first refusal counts."""
        if self._limit is not None and not self._limit.expired() and self.dismissal is None:
            self.dismissal = refusal
            self._limit.reschedule(asyncio.get_running_loop().time())


class Seat:
    """A side of a conversation, for one peer at a time. `Seats.seat` makes it.

    visit: the peer that negotiates, connects or is connected here. shows: what the page shows to whoever joins.
    """

    def __init__(self, seats: "Seats", side: Side, session: str, negotiator: Negotiator, shows: str = "") -> None:
        self.side = side
        self.session = session
        self.shows = shows
        self.visit: Visit | None = None
        self._seats = seats
        self._negotiator = negotiator
        self._negotiates = False
        self._connecting: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()

    async def taken(self, timeout_s: float) -> None:
        """Wait until a peer is connected. PartyError after `timeout_s`; it says why the last peer was turned away."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
        except TimeoutError:
            last = f"; last turned away: {line}" if (line := self._seats.last_refusal) else ""
            last = "; a peer was still connecting" if self.joined else last
            raise PartyError(f"nobody joined side {self.side} at {self._seats.url} in {timeout_s:g} s{last}") from None

    def close(self) -> None:
        """Give up the seat. A peer on it is told that the conversation is over."""
        if self.visit is not None:
            self.visit.dismiss(Refusal(OVER, "the conversation is over"))
        self._free()
        self._seats.remove(self)

    @property
    def joined(self) -> bool:
        """True if a peer has exchanged offer and answer, connected or not."""
        return self._connecting is not None or self.connected

    @property
    def connected(self) -> bool:
        """True if the peer is connected."""
        return self._connected.is_set()

    @property
    def is_open(self) -> bool:
        """True if a new peer may come: the seat is empty, or its peer is not connected yet."""
        return not self._negotiates and not self.connected

    async def answer(self, visit: Visit, offer_sdp: str) -> str:
        """Our answer to the offer of `visit`, which may now connect. Refusal if the offer cannot be used."""
        _check_sdp(offer_sdp)
        async with self._negotiating(visit):
            answer = await self._negotiator.answer(offer_sdp)
        self._await_connection(visit, offer_sdp)
        return answer

    async def offer(self, visit: Visit) -> str:
        """Our offer to `visit`. The seat then waits for its answer."""
        async with self._negotiating(visit):
            return await self._negotiator.offer()

    async def accept(self, visit: Visit, answer_sdp: str) -> None:
        """Take the answer of `visit` to our offer. It may now connect."""
        _check_sdp(answer_sdp)
        async with self._negotiating(visit):
            await self._negotiator.accept(answer_sdp)
        self._await_connection(visit, answer_sdp)

    async def add_candidate(self, visit: Visit, candidate: str, mid: str | None, line_index: int | None) -> None:
        """Pass on a candidate of `visit`. Refusal if it cannot be used, or is one too many."""
        visit.candidates += 1
        if visit.candidates > MAX_CANDIDATES:
            raise Refusal(422, f"more than {MAX_CANDIDATES} candidates")
        try:
            await self._negotiator.add_candidate(candidate, mid, line_index)
        except PartyError as error:
            raise Refusal(422, str(error)) from error

    async def leave(self, visit: Visit, reason: str) -> None:
        """Free the seat because the peer of `visit` left. Does nothing if `visit` has lost the seat already."""
        if self.visit is visit:
            self._free()
            _log.info("%s: side %s %s", visit.who, self.side, reason)
            await self._negotiator.hang_up(reason)

    @asynccontextmanager
    async def _negotiating(self, visit: Visit) -> AsyncIterator[None]:
        """Give the seat to `visit`, and keep others out meanwhile. It replaces a peer that is not connected yet.

        An error frees the seat; a PartyError becomes a Refusal.
        """
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
            refusal = Refusal(409, "was not connected yet, and was replaced by a later peer")
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
                self._connecting = None  # it is this task, which `leave` must not cancel
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
    """All seats behind one port, and the rules for peers that ask for them.

    token: what peers must send; SettingsError if it is missing beyond loopback. patience_s: how long a connection may
    take for each of its steps before it is turned away.
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
        self._log_limit = TokenBucket(LOGGED_REFUSALS_PER_S, LOGGED_REFUSALS_AT_ONCE)
        self._unlogged = 0

    @property
    def url(self) -> str:
        """The address at which peers join: the page of `GET /`."""
        return f"http://{host_port(self.host, self.port)}"

    def seat(self, side: Side, negotiator: Negotiator, session: str = "", shows: str = "") -> Seat:
        """Make a seat that waits for a peer. session: names the conversation if there are several. shows: see `Seat`.

        SettingsError if this seat exists already.
        """
        if not re.fullmatch(r"[\w-]{0,64}", session, re.ASCII):
            raise SettingsError(f"session {session!r}: expected at most 64 letters, digits, - and _")
        if any(seat.side == side and seat.session == session for seat in self.seats):
            raise SettingsError(f"side {side} of session {session!r}: there is a seat for it already")
        seat = Seat(self, side, session, negotiator, shows)
        self.seats.append(seat)
        return seat

    def remove(self, seat: Seat) -> None:
        """Remove a closed seat."""
        if seat in self.seats:
            self.seats.remove(seat)

    def find(self, side: str, session: str | None) -> Seat:
        """The seat that a peer asks for. Without a session it is the only one that waits.

        If no seat is empty, one whose peer is not connected yet is taken. Refusal if there is none, or if several wait.
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

    def shown(self, side: str, session: str | None) -> str:
        """Text on the page of a side. Without a session it is that of the first conversation which shows any."""
        texts = (seat.shows for seat in self.seats if seat.side == side and session in (None, seat.session))
        return next(filter(None, texts), "")

    def turn_away(self, who: str, refusal: Refusal) -> None:
        """Record a refusal and log it. If many come fast, only their number is logged."""
        self.last_refusal = str(refusal)
        if self._log_limit.take(now_ns()):
            self.log_unlogged()
            _log.warning("%s: turned away: %s", who, refusal)
        else:
            self._unlogged += 1

    def log_unlogged(self) -> None:
        """Log how many peers were turned away without a line of their own."""
        if self._unlogged:
            _log.warning("%d more were turned away", self._unlogged)
        self._unlogged = 0


def _check_sdp(sdp: object) -> None:
    if not isinstance(sdp, str) or not sdp.startswith("v=0"):
        raise Refusal(400, "expected SDP, beginning with v=0")
