"""One session of GPT-Live: audio both ways, frame by frame in real time, and whatever else happens meanwhile."""

import asyncio
import base64
import binascii
import copy
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np
import soxr
from fakes.live.backend import Backend
from fakes.live.checks import check_event
from fakes.live.plan import LivePlan, Reason
from fakes.live.voice import Mouth, Writer
from fakes.realtime.checks import Wrong
from fakes.realtime.parts import Logged, Logging, Wire
from fakes.realtime.plan import RATE_HZ, Faults, Reply, Wave
from fakes.realtime.response import GARBAGE
from fakes.realtime.sound import Ear, decoded, rate_of

MODELS = ("gpt-live-1", "gpt-live-1.1")
CAP_S = 7200


class LiveSession(Logging):
    """ended: why, once the session is over. attached: connections that watch it."""

    def __init__(self, wire: Wire, plan: LivePlan, faults: Faults, number: int) -> None:
        super().__init__()
        self.wire, self.plan, self.faults = wire, plan, faults
        self.id = f"live_fake{number:04d}"
        self.settings: dict[str, Any] = {}
        self.attached: list[Wire] = []
        self.ended: Reason | None = None
        self.backend = Backend(self)
        self.now_ms = 0
        self._unheard = np.zeros(0, np.int16)
        self._replies = self._turns = 0
        self._speak_at_ms: int | None = None

    # What goes out.

    async def send(self, kind: str, cause: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """An event, which those that are attached see, too. cause: the event of the client that it answers."""
        event = {"type": kind, "event_id": self.new_id("event"), **fields}
        if cause is not None and "event_id" in cause:
            event["client_event_id"] = cause["event_id"]
        await self._put(event)
        await self._mirror(event)

    async def _put(self, event: dict[str, Any]) -> None:
        self.sent.append(Logged(time.monotonic(), copy.deepcopy(event)))
        await self.wire.send(json.dumps(event))

    async def _mirror(self, event: Mapping[str, Any]) -> None:
        for wire in list(self.attached):
            try:
                await wire.send(json.dumps(event))
            except ConnectionError:
                self.attached.remove(wire)

    async def finish(self, reason: Reason) -> None:
        """Say that it is over and why, with the usage; then close."""
        if self.ended is not None:
            return
        self.ended = reason
        usage = {"seconds": self.now_ms / 1000}
        await self.send("session.closed", reason=reason, usage=usage, session=self._resource())
        for wire in (*self.attached, self.wire):
            await wire.close(1000, "")

    # What comes in.

    async def take(self, text: str | bytes) -> None:
        """An event of the client."""
        event: Any = None
        try:
            try:
                event = json.loads(text)
            except ValueError:
                raise Wrong("invalid_json", "Could not parse the event as JSON.") from None
            self.received.append(Logged(time.monotonic(), event if isinstance(event, dict) else {"type": None}))
            check_event(event)
            if (event["type"] == "session.start") == bool(self.settings):
                told = "The session has already started." if self.settings else "Expected session.start first."
                raise Wrong("session_already_started" if self.settings else "session_not_started", told, "type")
            if event["type"] not in self._obeys:
                raise Wrong("invalid_value", f"This fake does not obey {event['type']}.", "type")
            await self._obeys[event["type"]](self, event)
        except Wrong as wrong:
            await self._refuse(wrong, event if isinstance(event, dict) else {})

    async def _refuse(self, wrong: Wrong, cause: Mapping[str, Any]) -> None:
        error = {"type": wrong.kind, "code": wrong.code, "message": wrong.message}
        error |= {"param": wrong.param} if wrong.param else {}
        error |= {"client_event_id": cause["event_id"]} if cause.get("event_id") else {}
        await self._put({"type": "error", "event_id": self.new_id("event"), "error": error})

    async def _start(self, event: Mapping[str, Any]) -> None:
        given = event["session"]
        if given["model"] not in MODELS:
            told = f"The model `{given['model']}` does not exist or you do not have access to it."
            raise Wrong("model_not_found", told, "session.model")
        if self.faults.at_once is not None:
            await self._refuse(Wrong(self.faults.at_once, "It was planned to fail."), event)
            return await self.wire.close(1008, self.faults.at_once)
        audio = {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "output": {"voice": "marin"}}
        delegation = given.get("delegation") or {"type": "client", "acknowledgement_delay_ms": 0}
        self.settings = {**given, "audio": audio | given.get("audio", {}), "delegation": delegation}
        self._expires_at = int(time.time() + (CAP_S if self.faults.cap_s is None else self.faults.cap_s))
        self.mouth = Mouth(self.settings["audio"]["format"], self.plan.frame_ms)
        if "greeting" in self.faults.mute:
            return
        await self.send("session.started", event, session=self._resource())
        self._speak_at_ms = self.plan.reply_ms if self.plan.greets else None
        self.start(self._live())

    def _resource(self) -> dict[str, Any]:
        named = {"id": self.id, "status": "active", "expires_at": self._expires_at}
        return named | {key: value for key, value in self.settings.items() if value is not None}

    async def _append(self, event: Mapping[str, Any]) -> None:
        sound = self.settings["audio"]["format"]
        try:
            wave = decoded(base64.b64decode(event["audio"], validate=True), sound)
        except binascii.Error:
            raise Wrong("invalid_value", "Invalid 'audio': expected base64.", "audio") from None
        self._heard.append(wave)
        self._unheard = np.concatenate([self._unheard, wave])

    async def _close(self, event: Mapping[str, Any]) -> None:
        self.start(self._drain())

    async def _drain(self) -> None:
        """What it is saying is said to its end, as far as there is time for that."""
        await asyncio.sleep(min(self.plan.drain_s, self.mouth.left_ms / 1000))
        await self.finish("close_requested")

    # The conversation.

    def next_reply(self) -> Reply:
        return self.plan.reply(self._replies)

    def speak_next(self) -> None:
        """Say the next reply as soon as it can."""
        self._speak_at_ms = self.now_ms

    def _begin_to_speak(self) -> None:
        said = self.next_reply()
        self._speak_at_ms, self._replies = None, self._replies + 1
        self.mouth.say(self.now_ms, said, said.speech(len(self.mouth.said)))

    async def _live(self) -> None:
        """Frame by frame, each once its time is over."""
        sound, frame_ms = self.settings["audio"]["format"], self.plan.frame_ms
        rate_hz, ear, writer = rate_of(sound), Ear(), Writer()
        up = soxr.ResampleStream(rate_hz, RATE_HZ, 1, dtype="int16") if rate_hz != RATE_HZ else None
        loop = asyncio.get_running_loop()
        start_s, next_usage_s, number = loop.time(), self.plan.usage_s, 0
        while self.ended is None:
            await asyncio.sleep(start_s + (number + 1) * frame_ms / 1000 - loop.time())
            heard = self._next_heard(rate_hz * frame_ms // 1000)
            reflected = heard if up is None else up.resample_chunk(heard)
            await self._mirror({"type": "session.input_audio.append", "audio": _base64(reflected)})
            await self._listen(ear, writer, heard, rate_hz)
            if self._speak_at_ms is not None and self.now_ms >= self._speak_at_ms:
                self._begin_to_speak()
            await self._speak(number)
            self.now_ms += frame_ms
            await self._tell_words(ear, writer)
            if self.now_ms / 1000 >= next_usage_s:
                next_usage_s += self.plan.usage_s
                ratio = {"usage_ratio": round(self.now_ms / 1e7, 6)}
                await self.send("session.usage.updated", usage={"seconds": self.now_ms / 1000}, context_window=ratio)
            await self._end_as_planned()
            number += 1

    def _next_heard(self, count: int) -> Wave:
        wave, self._unheard = self._unheard[:count], self._unheard[count:]
        return np.pad(wave, (0, count - len(wave)))

    async def _listen(self, ear: Ear, writer: Writer, heard: Wave, rate_hz: int) -> None:
        for turn in ear.hear(heard, rate_hz, self.plan.reply_ms):
            if turn.kind == "started":
                writer.begin(self.plan.transcript(self._turns), turn.at_ms)
                self._turns += 1
                if self.mouth.speaks and self.plan.yield_ms is not None:
                    self._yield_at_ms = turn.at_ms + self.plan.yield_ms
                self._speak_at_ms = None
            elif "replies" not in self.faults.mute and not (self.backend.open or self.mouth.speaks):
                self._speak_at_ms = self.now_ms
        if self._yield_at_ms is not None and self.now_ms >= self._yield_at_ms:
            self._yield_at_ms = None
            self.mouth.fall_silent()

    _yield_at_ms: int | None = None

    async def _speak(self, number: int) -> None:
        speaking = self.mouth.speaks
        wave, data = self.mouth.next_frame()
        if number not in self.plan.dropped:
            if self.faults.garbage and number == 3:
                for text in GARBAGE:
                    await self.wire.send(text)
            await self._put({"type": "session.output_audio.delta", "delta": base64.b64encode(data).decode()})
            lies = {"start_ms": self.now_ms, "end_ms": self.now_ms + self.plan.frame_ms}
            await self._mirror({"type": "session.output_audio.delta", "delta": _base64(wave), **lies})
        if speaking and not self.mouth.speaks and (calls := tuple(self.mouth.said[-1].reply.calls)):
            self.start(self.backend.hand_over(calls))

    async def _tell_words(self, ear: Ear, writer: Writer) -> None:
        for who, told in (
            ("input", writer.told(self.now_ms, not ear.speaking)),
            ("output", self.mouth.told(self.now_ms)),
        ):
            for text, start_ms, end_ms in told:
                await self.send(f"session.{who}_transcript.delta", delta=text, start_ms=start_ms, end_ms=end_ms)

    async def _end_as_planned(self) -> None:
        said = self.mouth.said[-1] if self.mouth.said else None
        if said and said.reply.cut_at_ms is not None and self.now_ms - said.start_ms >= said.reply.cut_at_ms:
            if said.reply.cut_by == 1006:
                self.wire.abort()
            else:
                await self.wire.close(said.reply.cut_by, "")
            raise ConnectionResetError
        if self.plan.ends_ms is not None and self.now_ms >= self.plan.ends_ms:
            await self.finish(self.plan.ends)
        if self.faults.cap_s is not None and self.now_ms >= 1000 * self.faults.cap_s:
            await self.finish("expired")

    _obeys: Mapping[str, "Callable[[LiveSession, Mapping[str, Any]], Awaitable[None]]"] = {
        "session.start": _start,
        "session.input_audio.append": _append,
        "session.close": _close,
        "response.item.create": lambda self, event: self.backend.take_item(event),
        "response.create": lambda self, event: self.backend.go_on(event),
    }


def _base64(wave: Wave) -> str:
    return base64.b64encode(wave.astype("<i2").tobytes()).decode()
