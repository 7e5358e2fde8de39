"""The WebSocket of a party: sends what the ticks give, passes on what comes, and closes within a second."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fdbcore.clock import now_ns
from fdbcore.endpoints.frames import MOST_UNSENT_FRAMES, FrameStream
from fdbcore.errors import MissingExtraError, PartyError
from fdbcore.runtime.network import may_be_up_later
from fdbcore.types import TICKS_PER_S

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

CLOSE_TIMEOUT_S: Final = 1.0
ANSWER_TIMEOUT_S: Final = 2.0
"""Time that the other end may take to answer the farewell."""

# The kernel's send buffer may grow to megabytes, a minute of audio, before we notice that the system does not read.
_SEND_BUFFER_BYTES: Final = 64 * 1024

Message: TypeAlias = bytes | str


class Ending(NamedTuple):
    """The end of a WebSocket, in words. code, reason: of the other end's close; None and "" if there was none."""

    text: str
    code: int | None = None
    reason: str = ""


LOST: Final = Ending("the connection was lost")


async def _in_words(ended: Ending) -> str:
    return ended.text


class WebSocketLine:
    """One WebSocket at a time, on the network's loop. When it ends, `stream` is told why.

    farewell: gives the last message for the other end, from the reason for leaving; "" for none. parting: gives the
    reason for leaving when the other end has gone; None if the party goes on over another connection. answered: takes
    what comes after the farewell, until it returns True; None to wait for nothing.
    passed_audio: how many messages with audio were sent, were lost with the connection on their way, or dropped.
    dropped_audio: those that were dropped: while there is no connection, the oldest audio makes room for the new.
    """

    def __init__(
        self,
        stream: FrameStream,
        farewell: Callable[[str], str] = lambda reason: "",
        parting: Callable[[Ending], Awaitable[str | None]] = _in_words,
        answered: Callable[[Message], bool] | None = None,
    ) -> None:
        self.passed_audio = self.dropped_audio = 0
        self._stream = stream
        self._farewell = farewell
        self._parting = parting
        self._answered = answered
        self._outgoing: deque[tuple[int | None, Message]] = deque()
        self._filled = asyncio.Event()
        self._tick = 0
        self._connected_tick: int | None = None  # None while there is no connection
        self._sockets: list[socket.socket] = []

    async def hold(
        self,
        url: str,
        greet: Callable[[aiohttp.ClientWebSocketResponse], Awaitable[None]],
        ready: Callable[[], None],
        take: Callable[[Message], None],
        headers: Mapping[str, str] | None = None,
        most_message_bytes: int = 0,
        verifies_tls: bool = True,
    ) -> None:
        """Connect, let `greet` shake hands, call `ready`, and pass each message to `take` until the connection ends.

        headers: of the request that opens the connection; they may hold a key, so they follow no redirection.
        most_message_bytes: 0 for no limit. verifies_tls: whether the server's certificate must hold. Raises the error
        of `greet`, or aiohttp's if it cannot connect.
        """
        import aiohttp

        # Made on a thread: reading the certificates of the system takes 30 ms, which other calls must not wait for.
        reads = verifies_tls and url.startswith("wss:")
        tls = await asyncio.to_thread(ssl.create_default_context) if reads else verifies_tls
        connector = aiohttp.TCPConnector(socket_factory=self._socket)
        async with (
            aiohttp.ClientSession(connector=connector, trace_configs=[without_redirections()]) as http,
            http.ws_connect(url, ssl=tls, headers=headers, max_msg_size=most_message_bytes) as ws,
        ):
            try:
                await greet(ws)
                ready()
                await self._converse(ws, take)
            finally:
                await self._part(ws)

    def put(self, tick: int | None, messages: Sequence[Message]) -> None:
        """Send messages, in their order. On the network's loop. tick: whose audio they carry; None if they do not.

        A party that takes nothing for as long as MOST_UNSENT_FRAMES is made to leave. While there is no connection that
        is not its fault: as much of the newest audio waits for the next one.
        """
        if tick is not None:
            self._tick = tick
            if self._connected_tick is None:
                self._drop_until(tick - MOST_UNSENT_FRAMES)
            elif (oldest := self._oldest_audio()) is not None:
                if tick - max(oldest[0], self._connected_tick) >= MOST_UNSENT_FRAMES:
                    waiting = f"{MOST_UNSENT_FRAMES // TICKS_PER_S} s of audio wait to be sent"
                    self._stream.leave(f"stopped reading: {waiting}")
                    return
        self._outgoing.extend((tick, message) for message in messages)
        self._filled.set()

    def _drop_until(self, tick: int) -> None:
        while (oldest := self._oldest_audio()) is not None and oldest[0] <= tick:
            self._outgoing.remove(oldest)
            self.passed_audio += 1
            self.dropped_audio += 1

    def _oldest_audio(self) -> tuple[int, Message] | None:
        return next(((tick, message) for tick, message in self._outgoing if tick is not None), None)

    def _socket(self, where: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = where
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        self._sockets.append(made)
        return made

    async def _converse(self, ws: aiohttp.ClientWebSocketResponse, take: Callable[[Message], None]) -> None:
        import aiohttp

        self._connected_tick = self._tick
        sender = asyncio.create_task(self._send(ws))
        try:
            while self._stream.left is None:
                message = await ws.receive()
                if message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                    take(message.data)
                    continue
                ended_ns = now_ns()
                if (reason := await self._parting(ending(ws, message))) is None:
                    return
                self._stream.leave(reason, ended_ns)
        except BaseException:
            self._stream.leave("closed")
            raise
        finally:
            self._connected_tick = None
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)

    async def _send(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            while not self._outgoing:
                self._filled.clear()
                await self._filled.wait()
            tick, message = self._outgoing.popleft()
            self.passed_audio += tick is not None
            if isinstance(message, str):
                await ws.send_str(message)
            else:
                await ws.send_bytes(message)
            if tick is not None:
                self._stream.sent(tick)

    async def _part(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """Close the connection properly if the system allows it in time; at once if it floods us."""
        reason = self._stream.left or "closed"
        code = 1000 if reason in ("closed", "finished") else 1008
        with suppress(TimeoutError):
            wait_s = CLOSE_TIMEOUT_S + (ANSWER_TIMEOUT_S if self._answered is not None else 0)
            async with asyncio.timeout(0 if self._stream.flooded else wait_s):
                if not ws.closed:
                    if farewell := self._farewell(reason):
                        with suppress(ConnectionError):
                            await ws.send_str(farewell)
                            await self._wait_for_answer(ws)
                    await ws.close(code=code, message=reason.encode()[:120])
                return
        for opened in self._sockets:  # otherwise unread data would keep the connection open
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)

    async def _wait_for_answer(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """Pass on what still comes, until the other end has answered the farewell, closed, or taken too long."""
        import aiohttp

        if self._answered is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                while (message := await ws.receive()).type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                    if self._answered(message.data):
                        return


def require_aiohttp(kind: str) -> None:
    """MissingExtraError if there is no aiohttp. kind: of the party that needs it."""
    try:
        import aiohttp  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"{kind} needs aiohttp: pip install 'fdbcore[live]'") from None


def failure(error: BaseException, name: str) -> PartyError:
    """The error that the party `name` could not be connected to, from aiohttp's. Any other error is raised."""
    import aiohttp

    if isinstance(error, PartyError):
        return error
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return PartyError(f"{name}: refused with HTTP {error.status}", error.status in (429, 503))
    if isinstance(error, aiohttp.ClientError | OSError):
        return PartyError(
            f"{name}: cannot connect: {one_line(getattr(error, 'os_error', error))}", may_be_up_later(error)
        )
    raise error


def wrong_tls(error: BaseException, name: str) -> PartyError | None:
    """The error that a server wants TLS, or has none, where the setting `tls` says which; None for any other."""
    import aiohttp

    if isinstance(error, aiohttp.ServerDisconnectedError):
        return PartyError(f"{name}: hung up without a word; does it want TLS (tls=1)?")
    if isinstance(error, aiohttp.ClientSSLError):
        return PartyError(f"{name}: no TLS there ({one_line(error.os_error)}); does it speak without (tls=0)?")
    return None


def without_redirections(stays: Callable[[URL], bool] = lambda url: False) -> aiohttp.TraceConfig:
    """Refuses redirections, which aiohttp would follow with all headers, but for those to a place that `stays`."""
    import aiohttp
    from yarl import URL

    async def refuse(_: object, __: object, redirection: aiohttp.TraceRequestRedirectParams) -> None:
        answer = redirection.response
        with suppress(ValueError):  # no URL
            if stays(answer.url.join(URL(answer.headers.get("Location", "")))):
                return
        raise aiohttp.ClientConnectionError("the server sends us to another one, which might get the key")

    tracing = aiohttp.TraceConfig()
    tracing.on_request_redirect.append(refuse)
    return tracing


def ending(ws: aiohttp.ClientWebSocketResponse, message: aiohttp.WSMessage) -> Ending:
    """The end of the connection, from the last message of the WebSocket."""
    import aiohttp

    if message.type is aiohttp.WSMsgType.ERROR:
        return Ending(f"broke the WebSocket protocol: {one_line(message.data)}")
    if message.type is not aiohttp.WSMsgType.CLOSE:
        return LOST
    reason = one_line(message.extra or "")
    return Ending(f"closed by the system: {f'{ws.close_code} {reason}'.strip()}", ws.close_code, reason)


def one_line(reason: object) -> str:
    """A reason as one line."""
    return " ".join(str(reason).split())
