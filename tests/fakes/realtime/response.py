"""One response of the fake model: its events in their order, in bursts, to its end or until it is cancelled."""

import asyncio
import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from fakes.realtime.parts import Item
from fakes.realtime.plan import RATE_HZ, Call, Reply, Wave
from fakes.realtime.sound import encoded, rate_of

if TYPE_CHECKING:
    from fakes.realtime.session import Session

Chunk: TypeAlias = tuple[Wave, bytes]
Status: TypeAlias = Literal["in_progress", "completed", "cancelled", "failed"]

QUOTA = "You exceeded your current quota, please check your plan and billing details."
GARBAGE = (
    '{"type":"response.output_audio.delta","delta":"AAA',
    "[]",
    "null",
    "17",
    '{"no":"type"}',
    '{"type":"response.surprise.delta","event_id":"event_x","delta":"?"}',
    '{"type":"response.output_audio.delta","event_id":"event_y","response_id":"resp_x","item_id":"item_x",'
    '"output_index":0,"content_index":0,"delta":"!!!"}',
    '{"type":"conversation.item.truncated","event_id":"event_z"}',
    b"\x00\xff\xfe",
)
"""What nobody can read: broken JSON, other JSON than an object, unknown events, base64 that is none, bytes."""


class _Cancelled(Exception):
    pass


class Response:
    """status: of the whole. spoken: the item that it says, once it has begun. playing: whether it sounds (WebRTC)."""

    def __init__(self, session: "Session", number: int, reply: Reply, given: Mapping[str, Any]) -> None:
        self.id = session.new_id("resp")
        self.status: Status = "in_progress"
        self.spoken: Item | None = None
        self.playing = False
        self._session, self._number, self._reply, self._given = session, number, reply, given
        self._details: dict[str, Any] | None = None
        self._output: list[Item] = []
        self._why_cancelled = ""
        self._cancelled = asyncio.Event()
        self._words = 0

    def cancel(self, reason: Literal["turn_detected", "client_cancelled"]) -> None:
        """End it as soon as its task runs; what has begun is closed, as if it had been whole."""
        self._why_cancelled = reason
        self._cancelled.set()

    async def run(self) -> None:
        session = self._session
        if session.faults.garbage:
            for text in GARBAGE:
                await session.wire.send(text)
        await session.send("response.created", response=self._to_json(None))
        if session.dialect.limits:
            left = {"name": "tokens", "limit": 40_000, "remaining": 39_000 - self._number, "reset_seconds": 1.5}
            await session.send("rate_limits.updated", rate_limits=[left])
        ends = self._reply.ends
        said: Iterator[Chunk] = iter(())
        try:
            await self._wait(session.plan.pace.first_s)
            if ends == "insufficient_quota":
                error = {"type": "invalid_request_error", "code": ends, "message": QUOTA}
                self._end("failed", {"error": error})
            else:
                said = self._chunks()
                if self._reply.words:
                    await self._say(said)
                for call in self._reply.calls:
                    await self._call(call)
                self._end("completed")
        except _Cancelled:
            self._end("cancelled", {"reason": self._why_cancelled})
        await self._finish(said)

    def _end(self, status: Status, details: Mapping[str, Any] | None = None) -> None:
        self.status = status
        self._details = {"type": status, **details} if details else None

    async def _wait(self, seconds: float) -> None:
        if self._cancelled.is_set():
            raise _Cancelled
        try:
            await asyncio.wait_for(self._cancelled.wait(), seconds)
        except TimeoutError:
            return
        raise _Cancelled

    # What it says.

    def _chunks(self) -> Iterator[Chunk]:
        """The speech, cut, and the same as it goes out."""
        speech, sound = self._reply.speech(self._number), self._session.settings["audio"]["output"]["format"]
        data = encoded(speech, sound)
        size = RATE_HZ * self._session.plan.pace.delta_ms // 1000
        width = 2 if sound["type"] == "audio/pcm" else 1
        cuts = [*range(0, len(speech), size), len(speech)]
        bytes_at = [width * (at * rate_of(sound) // RATE_HZ) for at in cuts[:-1]] + [len(data)]
        pieces = zip(pairwise(cuts), pairwise(bytes_at), strict=True)
        return iter([(speech[start:end], data[first:last]) for (start, end), (first, last) in pieces])

    async def _say(self, chunks: Iterator[Chunk]) -> None:
        """A message: words and sound."""
        session = self._session
        shown = {"id": session.new_id("item"), "object": "realtime.item", "type": "message", "role": "assistant"}
        item = Item({**shown, "status": "in_progress", "content": []})
        at = {"response_id": self.id, "item_id": item.json["id"], "output_index": len(self._output), "content_index": 0}
        previous = await self._begin(item)
        self.spoken = item
        await session.send("response.content_part.added", **at, part={"type": "audio", "transcript": ""})
        told: list[str] = []
        try:
            await self._speak(item, at, told, chunks)
        finally:
            await self._close_message(item, at, "".join(told), previous)

    async def _speak(self, item: Item, at: dict[str, Any], told: list[str], chunks: Iterator[Chunk]) -> None:
        session, pace, total = self._session, self._session.plan.pace, len(self._reply.speech(self._number))
        words = re.findall(r"\S+\s*", self._reply.words)
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        for number, (chunk, data) in enumerate(chunks):
            await self._wait(begun_s + number * pace.delta_ms / 1000 / pace.speed - loop.time())
            end = len(item.said) + len(chunk)
            while len(told) < len(words) and len(told) * total < end * len(words):  # the words that begin in it
                word = words[len(told)]
                told.append(word)
                await session.send("response.output_audio_transcript.delta", **at, delta=word)
            await self._sound(item, at, chunk, data)
            if self._reply.cut_at_ms is not None and item.audio_ms >= self._reply.cut_at_ms:
                await self._break_off()

    async def _sound(self, item: Item, at: dict[str, Any], chunk: Wave, data: bytes) -> None:
        session = self._session
        item.said, session.has_spoken = np.concatenate([item.said, chunk]), True
        if session.wire.speaker is None:
            await session.send("response.output_audio.delta", **at, delta=base64.b64encode(data).decode())
            return
        session.wire.speaker.feed(chunk)
        if not self.playing:
            self.playing = True
            await session.send("output_audio_buffer.started", response_id=self.id)

    async def _break_off(self) -> None:
        if self._reply.cut_by == 1006:
            self._session.wire.abort()
        else:
            await self._session.wire.close(self._reply.cut_by, "")
        raise ConnectionResetError

    async def _close_message(self, item: Item, at: dict[str, Any], text: str, previous: str | None) -> None:
        """What also comes when it was interrupted: only the statuses tell."""
        session = self._session
        await session.send("response.output_audio.done", **at)
        await session.send("response.output_audio_transcript.done", **at, transcript=text)
        part = {"type": "audio", "transcript": text}
        await session.send("response.content_part.done", **at, part=part)
        item.json["content"] = [{**part, "type": "output_audio"}]
        self._words += len(text.split())
        await self._close_item(item, previous)

    # What it calls.

    async def _call(self, call: Call) -> None:
        session = self._session
        call_id = call.call_id or session.new_id("call")
        item_id, index = session.new_id("item"), len(self._output)
        shown = {"id": item_id, "object": "realtime.item", "type": "function_call", "status": "in_progress"}
        item = Item({**shown, "name": call.name, "call_id": call_id, "arguments": ""})
        at = {"response_id": self.id, "item_id": item_id, "output_index": index, "call_id": call_id}
        previous = await self._begin(item)
        arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        named = "response.function_call_arguments"
        try:
            for start in range(0, len(arguments), 5):
                await self._wait(session.plan.pace.arguments_s * 5 / len(arguments))
                item.json["arguments"] += arguments[start : start + 5]
                await session.send(f"{named}.delta", **at, delta=arguments[start : start + 5])
        finally:
            await session.send(f"{named}.done", **at, name=call.name, arguments=item.json["arguments"])
            await self._close_item(item, previous)

    # Items, and the end.

    async def _begin(self, item: Item) -> str | None:
        """Announce an item; gives what stands before it."""
        session, index = self._session, len(self._output)
        previous = next(reversed(session.items), None)
        self._output.append(item)
        await session.send("response.output_item.added", response_id=self.id, output_index=index, item=dict(item.json))
        await session.add(item, done=False)
        return previous

    async def _close_item(self, item: Item, previous: str | None) -> None:
        session, index = self._session, self._output.index(item)
        item.json["status"] = "incomplete" if self._cancelled.is_set() else "completed"
        await session.send_item_done(item, previous)
        await session.send("response.output_item.done", response_id=self.id, output_index=index, item=dict(item.json))

    async def _finish(self, rest: Iterator[Chunk]) -> None:
        session = self._session
        usage = self._usage()
        if session.dialect.usage_at_top:
            await session.send("response.done", response=self._to_json(None), usage=usage)
        else:
            await session.send("response.done", response=self._to_json(usage))
        if self.status == "cancelled" and self.spoken is not None and session.wire.speaker is None:
            at = {"response_id": self.id, "item_id": self.spoken.json["id"], "output_index": 0, "content_index": 0}
            for chunk, data in islice(rest, session.faults.late_deltas):
                await self._sound(self.spoken, at, chunk, data)
        if self.playing and session.wire.speaker is not None:
            await session.wire.speaker.drained()
            if self.playing:  # and was not cleared meanwhile
                self.playing = False
                await session.send("output_audio_buffer.stopped", response_id=self.id)

    def _usage(self) -> dict[str, Any]:
        """Tokens as the vendor counts them: 10 for a second that it heard, 20 for one that it says, one a word."""
        said = self.spoken.audio_ms // 50 if self.spoken else 0
        calls = sum(len(item.json.get("arguments", "")) // 4 for item in self._output)
        heard, instructions = int(self._session.appended_ms / 100), len(self._session.settings["instructions"].split())
        cached = heard // 2 if self._number else 0
        return {
            "total_tokens": heard + instructions + said + self._words + calls,
            "input_tokens": heard + instructions,
            "output_tokens": said + self._words + calls,
            "input_token_details": {
                "text_tokens": instructions,
                "audio_tokens": heard,
                "image_tokens": 0,
                "cached_tokens": cached,
                "cached_tokens_details": {"text_tokens": 0, "audio_tokens": cached, "image_tokens": 0},
            },
            "output_token_details": {"text_tokens": self._words + calls, "audio_tokens": said},
        }

    def _to_json(self, usage: Mapping[str, Any] | None) -> dict[str, Any]:
        session = self._session
        output = {
            "format": session.settings["audio"]["output"]["format"],
            "voice": session.dialect.voice_of(session.settings),
        }
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": self.status,
            "status_details": self._details,
            "output": [dict(item.json) for item in self._output],
            "conversation_id": "conv_fake",
            "output_modalities": ["audio"],
            "max_output_tokens": self._given.get("max_output_tokens", "inf"),
            "audio": {"output": output},
            "usage": usage,
            "metadata": self._given.get("metadata"),
        }
