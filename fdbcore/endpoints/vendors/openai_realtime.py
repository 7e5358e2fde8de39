"""Speech models behind OpenAI's Realtime interface (GA), over a WebSocket or, by `realtime_webrtc`, over WebRTC.

    openai-realtime:gpt-realtime-2.1?voice=marin&turn_detection=semantic_vad&eagerness=low&instructions=@FILE
    openai-realtime:MODEL?base_url=http://localhost:8000/v1       any server of that interface
    azure-realtime:DEPLOYMENT?base_url=https://RESOURCE.openai.azure.com/openai/v1
    grok:grok-voice-latest
    openai-realtime:MODEL?transport=webrtc

The server's own voice activity detector begins and ends the partner's turns. Over a WebSocket, an interruption is the
client's task: when speech begins and the session interrupts responses, what was not yet heard is dropped, and the
server is told how much of the item was heard (`conversation.item.truncate`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from fdbcore.endpoints.vendors.errors import SETTING, named_error
from fdbcore.endpoints.vendors.items import from_pcm16
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.realtime_events import Dialect, RealtimeEvents
from fdbcore.endpoints.vendors.realtime_session import SETTINGS, check_settings, directed, session_of
from fdbcore.endpoints.vendors.realtime_webrtc import OpenAIRealtimeCall
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Message
from fdbcore.errors import PartyError, SettingsError
from fdbcore.models.account import SETTINGS as ACCOUNT_SETTINGS
from fdbcore.models.account import Account, Vendor
from fdbcore.models.openai import OPENAI
from fdbcore.protocols import Endpoint
from fdbcore.runtime.address import parsed
from fdbcore.types.tools import ToolResult
from fdbcore.types.usage import Service

RATE_HZ: Final = 24_000
AZURE_DOMAINS: Final = ("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com")
"""Of Azure OpenAI alone: below azure.com are servers of anybody."""

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
        webrtc=False,
        recites=True,
        harmless=("no active response", "already has an active response", "truncat"),
    ),
}


def openai_realtime(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> Endpoint:
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed(address, (*ACCOUNT_SETTINGS, *SETTINGS))
    of_account = {each.name: found.settings.pop(each.name) for each in ACCOUNT_SETTINGS}
    by_webrtc = found.settings.pop("transport") == "webrtc"
    dialect = DIALECTS[found.kind]
    if by_webrtc and not dialect.webrtc:
        raise SettingsError(f"{found.kind}: transport: expected websocket, got 'webrtc', which it does not offer")
    account = Account(dialect.vendor, found.place, **of_account)
    account.key()  # report a missing key before any case is held
    given = {name: value for name, value in found.settings.items() if value is not None}
    check_settings(found.kind, given, dialect.flat)
    asked = session_of(given, dialect.flat, states_format=not by_webrtc)
    party = OpenAIRealtimeCall if by_webrtc else OpenAIRealtime
    return party(dialect, account, found.place, asked, timeout_s)


class OpenAIRealtime(VendorParty):
    """One session over a WebSocket. asked: its settings, in the form of the server."""

    kind: ClassVar[str] = "openai-realtime"
    knows_what_is_heard = True

    def __init__(self, dialect: Dialect, account: Account, model: str, asked: Json, timeout_s: float) -> None:
        super().__init__(account.name, Uplink(RATE_HZ), RATE_HZ, timeout_s=timeout_s, account=account)
        self._account = account
        self._dialect = dialect
        self.recites = dialect.recites
        self._model = model
        self._events = RealtimeEvents(dialect, account, model, asked, self)

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return self._events.services()

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        url = self._account.websocket(f"/realtime?{urlencode({'model': self._model})}")
        return url, self._dialect.headers(self._account)

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`. A close that has a reason of the server's was explained by an error before it."""
        error = named_error(self._account, code, said)
        return None if error.cause is SETTING else error

    async def begin(self, session: Session) -> None:
        """Ask for the settings, and wait until the server confirms them."""
        await self._events.begin(session, self.tools)
        self.confirmed = self._events.confirmed

    def take(self, event: Json) -> None:
        """Handle one event of the server."""
        self._events.take(event)
        match event.get("type"):
            case "response.output_audio.delta":
                self._hear(str(event.get("item_id")), event.get("delta"))
            case "response.output_audio.done":
                self.items.end(str(event.get("item_id")))

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return f'{{"type":"input_audio_buffer.append","audio":"{base64.b64encode(packet).decode("ascii")}"}}'

    def result(self, result: ToolResult) -> Sequence[Json]:
        """See `VendorParty.result`."""
        return self._events.result(result)

    def take_part(self, instructions: str) -> None:
        """See `Endpoint.take_part`."""
        self._events.asked = directed(self._events.asked, instructions, self._dialect.flat)

    def request(self, text: str) -> Sequence[Json]:
        """See `VendorParty.request`."""
        return self._events.request(text)

    def recital(self, text: str) -> Sequence[Json]:
        """See `VendorParty.recital`."""
        return self._events.recital(text)

    def fall_silent(self) -> None:
        """See `VendorParty.fall_silent`."""
        self.send(*self._events.cancellation())
        self.interrupt()

    def describe(self) -> Mapping[str, Any]:
        """See `VendorParty.describe`; with the settings that were asked for, and where the server's differ."""
        return {**super().describe(), **self._events.describe()}

    def session_ms(self, party_ms: float) -> float:
        """See `RealtimeLine.session_ms`."""
        return self.uplink.session_ms(party_ms)

    def interrupt(self) -> None:
        """Drop what was not yet heard, and tell the server how much was."""
        for cut in self.cut_short():
            truncated = {"item_id": cut["item"], "content_index": 0, "audio_end_ms": cut["heard_ms"]}
            self.send({"type": "conversation.item.truncate", **truncated})

    def _hear(self, item: str, audio: object) -> None:
        try:
            self.items.push(item, from_pcm16(base64.b64decode(str(audio), validate=True)))
        except ValueError:
            self.odd("not audio", str(audio))
