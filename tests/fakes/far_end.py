"""What the fakes of voice services share: a server in a thread of its own, an ear for turns, cues, a log of messages.

A fake derives from `FarEnd`, and from `Party` or `Conversant`, of which it has one for each connection.
"""

import asyncio
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from aiohttp import WSMsgType, web
from fakes.ear import Ear
from fakes.loopback import Loopback
from fakes.realtime.plan import tones

from fdbcore.types import Pcm


@dataclass(frozen=True)
class Use:
    """Of a tool."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What the fake answers to a turn: the tools that it uses first, then `seconds` of planted tones.

    words: what it says, for the transcript.
    """

    seconds: float = 2.0
    words: str = "I can do that for you"
    uses: Sequence[Use] = ()


@dataclass(frozen=True)
class Quirks:
    """How a server behaves, and where it goes wrong.

    greeting: what it says first. cues: see `Party`; methods of its connections. ready_s: how long it takes until a
    session is ready. mute: it answers no turn. deaf: it finds no turns in what it hears, so that cues alone move it.
    think_s: from a turn's end to the answer. late_chunks: chunks of what was interrupted that still come. words: what
    the caller is taken to say.
    """

    replies: Sequence[Reply] = (Reply(),)
    greeting: Reply | None = None
    cues: Mapping[int, str] = field(default_factory=dict)
    ready_s: float = 0.0
    mute: bool = False
    deaf: bool = False
    think_s: float = 0.2
    late_chunks: int = 0
    words: str = "what is the time"


@dataclass(frozen=True)
class Noted:
    """A message as it came or went: when (time.monotonic_ns), and how much audio had come in by then."""

    at_ns: int
    heard_ms: float
    message: Any


class Party(ABC):
    """One connection. received, sent: all messages; of audio that comes in as bytes, its length.

    cues: by ms of the audio that came in, the method that is called then. errors: of the fake itself, which are raised
    when the server is left.
    """

    def __init__(self, request: web.Request, ws: web.WebSocketResponse, cues: Mapping[int, str]) -> None:
        self.request, self.ws = request, ws
        self.received: list[Noted] = []
        self.sent: list[Noted] = []
        self.errors: list[BaseException] = []
        self.close_code: int | None = None
        self._cues = sorted(cues.items())
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    @abstractmethod
    def heard_ms(self) -> float:
        """How much audio came in."""

    @abstractmethod
    async def run(self) -> None:
        """Serve this connection until it ends."""

    async def do_what_is_due(self) -> None:
        """Follow the cues up to now."""
        while self._cues and self._cues[0][0] <= self.heard_ms:
            await getattr(self, self._cues.pop(0)[1])()

    def note(self, log: list[Noted], message: object) -> None:
        """Write a message down."""
        log.append(Noted(time.monotonic_ns(), self.heard_ms, message))

    def begin(self, doing: Any) -> asyncio.Task[None]:
        """Do this beside the rest, until it is done or the connection ends."""
        task: asyncio.Task[None] = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.errors.append(error)

    async def abort(self) -> None:
        """A cue: cut the connection, as a crash would."""
        if self.request.transport is not None:
            self.request.transport.abort()

    async def served(self) -> None:
        """`run`, and what is left to do when it has ended."""
        try:
            await self.run()
        except ConnectionError:
            pass  # the caller has gone: nobody is left to tell
        except Exception as error:
            self.errors.append(error)
        finally:
            for task in list(self._tasks):
                task.cancel()
            self.close_code = self.ws.close_code


class Conversant(Party):
    """A connection whose turns are found here. heard: the audio that came in. said: what it set out to say, whole."""

    def __init__(
        self, request: web.Request, ws: web.WebSocketResponse, replies: Sequence[Reply], cues: Mapping[int, str]
    ) -> None:
        super().__init__(request, ws, cues)
        self.heard: list[Pcm] = []
        self.said: list[Pcm] = []
        self.ear: Ear | None = None
        self.n_replies = self.n_voices = 0
        self._replies = replies

    @property
    def heard_ms(self) -> float:
        return self.ear.heard_ms if self.ear else 0.0

    @abstractmethod
    async def turn_begins(self, at_ms: int) -> None:
        """The caller began to speak."""

    @abstractmethod
    async def turn_ends(self, at_ms: int) -> None:
        """The caller has stopped speaking."""

    def next_reply(self) -> Reply:
        """Each reply in turn, and again from the first."""
        self.n_replies += 1
        return self._replies[(self.n_replies - 1) % len(self._replies)]

    def next_voice(self, seconds: float, rate_hz: int) -> Pcm:
        """Tones of their own, from seed 0 on, each time that the fake begins to speak."""
        voice = tones(seconds, self.n_voices, rate_hz)
        self.n_voices += 1
        self.said.append(voice)
        return voice

    async def hear(self, pcm: Pcm) -> None:
        """Take audio in, however much, and do what is due with it, as if it came 10 ms at a time."""
        assert self.ear is not None
        self.heard.append(pcm)
        for at in range(0, len(pcm), self.ear.frame):
            for what, at_ms in self.ear.hear(pcm[at : at + self.ear.frame]):
                await (self.turn_begins(at_ms) if what == "begins" else self.turn_ends(at_ms))
            await self.do_what_is_due()


Served = TypeVar("Served", bound=Party)
Behaves = TypeVar("Behaves")


class FarEnd(Loopback, Generic[Served, Behaves]):
    """See `Loopback`. parties: all connections, in their order. usual: its quirks, unless it is given others.

    KEY: lets in; "" for anybody.
    """

    KEY: ClassVar[str] = "fake-key-0123456789abcdef"
    usual: Behaves

    def __init__(self, quirks: Behaves | None = None, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.quirks = quirks or self.usual
        self.parties: list[Served] = []
        self.sessions = self.parties

    def introduction(self) -> str:
        return f"{super().introduction()} {self.KEY}".strip()

    async def serve(
        self, request: web.Request, made: Callable[[web.WebSocketResponse], Served]
    ) -> web.WebSocketResponse:
        """Take a WebSocket, and let its party serve it."""
        ws = web.WebSocketResponse(timeout=0.5, max_msg_size=0)
        await ws.prepare(request)
        party = made(ws)
        self.parties.append(party)
        await party.served()
        return ws


async def at_pace(pcm: Pcm, chunk: int, faster: float, rate_hz: int, send: Callable[[Pcm], Any]) -> None:
    """Send audio in chunks, `faster` times as fast as it sounds, on the clock and not on its own delays."""
    began = time.monotonic()
    for at in range(0, len(pcm), chunk):
        await asyncio.sleep(began + at / rate_hz / faster - time.monotonic())
        await send(pcm[at : at + chunk])


def samples(data: bytes) -> Pcm:
    """Little-endian 16 bit samples."""
    return np.frombuffer(data, "<i2").astype(np.int16)


TEXT_OR_BYTES = (WSMsgType.TEXT, WSMsgType.BINARY)
