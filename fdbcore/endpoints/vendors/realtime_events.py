"""The events of OpenAI's Realtime interface, whatever carries them: turns, answers, tools, what is counted, errors."""

import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fdbcore.endpoints.vendors.account_party import AccountParty
from fdbcore.endpoints.vendors.errors import named_error
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.realtime_session import (
    RATE_HZ,
    Form,
    input_rate_hz,
    transcriber_of,
    turn_detection_of,
)
from fdbcore.endpoints.vendors.their_settings import differences
from fdbcore.models.account import Account, Vendor
from fdbcore.models.counts import openai_counts
from fdbcore.runtime.json_values import json_or_text
from fdbcore.types.system_events import SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import ToolCall, ToolResult
from fdbcore.types.usage import Service

_HARMLESS: Final = (
    "response_cancel_not_active",
    "conversation_already_has_active_response",
    "input_audio_buffer_commit_empty",
    "item_retrieve_invalid_item_id",
    "item_create_duplicate_item_id",
    "item_truncate_invalid_item_id",
)
_UNLOGGED: Final = ("response.output_audio.delta", "response.audio.delta", "ping")
_BETA_PARTS: Final = (("response.audio", "response.output_audio"), ("response.text", "response.output_text"))
"""Beginnings of events' names in the beta form, and in the GA form, under which all are known here."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The dialect of a server of this interface.

    key_header, key_form: the header with the key, and how the key stands there. form: of its sessions and events.
    harmless: parts of error texts that mean nothing, for a server whose errors have no codes. webrtc: it takes calls by
    WebRTC too. recites: it has a message for a text that is to be said word for word. truncates: it is told how much of
    an interrupted answer was heard. hears_hz: the rate of what it hears. asked: further settings of each session.
    """

    vendor: Vendor
    key_header: str = "Authorization"
    key_form: str = "Bearer {}"
    form: Form = "ga"
    harmless: tuple[str, ...] = ()
    webrtc: bool = True
    recites: bool = False
    truncates: bool = True
    hears_hz: int = RATE_HZ
    asked: Mapping[str, Any] = field(default_factory=dict)


def output_of(result: ToolResult) -> Json:
    """The item with the output of a call."""
    value = result.value if result.status == "ok" else {"error": result.value}
    return {"type": "function_call_output", "call_id": result.id, "output": json.dumps(value, ensure_ascii=False)}


class RealtimeParty(AccountParty):
    """A party that speaks by these events, which come on the network's thread.

    confirmed: the session as the server confirms it.
    """

    def __init__(self, dialect: Dialect, account: Account, model: str, asked: Json) -> None:
        super().__init__(account, model, asked)
        self.confirmed: Json = {}
        self._dialect = dialect
        self._active: set[str] = set()  # responses that are under way
        self._unanswered: set[str] = set()  # complete calls without a result
        self._owes_response = False  # results were sent that the model has not been asked to go on with
        self._recital: Json | None = None  # an item to be said word for word, once no response is under way

    @abstractmethod
    def interrupt(self) -> None:
        """The server's detector interrupts what the model says."""

    @abstractmethod
    def session_ms(self, party_ms: float) -> float:
        """The time of the session at which the server had heard so much audio."""

    def services(self) -> Sequence[Service]:
        """The service for audio, and the same for the transcription."""
        (own,) = super().services()
        transcriber = transcriber_of(self.asked)
        return [own, own._replace(model=transcriber)] if own.vendor and transcriber else [own]

    def in_ga_form(self, event: Json) -> Json:
        """An event of the server under the name that it has in the GA form."""
        name = str(event.get("type", ""))
        for beta, ga in _BETA_PARTS if self._dialect.form == "beta" else ():
            if name.startswith((f"{beta}.", f"{beta}_")):
                return {**event, "type": ga + name.removeprefix(beta)}
        return event

    def asked_with_tools(self) -> Json:
        """The session to ask for, with tools."""
        declared = [{"type": "function", **tool.to_json()} for tool in self.tools]
        return self.asked | ({"tools": declared} if declared else {})

    async def begin_session(
        self, send: Callable[[Json], Awaitable[None]], receive: Callable[[], Awaitable[Json]]
    ) -> None:
        """Ask for the settings, and wait until the server confirms them. PartyError if it does not.

        send, receive: one message at a time.
        """
        while (await self._next(receive))["type"] not in ("session.created", "conversation.created"):
            pass
        asked = self.asked_with_tools()
        await send({"type": "session.update", "session": asked})
        while (event := await self._next(receive))["type"] != "session.updated":
            pass
        self.confirmed = dict(event.get("session") or {})
        self.differences = differences(asked, self.confirmed)
        rate_hz = input_rate_hz(self.confirmed)
        if rate_hz not in (None, self._dialect.hears_hz):
            raise self.error(f"expected a session that hears {self._dialect.hears_hz} Hz, got one of {rate_hz} Hz")

    async def _next(self, receive: Callable[[], Awaitable[Json]]) -> Json:
        event = await receive()
        if event.get("type") == "error":
            error = event.get("error") or {}
            raise named_error(self.account, error.get("code") or error.get("type"), error.get("message"))
        self.log_event(str(event.setdefault("type", "")), event)
        return event

    def take(self, event: Json) -> None:
        """Handle one event of the server, its audio apart."""
        name = str(event.get("type", ""))
        if name not in _UNLOGGED:
            self.log_event(name, {field: value for field, value in event.items() if field != "type"})
        match name:
            case "input_audio_buffer.speech_started" | "input_audio_buffer.speech_stopped":
                self._turn(name.rpartition(".")[2], event)
            case "response.created":
                self._active.add(str((event.get("response") or {}).get("id")))
                self.log_usage(self.usage({}, due=True))
                self._owes_response &= bool(self._unanswered)
            case "response.output_item.added":
                self._begin_item(event.get("item"))
            case "response.output_item.done":
                self._complete_call(event.get("item"))
            case "response.done":
                self._end_response(event.get("response"), event.get("usage"))
            case "response.output_audio_transcript.done":
                self._transcribed("self", event)
            case "conversation.item.input_audio_transcription.completed":
                self._transcribed("partner", event)
                self._count_transcription(event.get("usage"))
            case "response.audio.delta":
                self.end(
                    "the server speaks the beta form of the interface (response.audio.delta): it is not heard; "
                    "realtime-beta:MODEL?base_url=URL is for such servers"
                )
            case "error":
                self._fail(event.get("error"))

    def result(self, result: ToolResult) -> Sequence[Json]:
        """The output of a call; once all calls of a response are answered, the model is asked to go on."""
        self._unanswered.discard(result.id)
        return [{"type": "conversation.item.create", "item": output_of(result)}, *self._continuation()]

    def request(self, text: str) -> Sequence[Json]:
        """A message that tells the model a text, and the request to go on once no response is under way."""
        self._owes_response = True
        told = {"type": "message", "role": "system", "content": [{"type": "input_text", "text": text}]}
        return [{"type": "conversation.item.create", "item": told}, *self._continuation()]

    def recital(self, text: str) -> Sequence[Json]:
        """A message that is said word for word, once no response is under way."""
        content = [{"type": "output_text", "text": text}]
        self._recital = {"type": "force_message", "role": "assistant", "content": content}
        return self._continuation()

    def cancellation(self) -> Sequence[Json]:
        """The request to end the response that is under way, if there is one; what was to be recited is not."""
        self._recital = None
        return [{"type": "response.cancel"}] if self._active else []

    def _transcribed(self, of: str, event: Json) -> None:
        self.note(TRANSCRIPT, of=of, text=str(event.get("transcript")), item=str(event.get("item_id")))

    def _turn(self, name: str, event: Json) -> None:
        """The server's detector decided on the partner's speech."""
        detection = turn_detection_of(self.confirmed, self._dialect.form) or {}
        claimed_ms = event.get("audio_start_ms" if name == "speech_started" else "audio_end_ms")
        times = {}
        if isinstance(claimed_ms, int | float):
            start, end = detection.get("prefix_padding_ms") or 0, -(detection.get("silence_duration_ms") or 0)
            at_ms = self.session_ms(claimed_ms + (start if name == "speech_started" else end))
            times = {"claimed_ms": claimed_ms, "at_ms": round(at_ms, 1)}
        self.note(SYSTEM_TURN, name=name, item=str(event.get("item_id")), **times)
        if name == "speech_started" and detection.get("interrupt_response") is not False:
            self.interrupt()

    def _begin_item(self, item: object) -> None:
        if isinstance(item, dict) and item.get("type") == "function_call" and item.get("call_id"):
            self.call(ToolCall("begun", str(item["call_id"]), str(item.get("name"))))

    def _complete_call(self, item: object) -> None:
        """Take a call whose arguments are whole. An interrupted response says that they are done too, but not so."""
        if not isinstance(item, dict) or item.get("type") != "function_call" or item.get("status") == "incomplete":
            return
        number, name = str(item.get("call_id")), str(item.get("name"))
        self._unanswered.add(number)
        self._owes_response = True
        self.call(ToolCall("complete", number, name, json_or_text(str(item.get("arguments")))))

    def _end_response(self, response: object, usage_beside: object) -> None:
        """A response is over: completed, or cut short by the server itself."""
        if not isinstance(response, dict):
            return
        self._active.discard(str(response.get("id")))
        status, details = response.get("status"), response.get("status_details") or {}
        if status == "cancelled":
            self._cancel_calls(response.get("output"))
            if details.get("reason") == "turn_detected":
                self.interrupt()
        elif status == "failed":
            self._fail(details.get("error"))
        usage = response.get("usage") or usage_beside
        self.log_usage(self.usage(openai_counts(usage if isinstance(usage, dict) else {})))
        self.send(*self._continuation())

    def _count_transcription(self, usage: object) -> None:
        """Log what the model counted that transcribes what this one hears."""
        if (transcriber := transcriber_of(self.asked)) and isinstance(usage, dict):
            self.log_usage(self.usage(openai_counts(usage), model=transcriber))

    def _cancel_calls(self, items: object) -> None:
        """The calls that the model had not finished are off; it does not wait for their results."""
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and item.get("type") == "function_call" and item.get("status") != "completed":
                number = str(item.get("call_id"))
                self._unanswered.discard(number)
                self.call(ToolCall("cancelled", number, str(item.get("name"))))

    def _continuation(self) -> list[Json]:
        """The messages that recite, or ask to go on if no result is missing, once no response is under way."""
        if self._recital is not None and not self._active:
            item, self._recital, self._owes_response = self._recital, None, False
            return [{"type": "conversation.item.create", "item": item}]
        if not self._owes_response or self._unanswered or self._active:
            return []
        self._owes_response = False
        return [{"type": "response.create"}]

    def _fail(self, error: object) -> None:
        """End the session if the error does."""
        if not isinstance(error, dict):
            return
        code, message = str(error.get("code") or error.get("type") or ""), str(error.get("message") or "")
        if code in _HARMLESS or any(part in message.lower() for part in self._dialect.harmless):
            return
        named = named_error(self.account, code, message)
        if named.cause.ends:
            self.end(str(named), named.transient)
