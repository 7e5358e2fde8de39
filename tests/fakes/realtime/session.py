"""One session of the realtime interface: hears, finds turns, keeps the conversation, and answers the client."""

import asyncio
import base64
import binascii
import copy
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fakes.realtime.beta import beta_fields, beta_name, ga_session
from fakes.realtime.checks import Wrong, check_event
from fakes.realtime.dialects import Dialect
from fakes.realtime.parts import Item, Logged, Logging, Wire
from fakes.realtime.plan import Faults, Plan, Reply, Wave
from fakes.realtime.response import Response
from fakes.realtime.sound import Ear, decoded, rate_of

EVENT_BYTES = 15 * 2**20
PREFIX_MS = 300
FINISHED_MS = 400
"""What a semantic detector waits after a turn, all of which it takes for finished."""


class Session(Logging):
    """settings: as the client was last told. items: by their ids, in their order. truncated: the events that were
    obeyed.
    """

    def __init__(self, wire: Wire, dialect: Dialect, plan: Plan, faults: Faults, model: str, number: int) -> None:
        super().__init__()
        self.wire, self.dialect, self.plan, self.faults = wire, dialect, plan, faults
        self.settings = dialect.session(model, number)
        self.items: dict[str, Item] = {}
        self.responses: list[Response] = []
        self.truncated: list[dict[str, Any]] = []
        self.has_spoken = False
        self._ear = Ear()
        self._buffer_ms = 0.0
        self._turns = 0
        self._turn_item, self._turn_start_ms = "", 0

    @property
    def appended_ms(self) -> float:
        """Of audio in this session."""
        return sum(map(len, self._heard)) * 1000 / rate_of(self._input["format"])

    @property
    def _input(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.settings["audio"]["input"]
        return found

    @property
    def _detection(self) -> Mapping[str, Any] | None:
        return self.dialect.turn_detection(self.settings)

    @property
    def active(self) -> Response | None:
        """The response that is being made."""
        return next((each for each in reversed(self.responses) if each.status == "in_progress"), None)

    # What goes out.

    async def send(self, kind: str, **fields: Any) -> None:
        if self.dialect.is_beta:
            kind, fields = beta_name(kind), beta_fields(fields)
        event = {"type": kind, "event_id": self.new_id("event"), **fields}
        logged = Logged(time.monotonic(), copy.deepcopy(event))
        self.sent.append(logged)
        try:
            await self.wire.send(json.dumps(event))
        except ConnectionError:
            self.sent.remove(logged)  # nobody was there to get it
            raise

    async def send_error(self, wrong: Wrong, event_id: str | None = None) -> None:
        await self.send("error", error=wrong.to_json(event_id) | ({} if self.dialect.error_codes else {"code": None}))

    async def add(self, item: Item, done: bool = True, after: str | None = None) -> None:
        """Put an item behind another one, or the last one, and tell so."""
        previous = after if after is not None else next(reversed(self.items), None)
        self.items[item.json["id"]] = item
        kind = "created" if self.dialect.item_created else "added"
        await self.send(f"conversation.item.{kind}", previous_item_id=previous, item=dict(item.json))
        if done:
            await self.send_item_done(item, previous)

    async def send_item_done(self, item: Item, previous: str | None) -> None:
        if not self.dialect.item_created:
            await self.send("conversation.item.done", previous_item_id=previous, item=dict(item.json))

    # Its life.

    async def greet(self) -> None:
        if self.faults.cap_s is not None:
            self.start(self._end_at_cap(self.faults.cap_s))
        if "greeting" in self.faults.mute:
            return
        await self.send("session.created", session=self.settings)
        if self.dialect.greets_twice:
            named = {"id": self.new_id("conv"), "object": "realtime.conversation"}
            await self.send("conversation.created", conversation=named)
        if self.dialect.pings:
            await self.send("ping", timestamp=int(time.time() * 1000))

    async def _end_at_cap(self, cap_s: float) -> None:
        await asyncio.sleep(cap_s)
        told = f"Your session hit the maximum duration of {self.dialect.cap_min} minutes."
        await self.send_error(Wrong("session_expired", told))
        await self.wire.close(1001, told)

    async def take(self, text: str | bytes) -> None:
        """An event of the client."""
        event_id = None
        try:
            try:
                event = json.loads(text)
            except ValueError:
                raise Wrong("invalid_json", "We could not parse the JSON body of your event.") from None
            self.received.append(Logged(time.monotonic(), event if isinstance(event, dict) else {"type": None}))
            event_id = event.get("event_id") if isinstance(event, dict) else None
            check_event(event, self.dialect.settings, foreign_items=self.dialect.name == "grok")
            if event["type"] not in self._obeys:
                raise Wrong("invalid_value", f"This fake does not obey {event['type']}.", "type")
            await self._obeys[event["type"]](self, event)
        except Wrong as wrong:
            await self.send_error(wrong, event_id)

    # Its settings.

    async def _update(self, event: Mapping[str, Any]) -> None:
        change = ga_session(event["session"]) if self.dialect.is_beta else event["session"]
        if change.get("type", "realtime") != "realtime":
            told = "Passing a transcription session update event to a realtime session is not allowed."
            raise Wrong("invalid_parameter", told, "session.type")
        if change.get("model", self.settings["model"]) != self.settings["model"]:
            raise Wrong("cannot_update_model", "Cannot update a session's model.", "session.model")
        after = self.dialect.updated(self.settings, change)
        if self.has_spoken and self.dialect.voice_of(after) != self.dialect.voice_of(self.settings):
            raise Wrong("cannot_update_voice", "Cannot update a conversation's voice if assistant audio is present.")
        self.settings = after
        if "updates" not in self.faults.mute:
            await self.send("session.updated", session=after)
        if self.faults.speaks_first and not self.responses:
            await self._respond({})

    # What it hears.

    async def _append(self, event: Mapping[str, Any]) -> None:
        if len(event["audio"]) > EVENT_BYTES:
            raise Wrong("string_above_max_length", "Invalid 'audio': string too long.", "audio")
        try:
            data = base64.b64decode(event["audio"], validate=True)
        except binascii.Error:
            told = (
                "Invalid 'audio'. Expected base64-encoded audio bytes (mono PCM16 at 24kHz) but got an invalid value."
            )
            raise Wrong("invalid_value", told, "audio") from None
        await self.hear(decoded(data, self._input["format"]))

    async def hear(self, wave: Wave) -> None:
        """Audio of the user, at the rate of the input."""
        rate_hz = rate_of(self._input["format"])
        self._heard.append(wave)
        self._buffer_ms += len(wave) * 1000 / rate_hz
        for turn in self._ear.hear(wave, rate_hz, self._silence_ms):
            if self._detection is not None:
                await (self._started(turn.at_ms) if turn.kind == "started" else self._stopped(turn.at_ms))

    @property
    def _silence_ms(self) -> int:
        detection = self._detection
        return int(detection["silence_duration_ms"]) if detection and detection["type"] == "server_vad" else FINISHED_MS

    async def _started(self, at_ms: int) -> None:
        assert self._detection is not None
        self._turn_item = self.new_id("item")
        self._turn_start_ms = max(0, at_ms - int(self._detection.get("prefix_padding_ms", PREFIX_MS)))
        lies = {"audio_start_ms": self._turn_start_ms} if self.dialect.speech_ms else {}
        await self.send("input_audio_buffer.speech_started", item_id=self._turn_item, **lies)
        if self._detection.get("interrupt_response", True):
            if self.active is not None:
                self.active.cancel("turn_detected")
            await self.fall_silent()

    async def _stopped(self, at_ms: int) -> None:
        end_ms, item_id = at_ms + self._silence_ms, self._turn_item
        if self.dialect.waits_for_words:
            self.start(self._finish_turn(end_ms, item_id, self.plan.pace.transcription_s))
        else:
            await self._finish_turn(end_ms, item_id, 0.0)

    async def _finish_turn(self, end_ms: int, item_id: str, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        lies = {"audio_end_ms": end_ms} if self.dialect.speech_ms else {}
        await self.send("input_audio_buffer.speech_stopped", item_id=item_id, **lies)
        await self._commit_as(item_id, end_ms - self._turn_start_ms)
        if self._detection and self._detection.get("create_response", True):
            try:
                await self._respond({})
            except Wrong as wrong:
                await self.send_error(wrong)

    async def _commit_as(self, item_id: str, length_ms: float) -> None:
        self._buffer_ms = 0.0
        previous = next(reversed(self.items), None)
        await self.send("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)
        content = [{"type": "input_audio", "transcript": None}]
        await self.add(Item(_message(item_id, "user", content)))
        turn, self._turns = self._turns, self._turns + 1
        if self._input.get("transcription"):
            self.start(self._transcribe(item_id, turn, length_ms / 1000))

    async def _transcribe(self, item_id: str, turn: int, seconds: float) -> None:
        await asyncio.sleep(0 if self.dialect.waits_for_words else self.plan.pace.transcription_s)
        named, text = "conversation.item.input_audio_transcription", self.plan.transcript(turn)
        at: dict[str, Any] = {"item_id": item_id, "content_index": 0}
        model = self._input["transcription"].get("model") or ""
        words = re.findall(r"\S+\s*", text)
        if self.dialect.updates:
            for number in range(1, len(words) + 1):
                await self.send(f"{named}.updated", **at, transcript="".join(words[:number]).rstrip())
            if len(words) > 1:  # an end that a later one takes back
                await self.send(f"{named}.completed", **at, transcript=words[0].rstrip(), usage=_by_time(seconds))
        else:
            for word in [text] if model == "whisper-1" else words:
                await self.send(f"{named}.delta", **at, delta=word)
        by_time = self.dialect.updates or model in ("whisper-1", "gpt-transcribe", "gpt-live-transcribe")
        usage = _by_time(seconds) if by_time else _by_tokens(seconds, len(words))
        self.items[item_id].json["content"][0]["transcript"] = text
        await self.send(f"{named}.completed", **at, transcript=text, usage=usage)

    # The conversation.

    def _known(self, item_id: str, verb: str) -> Item:
        if item_id not in self.items:
            told = f"Error: to {verb} it, the item with id '{item_id}' must exist."
            raise Wrong(f"item_{verb}_invalid_item_id", told, "item_id")
        return self.items[item_id]

    async def _create_item(self, event: Mapping[str, Any]) -> None:
        item = {**event["item"], "object": "realtime.item"}
        if item["type"] == "force_message":
            return await self._respond({}, Reply(item["content"][0]["text"]))
        item.setdefault("id", self.new_id("item"))
        if item["id"] in self.items:
            told = f"Error adding item: the item with id '{item['id']}' already exists in the conversation."
            raise Wrong("item_create_duplicate_item_id", told, "item.id")
        if item["type"] == "function_call_output":
            calls = {each.json.get("call_id") for each in self.items.values() if each.json["type"] == "function_call"}
            if item["call_id"] not in calls:
                raise Wrong("invalid_tool_call_id", f"Tool call ID '{item['call_id']}' not found in conversation.")
        item["status"] = "completed"
        await self.add(Item(item), after=event.get("previous_item_id"))

    async def _truncate(self, event: Mapping[str, Any]) -> None:
        if not self.dialect.obeys_truncation:
            raise Wrong("invalid_value", f"Unknown event type: {event['type']}")
        item = self._known(event["item_id"], "truncate")
        if item.json.get("role") != "assistant":
            raise Wrong("invalid_value", "Only model output audio messages can be truncated.", "item_id")
        if event["audio_end_ms"] > item.audio_ms:
            told = f"Audio content of {item.audio_ms}ms is already shorter than {event['audio_end_ms']}ms"
            raise Wrong(
                "invalid_value", told if self.dialect.error_codes else f"Failed to truncate: {told}", "audio_end_ms"
            )
        await self.truncate(item, event["content_index"], event["audio_end_ms"])

    async def truncate(self, item: Item, content_index: int, audio_end_ms: int) -> None:
        """Forget what was not heard, and its words with it."""
        for part in item.json["content"]:
            part.pop("transcript", None)
        lies = {"item_id": item.json["id"], "content_index": content_index, "audio_end_ms": audio_end_ms}
        self.truncated.append(lies)
        await self.send("conversation.item.truncated", **lies)

    # The model's part.

    async def _create_response(self, event: Mapping[str, Any]) -> None:
        await self._respond(event.get("response") or {})

    async def _respond(self, given: Mapping[str, Any], reply: Reply | None = None) -> None:
        if self.active is not None:
            told = f"Conversation already has an active response in progress: {self.active.id}."
            why = f"{told} Wait until the response is finished before creating a new one."
            raise Wrong("conversation_already_has_active_response", why)
        if "replies" in self.faults.mute:
            return
        number = len(self.responses)
        response = Response(self, number, reply or self.plan.reply(number), given)
        self.responses.append(response)
        self.start(response.run())

    async def _cancel(self, event: Mapping[str, Any]) -> None:
        active = self.active
        if active is None or event.get("response_id", active.id) != active.id:
            raise Wrong("response_cancel_not_active", "Cancellation failed: no active response found")
        active.cancel("client_cancelled")

    async def fall_silent(self) -> None:
        """Play nothing more of what waits to be played; where the server plays, it knows itself what was heard."""
        if self.wire.speaker is None or not (playing := [each for each in self.responses if each.playing]):
            return
        response, played_ms = playing[-1], int(self.wire.speaker.clear())
        response.playing = False
        await self.send("output_audio_buffer.cleared", response_id=response.id)
        if response.spoken is not None:
            await self.truncate(response.spoken, 0, min(played_ms, response.spoken.audio_ms))

    _obeys: Mapping[str, "Callable[[Session, Mapping[str, Any]], Awaitable[None]]"] = {
        "session.update": _update,
        "input_audio_buffer.append": _append,
        "conversation.item.create": _create_item,
        "conversation.item.truncate": _truncate,
        "response.create": _create_response,
        "response.cancel": _cancel,
    }


def _message(item_id: str, role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    named = {"id": item_id, "object": "realtime.item", "type": "message", "status": "completed"}
    return named | {"role": role, "content": content}


def _by_time(seconds: float) -> dict[str, Any]:
    return {"type": "duration", "seconds": round(seconds, 3)}


def _by_tokens(seconds: float, words: int) -> dict[str, Any]:
    heard = int(seconds * 10)
    usage = {"type": "tokens", "total_tokens": heard + words, "input_tokens": heard, "output_tokens": words}
    return usage | {"input_token_details": {"text_tokens": 0, "audio_tokens": heard}}
