"""An application behind Twilio's Media Streams: a bot that answers after silence, and checks all that it is told.

    with TwilioBot() as bot:
        ... bot.url("ws") + "/media", bot.parties[0].marks

What the network says is held to Twilio's page "Media Streams - WebSocket Messages": order, fields, types, counters and
pace. What is wrong is raised when the bot is left.

Run alone, it prints where it is served: `PYTHONPATH=tests python -m fakes.twilio_bot`.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web
from fakes import far_end
from fakes.ear import Ear
from fakes.far_end import Conversant, FarEnd, Reply, at_pace
from fakes.loopback import serve_alone
from fakes.realtime.sound import companded, decoded

from fdbcore.types import Pcm

RATE_HZ, FRAME_MS = 8000, 20
SOUND = {"type": "audio/pcmu"}
MARK_TOLERANCE_S = 0.02
FIELDS: Mapping[str, Mapping[str, str]] = {
    "start": {
        "streamSid": r"MZ[0-9a-f]{32}",
        "accountSid": r"AC[0-9a-f]{32}",
        "callSid": r"CA[0-9a-f]{32}",
        "tracks": "",
        "mediaFormat": "",
        "customParameters": "",
    },
    "media": {"track": "inbound", "chunk": r"\d+", "timestamp": r"\d+", "payload": r"[A-Za-z0-9+/]+=*"},
    "mark": {"name": ".+"},
    "dtmf": {"track": "inbound_track", "digit": r"[0-9*#A-D]"},
    "stop": {"accountSid": r"AC[0-9a-f]{32}", "callSid": r"CA[0-9a-f]{32}"},
}
"""What each message holds beside its event, number and stream; texts are held to the pattern."""


@dataclass(frozen=True)
class Quirks(far_end.Quirks):
    """Beside those of all: refuses: the HTTP status in place of a WebSocket. faster: how much faster than real time its
    audio comes, in messages of message_ms.
    """

    refuses: int | None = None
    silence_ms: int = 500
    faster: float = 10.0
    message_ms: int = 200


@dataclass
class Mark:
    """One that was sent. due_s: when the audio before it has played (time.monotonic). back_s: when it was returned."""

    due_s: float
    back_s: float | None = None


class TwilioBot(FarEnd["Bot", Quirks]):
    """The server of the application."""

    KEY = ""
    usual = Quirks()

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/media", self._stream)]

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if self.quirks.refuses is not None:
            return web.Response(status=self.quirks.refuses)
        return await self.serve(request, lambda ws: Bot(self.quirks, request, ws))


class Bot(Conversant):
    """One stream. start: its metadata. digits: the keys pressed. marks: by their name. stopped: it ended well."""

    def __init__(self, quirks: Quirks, request: web.Request, ws: web.WebSocketResponse) -> None:
        super().__init__(request, ws, quirks.replies, quirks.cues)
        self.quirks = quirks
        self.ear = Ear(RATE_HZ, 10**9 if quirks.deaf else 60, quirks.silence_ms)
        self.start: Mapping[str, Any] = {}
        self.digits = ""
        self.marks: dict[str, Mark] = {}
        self.stopped = False
        self._events: list[str] = []
        self._plays_until = 0.0
        self._speech: asyncio.Task[None] | None = None

    async def run(self) -> None:
        async for received in self.ws:
            if received.type is not WSMsgType.TEXT:
                self._wrong(f"a message that is no text: {received.type.name}")
                continue
            message = json.loads(received.data)
            self.note(self.received, message)
            self._check(message)
            self._events.append(message["event"])
            await self._take(message)

    async def _take(self, message: Mapping[str, Any]) -> None:
        match message["event"]:
            case "start":
                self.start = message["start"]
                if self.quirks.greeting is not None:
                    self._speech = self.begin(self._speak(self.quirks.greeting.seconds))
            case "media":
                await self.hear(decoded(base64.b64decode(message["media"]["payload"]), SOUND))
            case "mark":
                self._take_mark(message["mark"]["name"])
            case "dtmf":
                self.digits += message["dtmf"]["digit"]
            case "stop":
                self.stopped = True

    def _take_mark(self, name: str) -> None:
        mark, now = self.marks.get(name), time.monotonic()
        if mark is None or mark.back_s is not None:
            return self._wrong(f"mark {name!r} was not sent, or is returned twice")
        mark.back_s = now
        if now < mark.due_s - MARK_TOLERANCE_S:
            self._wrong(f"mark {name!r} is returned {mark.due_s - now:.3f} s before its audio has played")
        if any(before.back_s is None for before in list(self.marks.values())[: list(self.marks).index(name)]):
            self._wrong(f"mark {name!r} is returned before one that was sent earlier")

    # What the network is held to

    def _wrong(self, what: str) -> None:
        self.errors.append(AssertionError(what))

    def _check(self, message: Mapping[str, Any]) -> None:
        event, number = str(message.get("event")), len(self._events)
        if number == 0:
            if message != {"event": "connected", "protocol": "Call", "version": "1.0.0"}:
                self._wrong(f"the first message is {message}")
            return
        if event not in FIELDS or (event == "start") != (number == 1) or self.stopped:
            return self._wrong(f"message {number} is {event!r}")
        if message.keys() != {"event", "sequenceNumber", "streamSid", event}:
            return self._wrong(f"{event} has the fields {sorted(message)}")
        if message["sequenceNumber"] != str(number):
            self._wrong(f"sequenceNumber {message['sequenceNumber']!r}, expected {str(number)!r}")
        told, fields = message[event], FIELDS[event]
        stream = told["streamSid"] if event == "start" else self.start["streamSid"]
        if message["streamSid"] != stream:
            self._wrong(f"{event} is of stream {message['streamSid']!r}")
        if told.keys() != fields.keys():
            return self._wrong(f"{event} holds {sorted(told)}")
        for name, pattern in fields.items():
            if pattern and not (isinstance(told[name], str) and re.fullmatch(pattern, told[name])):
                self._wrong(f"{event}.{name} is {told[name]!r}")
        if event == "start":
            self._check_start(told)
        if event == "media":
            self._check_media(told)

    def _check_start(self, told: Mapping[str, Any]) -> None:
        if told["mediaFormat"] != {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1}:
            self._wrong(f"mediaFormat is {told['mediaFormat']}")
        if told["tracks"] != ["inbound"] or not isinstance(told["customParameters"], dict):
            self._wrong(f"start has tracks {told['tracks']} and customParameters {told['customParameters']}")

    def _check_media(self, told: Mapping[str, Any]) -> None:
        number = self._events.count("media")
        if told["chunk"] != str(number + 1):
            self._wrong(f"media.chunk {told['chunk']!r}, expected {str(number + 1)!r}")
        if told["timestamp"] != str(number * FRAME_MS):
            self._wrong(f"media.timestamp {told['timestamp']!r}, expected {str(number * FRAME_MS)!r}")
        if len(base64.b64decode(told["payload"])) != RATE_HZ * FRAME_MS // 1000:
            self._wrong(f"media.payload has {len(base64.b64decode(told['payload']))} bytes")

    # What the bot does

    async def turn_begins(self, at_ms: int) -> None:
        await self.interrupt()

    async def turn_ends(self, at_ms: int) -> None:
        await self.answer()

    async def answer(self) -> None:
        """Say the next reply, unless one is on its way."""
        if not self.quirks.mute and (self._speech is None or self._speech.done()):
            self._speech = self.begin(self._speak_later(self.next_reply()))

    async def interrupt(self) -> None:
        """Stop what is being said, and have the network forget what it has not played; its marks come back at once."""
        if self._speech is not None:
            self._speech.cancel()
        if time.monotonic() < self._plays_until:
            self._plays_until = time.monotonic()
            for mark in self.marks.values():
                mark.due_s = min(mark.due_s, self._plays_until)
            await self._tell("clear")

    async def _speak_later(self, reply: Reply) -> None:
        await asyncio.sleep(self.quirks.think_s)
        await self._speak(reply.seconds)

    async def _speak(self, seconds: float) -> None:
        voice = self.next_voice(seconds, RATE_HZ)
        await at_pace(voice, RATE_HZ * self.quirks.message_ms // 1000, self.quirks.faster, RATE_HZ, self._say)
        await self.mark()

    async def mark(self) -> None:
        """Ask to be told when all has played that was sent so far."""
        name = f"mark {len(self.marks) + 1}"
        self.marks[name] = Mark(max(self._plays_until, time.monotonic()))
        await self._tell("mark", {"name": name})

    async def _say(self, pcm: Pcm) -> None:
        self._plays_until = max(self._plays_until, time.monotonic()) + len(pcm) / RATE_HZ
        await self._tell("media", {"payload": base64.b64encode(companded(pcm)).decode()})

    async def _tell(self, event: str, told: Mapping[str, Any] | None = None) -> None:
        if self.ws.closed:
            return
        message = {"event": event, "streamSid": self.start["streamSid"]} | ({} if told is None else {event: told})
        self.note(self.sent, message)
        await self.ws.send_json(message)

    # Cues, beside `answer`, `interrupt`, `mark` and `abort`

    async def fail(self) -> None:
        """End it, as one that has crashed."""
        await self.ws.close(code=1011)

    async def send_garbage(self) -> None:
        """Send text that is no JSON."""
        await self.ws.send_str('{"event": "med')

    async def send_bytes(self) -> None:
        """Send audio as it is, which the network does not take (error 31950)."""
        await self.ws.send_bytes(bytes(160))

    async def send_unknown(self) -> None:
        """Send an event that does not exist (31951)."""
        await self._tell("pause", {"seconds": 1})

    async def send_to_another(self) -> None:
        """Send audio for a stream that is not this one (31951)."""
        media = {"payload": base64.b64encode(bytes(160)).decode()}
        await self.ws.send_json({"event": "media", "streamSid": "MZ" + "0" * 32, "media": media})


if __name__ == "__main__":
    serve_alone(TwilioBot())
