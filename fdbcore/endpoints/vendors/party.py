"""The shared part of vendors' parties: a session over a WebSocket, with bursts of audio in and packets of audio out."""

from __future__ import annotations

import base64
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from fdbcore.endpoints.frames import FrameStream, Pace, StreamParty
from fdbcore.endpoints.vendors.items import SAMPLES_PER_MS, Items, Said, from_pcm16
from fdbcore.endpoints.vendors.party_log import MOST_SHOWN_CHARS, UNREADABLE, Json, LoggedParty
from fdbcore.endpoints.vendors.patience import Patience
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import (
    LOST,
    Ending,
    Message,
    WebSocketLine,
    ending,
    failure,
    require_aiohttp,
)
from fdbcore.errors import FdbError, PartyError
from fdbcore.protocols import Clocking
from fdbcore.runtime.network import event_loop
from fdbcore.types import Happening, Pcm, Side
from fdbcore.types.system_events import INTERRUPTED, ITEM

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp

MOST_MESSAGE_BYTES: Final = 16 * 1024 * 1024
MOST_AHEAD_S: Final = 300
"""Audio that a party may send ahead: the longest answer of a model has 4,096 tokens, which are 205 s."""
OPEN_TIMEOUT_S: Final = 30.0

_BURSTS: Final = Pace("burst")


class Session:
    """The WebSocket while the party opens: sends and receives one message at a time, in the form of the party's wire.

    Raises the party's error if it ends. latest: the message that came last.
    """

    def __init__(self, ws: aiohttp.ClientWebSocketResponse, party: VendorParty) -> None:
        self._ws = ws
        self._party = party
        self.latest: Json = {}

    async def send(self, message: Json) -> None:
        """Send one message."""
        await self._ws.send_str(self._party.write(message))

    async def receive(self) -> Json:
        """The next message that the party can read; others are left out."""
        import aiohttp

        while True:
            message = await self._ws.receive()
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                raise self._party.refusal(ending(self._ws, message))
            if (event := self._party.read(message.data)) is not None:
                self.latest = event
                return event


class VendorParty(StreamParty, LoggedParty):
    """A party at a vendor. A subclass knows the protocol; each message of the server comes to `take`.

    The ticks' thread calls the methods of `Endpoint`; the network's thread calls `begin`, `take` and what they use:
    `items`, `note`, `call`, `cut_short`, `send`, `end`.

    name: in messages. uplink: what it hears. rate_hz: of what it says. names_its_items: otherwise it calls
    `items.push_unnamed`. pace: of what it says.
    """

    kind: ClassVar[str]
    clocking: Clocking = "burst"
    speaks_in_bytes: bool = False
    """True if the server's binary messages are its audio; otherwise they are JSON as its texts are."""
    answer: ClassVar[str] = ""
    """The type of the message with which the server answers the farewell; "" if that is not waited for."""
    verifies_tls: ClassVar[bool] = True
    """True if the server's certificate must hold; not for one that signs its own."""

    def __init__(
        self,
        name: str,
        uplink: Uplink,
        rate_hz: int,
        names_its_items: bool = True,
        timeout_s: float = OPEN_TIMEOUT_S,
        pace: Pace = _BURSTS,
    ) -> None:
        super().__init__(FrameStream(pace, timeout_s, MOST_AHEAD_S, names_its_ends=True))
        self.name = name
        self.without_key = str
        self.uplink = uplink
        self.items = Items(self.stream, rate_hz, names_its_items)
        self.confirmed: Json = {}
        """The session as the server confirms it."""
        self.timeout_s = timeout_s
        self._patience = Patience(timeout_s)
        self._line = WebSocketLine(
            self.stream, lambda reason: self.farewell(), self.parting, self._answered if self.answer else None
        )

    # For subclasses to add

    @abstractmethod
    async def where(self) -> tuple[str, Mapping[str, str]]:
        """The URL of the WebSocket, and the headers of the request. PartyError if there is none."""

    @abstractmethod
    async def begin(self, session: Session) -> None:
        """Shake hands until the server is ready for audio, and set `confirmed`. PartyError if it is not."""

    @abstractmethod
    def take(self, event: Json) -> None:
        """Handle one message of the server."""

    @abstractmethod
    def audio(self, packet: bytes) -> Message:
        """The message that carries a packet of audio."""

    def write(self, message: Json) -> str:
        """A message of ours as the server gets it."""
        return json.dumps(message)

    def take_audio(self, data: bytes) -> None:
        """Handle a binary message of a server that `speaks_in_bytes`."""
        raise NotImplementedError  # a party with such a server has it

    def request(self, text: str) -> Sequence[Json]:
        """The messages that tell the model a text, and let it speak."""
        raise NotImplementedError  # a party that takes a part has them

    def recital(self, text: str) -> Sequence[Json]:
        """The messages that let the model say a text word for word."""
        raise NotImplementedError  # a party that recites has them

    def of_session(self) -> Json:
        """The server, and the settings that were asked for, as JSON values for `describe`."""
        return {}

    def fall_silent(self) -> None:
        """Drop what was not yet heard, and tell the server so where its protocol allows that."""
        self.cut_short()

    def named(self, code: int | None, said: str) -> PartyError | None:
        """The named error behind the code of a close, or the HTTP status of a refusal, and what the server said then.

        None if it has no name.
        """
        return None

    def farewell(self) -> str:
        """The last message to the server; "" for none."""
        return ""

    async def parting(self, ended: Ending) -> str | None:
        """The reason why the party leaves when the connection has ended; None if it goes on over another one."""
        error = self.named(ended.code, ended.reason)
        if error is None:
            return self.without_key(ended.text)
        self.transient |= error.transient
        return str(error)

    # For subclasses to use

    def cut_short(self) -> list[Json]:
        """Drop what was not yet heard. Returns of each item that is cut short: {"item", "heard_ms", "said_ms"}."""
        found = []
        for said in self.items.cut():
            found.append(_cut_off(said))
            self.note(INTERRUPTED, **found[-1])
        return found

    def decoded(self, audio: object, decode: Callable[[bytes], Pcm] = from_pcm16) -> Pcm | None:
        """The audio in a text of Base64, int16 (n,) at the party's rate; None, which is logged, if there is none."""
        try:
            return decode(base64.b64decode(str(audio), validate=True))
        except ValueError:
            self.not_audio(str(audio))
            return None

    def send(self, *messages: Json) -> None:
        """Send messages."""
        self._line.put(None, [self.write(message) for message in messages])

    # Called by the loop

    def open(self, side: Side) -> None:
        """Connect, and agree on the session. PartyError if the party is not available."""
        require_aiohttp(self.kind)
        try:
            self._background.open(self._hold, self.timeout_s)
        except TimeoutError:
            raise self._too_late("no session") from None
        except Exception as error:
            raise self._failure(error) from None

    def _too_late(self, what: str) -> PartyError:
        """The error that there was `what` when the time-out was over; with the server's last refusal."""
        refusal = self._patience.refusal
        before = "" if refusal is None else str(self._failure(refusal)).removeprefix(f"{self.name}: ")
        told = f"{what} within {self.timeout_s:g} s"
        return self.error(f"{told}, and a refusal before: {before}" if before else told, transient=True)

    def _failure(self, error: Exception) -> PartyError:
        import aiohttp

        if isinstance(error, aiohttp.ClientResponseError):
            handshake = isinstance(error, aiohttp.WSServerHandshakeError)
            named = self.named(error.status, "" if handshake else error.message)
            if named is not None:
                return named
        return failure(error, self.name)

    def refusal(self, ended: Ending) -> PartyError:
        """The error that the connection ended before the session began."""
        again = ended is LOST or ended.code in (1001, 1011, 1012, 1013)
        return self.named(ended.code, ended.reason) or self.error(f"{ended.text} before the session began", again)

    async def _hold(self, ready: Callable[[], None]) -> None:
        self._patience = Patience(self.timeout_s)
        await self._patience.connect(lambda: self._connect(ready))

    async def _connect(self, ready: Callable[[], None]) -> None:
        url, headers = await self.where()
        await self._line.hold(
            url,
            lambda ws: self._begin(Session(ws, self)),
            ready,
            self._take,
            headers,
            most_message_bytes=MOST_MESSAGE_BYTES,
            verifies_tls=self.verifies_tls,
        )

    async def _begin(self, session: Session) -> None:
        try:
            await self.begin(session)
        except FdbError:
            raise
        except UNREADABLE:
            shown = json.dumps(session.latest, ensure_ascii=False, default=str)[:MOST_SHOWN_CHARS]
            raise self.error(f"broke the protocol: cannot read {shown}") from None

    def _take(self, message: Message) -> None:
        if isinstance(message, bytes) and self.speaks_in_bytes:
            self.take_audio(message)
            return
        if (event := self.event_in(message)) is not None:
            self.take_event(event)

    def _answered(self, message: Message) -> bool:
        """Take a message that comes after the farewell; whether it is the answer."""
        event = self.read(message)
        if event is not None:
            self.take_event(event)
        return event is not None and event.get("type") == self.answer

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the packets that this frame completes."""
        if (packets := self.uplink.hear(tick, frame)) and self.stream.left is None:
            messages = [self.audio(packet) for packet in packets]
            event_loop().call_soon_threadsafe(self._line.put, tick, messages)

    def ask(self, tick: int, text: str) -> None:
        """See `Endpoint.ask`."""
        event_loop().call_soon_threadsafe(lambda: self.send(*self.request(text)))

    def recite(self, tick: int, text: str) -> None:
        """See `Endpoint.recite`."""
        event_loop().call_soon_threadsafe(lambda: self.send(*self.recital(text)))

    def hush(self, tick: int) -> None:
        """See `Endpoint.hush`."""
        event_loop().call_soon_threadsafe(self.fall_silent)

    def waiting_ms(self) -> int:
        """See `Endpoint.waiting_ms`."""
        return self.stream.queued_samples // SAMPLES_PER_MS

    def log(self) -> Sequence[Happening]:
        """Events, with each item once nothing more of it is to be heard."""
        happened = list(super().log())
        for said in self.items.played_out():
            whole = {"item": said.item, "said_samples": said.said_samples}
            kind, fields = (INTERRUPTED, _cut_off(said)) if said.lost_samples else (ITEM, whole)
            happened.append(Happening(self.stream.tick, kind, fields))
        return happened

    def measured(self) -> Mapping[str, Any]:
        """Counts of samples, our own delays, and the lateness of the packets sent, as JSON values."""
        late = {"late_samples": self.items.late_samples}
        return {**super().measured(), **self.uplink.measured(), **late}

    def describe(self) -> Mapping[str, Any]:
        """The party, and the session as the server confirmed it, as JSON values without secrets."""
        session = {"session": self.confirmed} if self.confirmed else {}
        return {
            "kind": self.kind,
            "name": self.name,
            "hears": self.uplink.describe(),
            "says": {"rate_hz": self.items.rate_hz},
            **session,
            **self.of_session(),
        }


def _cut_off(said: Said) -> Json:
    return {"item": said.item, "heard_ms": said.heard_ms, "said_ms": said.said_ms}
