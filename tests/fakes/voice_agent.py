"""What the fakes of voice agents behind JSON over a WebSocket share: turns, tools, and audio that is sent ahead."""

import asyncio
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web
from fakes import far_end
from fakes.ear import Ear
from fakes.far_end import Conversant, Reply, Use, at_pace, samples

from fdbcore.types import Pcm

CHUNK_MS = 100


@dataclass(frozen=True)
class Quirks(far_end.Quirks):
    """Beside those of all: refuses: the HTTP status of the first request, and what its body says. faster: how much
    faster audio comes than it sounds. forms: what it confirms in place of its forms of audio.
    """

    think_s: float = 0.05
    refuses: tuple[int, str] | None = None
    faster: float = 1000.0
    forms: Mapping[str, Any] = field(default_factory=dict)


class VoiceAgent(Conversant):
    """One session. results: those of tools, as they came. unknown: messages that the vendor does not have.

    in_hz, out_hz: of the audio.
    """

    in_hz = 16_000
    out_hz = 16_000
    odd: Mapping[str, Sequence[str]] = {}
    """Names of messages, each with its fields."""

    def __init__(self, quirks: Quirks, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(request, ws, quirks.replies, quirks.cues)
        self.quirks = quirks
        self.results: list[Mapping[str, Any]] = []
        self.unknown: list[Any] = []
        self._speech: asyncio.Task[None] | None = None
        self._is_sending = False
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._n_calls = 0

    # A vendor's dialect

    @abstractmethod
    async def take(self, message: Mapping[str, Any]) -> None:
        """A JSON message of the client."""

    @abstractmethod
    async def send_audio(self, pcm: Pcm) -> None:
        """Send a chunk."""

    @abstractmethod
    async def tell_words(self, role: str, text: str) -> None:
        """Tell what a side said."""

    @abstractmethod
    async def tell_call(self, number: str, use: Use) -> None:
        """Have the client run a tool."""

    async def speech_began(self) -> None:
        """The caller began to speak."""

    async def audio_ended(self) -> None:
        """All audio of a reply is sent."""

    async def interrupted(self) -> None:
        """The client must drop what it has not yet played."""

    # What all do

    async def run(self) -> None:
        self.ear = Ear(self.in_hz, 10**9 if self.quirks.deaf else 60, 500)
        async for received in self.ws:
            if received.type is WSMsgType.BINARY:
                self.note(self.received, len(received.data))
                await self.hear_bytes(received.data)
            elif received.type is WSMsgType.TEXT:
                message = json.loads(received.data)
                self.note(self.received, message)
                await self.take(message)

    async def hear_bytes(self, data: bytes) -> None:
        """Take in samples of 16 bits."""
        await self.hear(samples(data))

    async def greet(self) -> None:
        if self.quirks.greeting is not None:
            self._speech = self.begin(self._speak(self.quirks.greeting))

    async def tell(self, message: Mapping[str, Any]) -> None:
        if not self.ws.closed:
            self.note(self.sent, message)
            await self.ws.send_json(message)

    async def turn_begins(self, at_ms: int) -> None:
        await self.speech_began()
        await self.interrupt()

    async def turn_ends(self, at_ms: int) -> None:
        await self.tell_words("user", self.quirks.words)
        await self.answer()

    async def answer(self) -> None:
        """A cue: say the next reply."""
        if not self.quirks.mute:
            self._speech = self.begin(self._generate(self.next_reply()))

    async def interrupt(self) -> None:
        """A cue: stop what is being said, and have the client forget what it has not yet played."""
        if self._speech is None or self._speech.done():
            return
        self._speech.cancel()
        await self.interrupted()

    async def send_late(self) -> None:
        for _ in range(self.quirks.late_chunks):
            await self.send_audio(self.said[-1][-self.out_hz * CHUNK_MS // 1000 :])

    async def _generate(self, reply: Reply) -> None:
        await asyncio.sleep(self.quirks.think_s)
        for use in reply.uses:
            self._n_calls += 1
            number = f"call-{self._n_calls}"
            self._waiting[number] = asyncio.get_running_loop().create_future()
            await self.tell_call(number, use)
        if self._waiting:
            await asyncio.wait(list(self._waiting.values()))
            self._waiting.clear()
        await self._speak(reply)

    def got_result(self, number: str, message: Mapping[str, Any]) -> None:
        self.results.append(message)
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def _speak(self, reply: Reply) -> None:
        """Words first, then audio ahead of time; the reply goes on until it has been heard."""
        await self.tell_words("agent", reply.words)
        voice = self.next_voice(reply.seconds, self.out_hz)
        await at_pace(voice, self.out_hz * CHUNK_MS // 1000, self.quirks.faster, self.out_hz, self.send_audio)
        await self.audio_ended()
        await asyncio.sleep(reply.seconds)

    # Cues, beside `answer`, `interrupt` and `abort`

    async def hang_up(self) -> None:
        """End the call, as the agent does."""
        await self.ws.close(code=1000)

    async def send_garbage(self) -> None:
        """Send text that is no JSON, and JSON that is no object."""
        await self.ws.send_str('{"type": "sta')
        await self.ws.send_str("[1, 2]")

    async def send_odd(self) -> None:
        """Send the vendor's messages with values of other kinds."""
        for kind in self.odd:
            odd: dict[str, Any]
            for odd in (
                {},
                {kind: 3},
                {name: [3] for name in self.odd[kind]},
                {name: {"x": [{}]} for name in self.odd[kind]},
            ):
                await self.tell({"type": kind, **odd})
        await self.tell({"type": ["x"]})

    async def send_unknown(self) -> None:
        """Send a message that nobody knows."""
        await self.tell({"type": "agent_mood", "calm": 0.5})
