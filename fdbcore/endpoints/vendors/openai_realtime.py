"""Speech models behind OpenAI's Realtime interface, over a WebSocket or, by `realtime_webrtc`, over WebRTC.

    openai-realtime:gpt-realtime-2.1?voice=marin&turn_detection=semantic_vad&eagerness=low&instructions=@FILE
    openai-realtime:MODEL?base_url=http://localhost:8000/v1       any server of that interface
    azure-realtime:DEPLOYMENT?base_url=https://RESOURCE.openai.azure.com/openai/v1
    grok:grok-voice-latest
    openai-realtime:MODEL?transport=webrtc
    qwen-omni:MODEL, stepfun:MODEL, azure-voice-live:MODEL?base_url=https://RESOURCE.services.ai.azure.com/voice-live
    realtime-beta:MODEL?base_url=http://localhost:8000/v1         any server of the beta form

The server's own voice activity detector begins and ends the partner's turns. Over a WebSocket, an interruption is the
client's task: when speech begins and the session interrupts responses, what was not yet heard is dropped, and the
server is told how much of the item was heard (`conversation.item.truncate`).
"""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from fdbcore.endpoints.vendors.account_party import account_of, key_header, parsed_with_account
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.realtime_events import Dialect, RealtimeParty
from fdbcore.endpoints.vendors.realtime_session import (
    BETA_SETTINGS,
    RATE_HZ,
    SETTINGS,
    check_settings,
    directed,
    session_of,
)
from fdbcore.endpoints.vendors.realtime_webrtc import OpenAIRealtimeCall
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Message
from fdbcore.errors import SettingsError
from fdbcore.models.account import Account, Vendor
from fdbcore.models.openai import OPENAI
from fdbcore.protocols import Endpoint

AZURE_DOMAINS: Final = ("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com")
"""Of Azure OpenAI alone: below azure.com are servers of anybody."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    "openai-realtime": Dialect(
        replace(OPENAI, name="openai-realtime", billed_as=OPENAI.name),
    ),
    "azure-realtime": Dialect(
        Vendor("azure-realtime", ("AZURE_OPENAI_API_KEY",), "", domains=AZURE_DOMAINS, billed_as="azure"),
        key_header="api-key",
        key_form="{}",
    ),
    "grok": Dialect(
        Vendor("grok", ("XAI_API_KEY",), "https://api.x.ai/v1"),
        form="grok",
        webrtc=False,
        recites=True,
        harmless=("no active response", "already has an active response", "truncat"),
    ),
    "azure-voice-live": Dialect(
        Vendor("azure-voice-live", ("AZURE_VOICELIVE_API_KEY",), "", domains=AZURE_DOMAINS),
        key_header="api-key",
        key_form="{}",
        form="beta",
        webrtc=False,
        asked={"input_audio_sampling_rate": RATE_HZ},
    ),
    "qwen-omni": Dialect(
        Vendor(
            "qwen-omni",
            ("DASHSCOPE_API_KEY",),
            "https://dashscope-intl.aliyuncs.com/api-ws/v1",
            domains=("aliyuncs.com",),
        ),
        form="beta",
        webrtc=False,
        truncates=False,
        hears_hz=16_000,
        harmless=("no active response",),
    ),
    "stepfun": Dialect(
        Vendor("stepfun", ("STEPFUN_API_KEY",), "https://api.stepfun.com/v1", domains=("stepfun.com", "stepfun.ai")),
        form="beta",
        webrtc=False,
    ),
    "realtime-beta": Dialect(Vendor("realtime-beta", (), ""), form="beta", webrtc=False),
}


def openai_realtime(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> Endpoint:
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    dialect = DIALECTS[address.partition(":")[0]]
    found = parsed_with_account(address, (*SETTINGS, *(BETA_SETTINGS if dialect.form == "beta" else ())))
    by_webrtc = found.settings.pop("transport") == "webrtc"
    if by_webrtc and not dialect.webrtc:
        raise SettingsError(f"{found.kind}: transport: expected websocket, got 'webrtc', which it does not offer")
    account, given = account_of(dialect.vendor, found)
    check_settings(found.kind, given, dialect.form)
    if (rate_hz := given.pop("input_rate_hz", dialect.hears_hz)) != dialect.hears_hz:
        dialect = replace(dialect, hears_hz=rate_hz, asked={**dialect.asked, "input_audio_sampling_rate": rate_hz})
    asked = {**session_of(given, dialect.form, states_format=not by_webrtc), **dialect.asked}
    party = OpenAIRealtimeCall if by_webrtc else OpenAIRealtime
    return party(dialect, account, found.place, asked, timeout_s)


class OpenAIRealtime(RealtimeParty, VendorParty):
    """One session over a WebSocket. asked: its settings, in the form of the server."""

    kind: ClassVar[str] = "openai-realtime"

    def __init__(self, dialect: Dialect, account: Account, model: str, asked: Json, timeout_s: float) -> None:
        VendorParty.__init__(self, account.name, Uplink(dialect.hears_hz), RATE_HZ, timeout_s=timeout_s)
        RealtimeParty.__init__(self, dialect, account, model, asked)
        self.recites = dialect.recites
        self.knows_what_is_heard = dialect.truncates

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        url = self.account.websocket(f"/realtime?{urlencode({'model': self.model})}")
        return url, key_header(self.account, self._dialect.key_header, self._dialect.key_form)

    def read(self, message: Message) -> Json | None:
        """See `VendorParty.read`; under the names of the GA form."""
        event = super().read(message)
        return None if event is None else self.in_ga_form(event)

    async def begin(self, session: Session) -> None:
        """Ask for the settings, and wait until the server confirms them."""
        await self.begin_session(session.send, session.receive)

    def take(self, event: Json) -> None:
        """Handle one event of the server."""
        super().take(event)
        match event.get("type"):
            case "response.output_audio.delta" if (pcm := self.decoded(event.get("delta"))) is not None:
                self.items.push(str(event.get("item_id")), pcm)
            case "response.output_audio.done":
                self.items.end(str(event.get("item_id")))

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return f'{{"type":"input_audio_buffer.append","audio":"{base64.b64encode(packet).decode("ascii")}"}}'

    def take_part(self, instructions: str) -> None:
        """See `Endpoint.take_part`."""
        self.asked = directed(self.asked, instructions, self._dialect.form)

    def fall_silent(self) -> None:
        """See `VendorParty.fall_silent`."""
        self.send(*self.cancellation())
        self.interrupt()

    def describe(self) -> Mapping[str, Any]:
        """See `VendorParty.describe`; with the dialect."""
        return {**super().describe(), "kind": self._dialect.vendor.name}

    def session_ms(self, party_ms: float) -> float:
        """See `RealtimeParty.session_ms`."""
        return self.uplink.session_ms(party_ms)

    def interrupt(self) -> None:
        """Drop what was not yet heard, and tell a server that takes it how much was."""
        for cut in self.cut_short():
            if not self._dialect.truncates:
                continue
            truncated = {"item_id": cut["item"], "content_index": 0, "audio_end_ms": cut["heard_ms"]}
            self.send({"type": "conversation.item.truncate", **truncated})
