"""Conversations with a fake of OpenAI's realtime interface, by the vendor's own client, held against its types."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import numpy as np
from fakes.realtime.checks import check, client_events
from fakes.realtime_server import RATE_HZ, Pace, RealtimeServer, Wave, tones
from helpers.patience import PATIENCE_S
from openai import AsyncOpenAI
from openai.types.realtime import RealtimeServerEvent, RealtimeSessionCreateResponse
from pydantic import BaseModel, create_model
from websockets.exceptions import ConnectionClosed

TYPES: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(RealtimeServerEvent)[0])
}
# The client's own type of a session's first event is that of a request; the full one is that of the answer over HTTP.
for name in ("session.created", "session.updated"):
    fields: dict[str, Any] = {"session": (RealtimeSessionCreateResponse, ...)}
    TYPES[name] = create_model(name, __base__=TYPES[name], **fields)

SOUND = "response.output_audio.delta"


class Connection:
    """A connection of the vendor's client. events: what came."""

    def __init__(self, connection: Any) -> None:
        self.client = connection
        self.events: list[dict[str, Any]] = []
        self.end: ConnectionClosed | None = None
        self._read = 0
        self._news = asyncio.Event()

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    async def listen(self) -> None:
        while True:
            try:
                data = await self.client.recv_bytes()
            except ConnectionClosed as end:
                self.end = end
                self._news.set()
                return
            self.client.parse_event(data)
            self.events.append(self.checked(json.loads(data)))
            self._news.set()

    def checked(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event as it came, held against more than the client's parser."""
        return event

    async def until(self, *kinds: str) -> dict[str, Any]:
        """The next event of one of these kinds that was not asked for yet."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                while self._read < len(self.events):
                    event = self.events[self._read]
                    self._read += 1
                    if event["type"] in kinds:
                        return event
                assert self.end is None, self.end
                self._news.clear()
                await self._news.wait()

    async def ended(self) -> ConnectionClosed:
        async with asyncio.timeout(PATIENCE_S):
            while self.end is None:
                self._news.clear()
                await self._news.wait()
        return self.end


class Talk(Connection):
    """A conversation."""

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    async def set(self, **session: Any) -> dict[str, Any]:
        await self.client.session.update(session={"type": "realtime", **session})
        return await self.until("session.updated", "error")

    async def say(self, *pieces: Wave, ms: int = 100) -> None:
        """Append audio, in pieces of so many ms, as fast as it goes."""
        wave = np.concatenate(pieces).astype("<i2")
        for at in range(0, len(wave), ms * RATE_HZ // 1000):
            data = wave[at : at + ms * RATE_HZ // 1000].tobytes()
            await self.client.input_audio_buffer.append(audio=base64.b64encode(data).decode())

    async def turn(self) -> None:
        """A turn of the user of 0.4 s, and as much silence as ends it."""
        await self.say(tones(0.4, 77), silence(0.6))

    def heard(self, item_id: str) -> Wave:
        data = [base64.b64decode(event["delta"]) for event in self.all(SOUND) if event["item_id"] == item_id]
        return np.frombuffer(b"".join(data), "<i2").astype(np.int16)


def silence(seconds: float) -> Wave:
    return np.zeros(int(seconds * RATE_HZ), np.int16)


@asynccontextmanager
async def talking(server: RealtimeServer, **options: Any) -> AsyncIterator[Talk]:
    headers = options.pop("headers", {"api-key": server.key} if server.dialect.name == "azure" else {})
    key = options.pop("key", server.key or "none")
    async with AsyncOpenAI(api_key=key, base_url=server.base_url) as client:
        opened = client.realtime.connect(model=options.pop("model", server.model), extra_headers=headers)
        async with opened as connection:
            talk = Talk(connection)
            task = asyncio.create_task(talk.listen())
            try:
                yield talk
            finally:
                task.cancel()


@asynccontextmanager
async def conversing(server: RealtimeServer, **options: Any) -> AsyncIterator[Talk]:
    """A conversation; all that the fake sent in it, and all that it obeyed, is of the vendor's types."""
    with server:
        async with talking(server, **options) as talk:
            yield talk
    for session in server.sessions:
        blamed = [event["error"]["event_id"] for event in session.told("error")]
        for event in session.told():
            check(event, TYPES[event["type"]])
        for event in session.events():
            if event.get("event_id") not in [*blamed, None] or not blamed:
                check(event, client_events()[event["type"]])


QUICK = Pace(first_s=0.0, speed=50.0, transcription_s=0.0, arguments_s=0.0)
SLOW = Pace(first_s=0.0, speed=2.0, delta_ms=50, transcription_s=0.0)
