"""Joining by the WebSocket protocol of Full-Duplex-Bench v2: adapters written for its hub connect unchanged.

The path is `/signal`, with `?session=NAME` if several conversations wait, and `?token=` if a token is needed and the
peer cannot send a header. Both ends send JSON texts: `{"role": "A" or "B", "type": ..., ...}`. We begin with
`{"type": "ready"}`. The peer sends its "offer" with `sdp`, and gets our "answer" with `sdp`. "candidate" carries
`candidate`: `{"candidate", "sdpMid", "sdpMLineIndex"}`; it may come before the offer. All our candidates are in our
SDP. A peer that prefers to answer sends "ready", gets our "offer" and sends its "answer". If a message is wrong, we
send an "error" with `message`. A peer that closes the socket has left the conversation. At the end of the conversation
we send "bye" with `message`, and close the socket.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from aiohttp import WebSocketError, WSCloseCode, WSMsgType, web

from fdbcore.endpoints.webrtc import HUNG_UP
from fdbcore.endpoints.webrtc.seats import MAX_BYTES, MAX_CANDIDATES, OVER, Refusal, Seat, Seats, Visit
from fdbcore.runtime.json_values import parsed_json

HEARTBEAT_S: Final = 15.0
"""Interval at which a peer is pinged. If it does not answer within half of this, it is gone."""
CLOSE_S: Final = 1.0
"""Time that the other end may take to confirm that the socket closes."""
PLANNED: Final = (WSCloseCode.OK, WSCloseCode.GOING_AWAY, 0)
"""The codes with which a peer closes as planned; 0 stands for a close frame without a code."""
MAX_FAULTS: Final = 16
"""Wrong messages that one peer may send before it is turned away."""

Candidate = tuple[str, str | None, int | None]


def routes(seats: Seats) -> list[web.RouteDef]:
    """The routes of the WebSocket protocol."""

    async def signal(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=CLOSE_S, heartbeat=HEARTBEAT_S, max_msg_size=MAX_BYTES, compress=False)
        if not socket.can_prepare(request):
            raise Refusal(426, "expected a WebSocket")
        await socket.prepare(request)
        await _Conversation(seats, socket, request.remote or "?", request.query.get("session")).hold()
        return socket

    return [web.get("/signal", signal)]


class _Conversation:
    """The messages of one socket."""

    def __init__(self, seats: Seats, socket: web.WebSocketResponse, who: str, session: str | None) -> None:
        self.seats = seats
        self.socket = socket
        self.session = session
        self.visit = Visit(who)
        self.role: str | None = None
        self.candidates: list[Candidate] = []

    async def hold(self) -> None:
        self.seats.visits.add(self.visit)
        reason = "lost its WebSocket"
        try:
            await self._listen()
            if self.socket.close_code in PLANNED:
                reason = HUNG_UP
            elif self.socket.close_code != WSCloseCode.ABNORMAL_CLOSURE:
                reason = f"closed its WebSocket with {self.socket.close_code}"
        except Refusal as refusal:
            reason = f"was turned away: {refusal}"
            with suppress(ConnectionError):
                await self._turn_away(refusal)
        except ConnectionError:
            pass
        finally:
            self.seats.visits.discard(self.visit)
            if self.visit.seat is not None:
                await self.visit.seat.leave(self.visit, reason)

    async def _listen(self) -> None:
        patience_s = self.seats.patience_s
        async with self.visit.within(patience_s, f"no offer that could be answered within {patience_s:g} s"):
            await self.socket.send_json({"type": "ready"})
            while self.visit.seat is None or not self.visit.seat.joined:
                if (message := await self._receive()) is None:
                    return
                await self._join(message)
        async with self.visit.within(None, ""):
            await self._trickle()

    async def _receive(self) -> Mapping[str, Any] | None:
        """The next message; None once the socket is closed."""
        frame = await self.socket.receive()
        if frame.type is WSMsgType.TEXT:
            return self._parse(frame.data)
        if frame.type is WSMsgType.BINARY:
            raise Refusal(415, "a binary message: expected JSON text")
        if isinstance(error := frame.data, WebSocketError):
            if error.code == WSCloseCode.MESSAGE_TOO_BIG:
                raise Refusal(413, f"a message of more than {MAX_BYTES // 1024} KiB")
            raise Refusal(400, "expected WebSocket frames of RFC 6455")
        return None

    def _parse(self, text: str) -> Mapping[str, Any]:
        try:
            message = parsed_json(text)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise Refusal(400, f"{text[:40]!a}: expected a JSON object")
        role = message.get("role")
        if role not in ("A", "B"):
            raise Refusal(400, f"role {_shown(role)}: expected A or B")
        if self.role not in (None, role):
            raise Refusal(400, f"role {role}: this socket speaks for {self.role}")
        self.role = role
        return message

    async def _join(self, message: Mapping[str, Any]) -> None:
        match message.get("type"):
            case "offer":
                await self._send("answer", sdp=await self._free_seat().answer(self.visit, message.get("sdp", "")))
            case "ready":
                await self._send("offer", sdp=await self._free_seat().offer(self.visit))
            case "answer" if self.visit.seat is not None:
                await self.visit.seat.accept(self.visit, message.get("sdp", ""))
            case "candidate":
                self.candidates.append(_candidate(message))
                if len(self.candidates) > MAX_CANDIDATES:
                    raise Refusal(422, f"more than {MAX_CANDIDATES} candidates")
            case kind:
                raise Refusal(400, f"type {_shown(kind)}: expected offer, answer or candidate")

    def _free_seat(self) -> Seat:
        assert self.role is not None
        if self.visit.seat is not None:
            raise Refusal(409, f"side {self.role} is yours: expected your answer to our offer")
        return self.seats.find(self.role, self.session)

    async def _trickle(self) -> None:
        """Take candidates of a peer that has joined. Wrong messages end the conversation only if there are many."""
        faults = 0
        while True:
            try:
                while self.candidates and self.visit.seat is not None:
                    await self.visit.seat.add_candidate(self.visit, *self.candidates.pop(0))
                if (message := await self._receive()) is None:
                    return
                if message.get("type") != "candidate":
                    raise Refusal(400, f"type {_shown(message.get('type'))}: you have joined, expected candidate")
                self.candidates.append(_candidate(message))
            except Refusal as fault:
                faults += 1
                if self.socket.closed or faults > MAX_FAULTS:
                    raise
                self.seats.turn_away(self.visit.who, fault)
                await self._send("error", message=str(fault))

    async def _send(self, kind: str, **fields: str) -> None:
        await self.socket.send_json({"role": self.role, "type": kind, **fields})

    async def _turn_away(self, refusal: Refusal) -> None:
        line = str(refusal)
        if refusal is not self.visit.dismissal:
            self.seats.turn_away(self.visit.who, refusal)
        if not self.socket.closed:
            is_over = refusal.status == OVER
            await self._send("bye" if is_over else "error", message=line)
            code = WSCloseCode.OK if is_over else WSCloseCode.POLICY_VIOLATION
            await self.socket.close(code=code, message=line.encode("ascii", "replace")[:120])


def _shown(value: object) -> str:
    """A value that a peer sent, short and on one line."""
    return ascii(value[:20]) if isinstance(value, str) else f"of JSON type {type(value).__name__}"


def _candidate(message: Mapping[str, Any]) -> Candidate:
    """The candidate in a message. An empty or missing one means that there are no more."""
    given = message.get("candidate")
    if not given:
        return "", None, None
    if isinstance(given, dict):
        text, mid, index = given.get("candidate"), given.get("sdpMid"), given.get("sdpMLineIndex")
        if isinstance(text, str) and isinstance(mid, str | None) and isinstance(index, int | None):
            return text, mid, index
    raise Refusal(400, 'candidate: expected {"candidate": "candidate:...", "sdpMid": ..., "sdpMLineIndex": ...}')
