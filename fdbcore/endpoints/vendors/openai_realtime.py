"""Speech models behind OpenAI's Realtime interface (GA), over a WebSocket.

    openai-realtime:gpt-realtime-2.1?voice=marin&turn_detection=semantic_vad&eagerness=low&instructions=@FILE
    openai-realtime:MODEL?base_url=http://localhost:8000/v1       any server of that interface
    azure-realtime:DEPLOYMENT?base_url=https://RESOURCE.openai.azure.com/openai/v1
    grok:grok-voice-latest

The server's own voice activity detector begins and ends the partner's turns. Over a WebSocket, an interruption is the
client's task: when speech begins and the session interrupts responses, what was not yet heard is dropped, and the
server is told how much of the item was heard (`conversation.item.truncate`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from fdbcore.endpoints.vendors.errors import SETTING, named_error
from fdbcore.endpoints.vendors.items import from_pcm16
from fdbcore.endpoints.vendors.party import Json, Session, VendorParty
from fdbcore.endpoints.vendors.realtime_session import SETTINGS, differences, session_of
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Message
from fdbcore.errors import PartyError
from fdbcore.models.account import NO_KEY, Account, Vendor
from fdbcore.models.account import SETTINGS as ACCOUNT_SETTINGS
from fdbcore.models.counts import openai_counts
from fdbcore.models.openai import OPENAI
from fdbcore.runtime.address import parsed
from fdbcore.runtime.json_values import json_or_text
from fdbcore.types.system_events import SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service

RATE_HZ: Final = 24_000
AZURE_DOMAINS: Final = ("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com")
"""Of Azure OpenAI alone: below azure.com are servers of anybody."""

_HARMLESS: Final = (
    "response_cancel_not_active",
    "conversation_already_has_active_response",
    "input_audio_buffer_commit_empty",
    "item_retrieve_invalid_item_id",
    "item_create_duplicate_item_id",
    "item_truncate_invalid_item_id",
)
_UNLOGGED: Final = ("response.output_audio.delta", "response.audio.delta", "ping")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between servers of this interface.

    key_header: the header with the key. flat: voice and turn detection stand at the top of the session.
    harmless: parts of error texts that mean nothing, for a server whose errors have no codes.
    """

    vendor: Vendor
    key_header: str = "Authorization"
    flat: bool = False
    harmless: tuple[str, ...] = ()


DIALECTS: Final[Mapping[str, Dialect]] = {
    "openai-realtime": Dialect(
        replace(OPENAI, name="openai-realtime", billed_as=OPENAI.name),
    ),
    "azure-realtime": Dialect(
        Vendor("azure-realtime", ("AZURE_OPENAI_API_KEY",), "", domains=AZURE_DOMAINS, billed_as="azure"),
        key_header="api-key",
    ),
    "grok": Dialect(
        Vendor("grok", ("XAI_API_KEY",), "https://api.x.ai/v1"),
        flat=True,
        harmless=("no active response", "already has an active response", "truncat"),
    ),
}


def openai_realtime(address: str) -> OpenAIRealtime:
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed(address, (*ACCOUNT_SETTINGS, *SETTINGS))
    of_account = {each.name: found.settings.pop(each.name) for each in ACCOUNT_SETTINGS}
    dialect = DIALECTS[found.kind]
    account = Account(dialect.vendor, found.place, **of_account)
    account.key()  # report a missing key before any case is held
    given = {name: value for name, value in found.settings.items() if value is not None}
    return OpenAIRealtime(dialect, account, found.place, session_of(given, dialect.flat))


class OpenAIRealtime(VendorParty):
    """One session. asked: the session's settings, in the form of the server."""

    kind: ClassVar[str] = "openai-realtime"

    def __init__(self, dialect: Dialect, account: Account, model: str, asked: Json) -> None:
        super().__init__(account.name, Uplink(RATE_HZ), RATE_HZ, account=account)
        self._account = account
        self._dialect = dialect
        self._model = model
        self._asked = asked
        self._differences: list[Json] = []
        self._active: set[str] = set()  # responses that are under way
        self._unanswered: set[str] = set()  # complete calls without a result
        self._owes_response = False  # results were sent that the model has not been asked to go on with

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        own = self._account.service("audio")
        return [own, own._replace(model=self._transcriber)] if own.vendor and self._transcriber else [own]

    @property
    def _transcriber(self) -> str:
        """The model that transcribes what this one hears; "" if none does."""
        heard = (self._asked.get("audio") or {}).get("input") or {}
        return str((heard.get("transcription") or {}).get("model") or "")

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        key = self._account.key()
        shown = key if self._dialect.key_header != "Authorization" else f"Bearer {key}"
        url = self._account.websocket(f"/realtime?{urlencode({'model': self._model})}")
        return url, {} if key == NO_KEY else {self._dialect.key_header: shown}

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`. A close that has a reason of the server's was explained by an error before it."""
        error = named_error(self._account, code, said)
        return None if error.cause is SETTING else error

    async def begin(self, session: Session) -> None:
        """Ask for the settings, and wait until the server confirms them."""
        while (await self._next(session))["type"] not in ("session.created", "conversation.created"):
            pass
        asked = self._asked | ({"tools": [_declared(tool) for tool in self.tools]} if self.tools else {})
        await session.send({"type": "session.update", "session": asked})
        while (event := await self._next(session))["type"] != "session.updated":
            pass
        self.confirmed = dict(event.get("session") or {})
        self._differences = differences(asked, self.confirmed)

    async def _next(self, session: Session) -> Json:
        event = await session.receive()
        if event.get("type") == "error":
            error = event.get("error") or {}
            raise named_error(self._account, error.get("code") or error.get("type"), error.get("message"))
        self.log_event(str(event.setdefault("type", "")), event)
        return event

    def take(self, event: Json) -> None:
        """Handle one event of the server."""
        name = str(event.get("type", ""))
        if name not in _UNLOGGED:
            self.log_event(name, {field: value for field, value in event.items() if field != "type"})
        match name:
            case "response.output_audio.delta":
                self._hear(str(event.get("item_id")), event.get("delta"))
            case "response.output_audio.done":
                self.items.end(str(event.get("item_id")))
            case "input_audio_buffer.speech_started" | "input_audio_buffer.speech_stopped":
                self._turn(name.rpartition(".")[2], event)
            case "response.created":
                self._active.add(_id_of(event))
                self.log_usage(self._usage({}, due=True))
                self._owes_response &= bool(self._unanswered)
            case "response.output_item.added":
                self._begin_item(event.get("item"))
            case "response.output_item.done":
                self._complete_call(event.get("item"))
            case "response.done":
                self._end_response(event.get("response"), event.get("usage"))
            case "response.output_audio_transcript.done":
                self.note(TRANSCRIPT, of="self", text=str(event.get("transcript")), item=str(event.get("item_id")))
            case "conversation.item.input_audio_transcription.completed":
                self.note(TRANSCRIPT, of="partner", text=str(event.get("transcript")), item=str(event.get("item_id")))
                self._count_transcription(event.get("usage"))
            case "error":
                self._fail(event.get("error"))

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return f'{{"type":"input_audio_buffer.append","audio":"{base64.b64encode(packet).decode("ascii")}"}}'

    def result(self, result: ToolResult) -> Sequence[Json]:
        """The output of a call; once all calls of a response are answered, the model is asked to go on."""
        self._unanswered.discard(result.id)
        value = result.value if result.status == "ok" else {"error": result.value}
        item = {"type": "function_call_output", "call_id": result.id, "output": json.dumps(value, ensure_ascii=False)}
        return [{"type": "conversation.item.create", "item": item}, *self._continuation()]

    def describe(self) -> Mapping[str, Any]:
        """See `VendorParty.describe`; with the settings that were asked for, and where the server's differ."""
        differ = {"differs": self._differences} if self._differences else {}
        server = {"server": self._account.server, "asked": self._asked}
        return {**super().describe(), "kind": self._dialect.vendor.name, **server, **differ}

    def _hear(self, item: str, audio: object) -> None:
        try:
            self.items.push(item, from_pcm16(base64.b64decode(str(audio), validate=True)))
        except ValueError:
            self.odd("not audio", str(audio))

    def _turn(self, name: str, event: Json) -> None:
        """The server's detector decided on the partner's speech."""
        detection = self._turn_detection()
        claimed_ms = event.get("audio_start_ms" if name == "speech_started" else "audio_end_ms")
        times = {}
        if isinstance(claimed_ms, int | float):
            start, end = detection.get("prefix_padding_ms") or 0, -(detection.get("silence_duration_ms") or 0)
            at_ms = self.uplink.session_ms(claimed_ms + (start if name == "speech_started" else end))
            times = {"claimed_ms": claimed_ms, "at_ms": round(at_ms, 1)}
        self.note(SYSTEM_TURN, name=name, **times)
        if name == "speech_started" and detection.get("interrupt_response") is not False:
            self._interrupt()

    def _turn_detection(self) -> Json:
        place = self.confirmed if self._dialect.flat else (self.confirmed.get("audio") or {}).get("input") or {}
        return place.get("turn_detection") or {}

    def _interrupt(self) -> None:
        """Drop what was not yet heard, and tell the server how much was."""
        for cut in self.cut_short():
            truncated = {"item_id": cut["item"], "content_index": 0, "audio_end_ms": cut["heard_ms"]}
            self.send({"type": "conversation.item.truncate", **truncated})

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
                self._interrupt()
        elif status == "failed":
            self._fail(details.get("error"))
        usage = response.get("usage") or usage_beside
        self.log_usage(self._usage(usage if isinstance(usage, dict) else {}))
        self.send(*self._continuation())

    def _usage(self, usage: Mapping[str, Any], due: bool = False) -> ModelUsage:
        """What a response counted."""
        return ModelUsage(self._account.service("audio").vendor, self._model, openai_counts(usage), due)

    def _count_transcription(self, usage: object) -> None:
        """Log what the model counted that transcribes what this one hears."""
        if self._transcriber and isinstance(usage, dict):
            vendor = self._account.service("audio").vendor
            self.log_usage(ModelUsage(vendor, self._transcriber, openai_counts(usage)))

    def _cancel_calls(self, items: object) -> None:
        """The calls that the model had not finished are off; it does not wait for their results."""
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and item.get("type") == "function_call" and item.get("status") != "completed":
                number = str(item.get("call_id"))
                self._unanswered.discard(number)
                self.call(ToolCall("cancelled", number, str(item.get("name"))))

    def _continuation(self) -> list[Json]:
        """The request to go on, once no response is under way and no result is missing."""
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
        named = named_error(self._account, code, message)
        if named.cause.ends:
            self.end(str(named), named.transient)


def _declared(tool: Any) -> Json:  # noqa: ANN401
    return {"type": "function", **tool.to_json()}


def _id_of(event: Json) -> str:
    return str((event.get("response") or {}).get("id"))
