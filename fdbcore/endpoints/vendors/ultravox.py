"""Ultravox, over its REST interface and its WebSocket for servers.

    ultravox:ultravox-v0.7?voice=Mark&turnEndpointDelay=0.4s&instructions=@FILE

A request creates the call, and a WebSocket joins it. Binary messages are audio both ways. The server is asked to send
far ahead, so that playout happens here; `playback_clear_buffer` cuts short what was not yet heard. Its audio has no
names: an utterance ends where `state` changes, and the first one is the item `turn_1`.

The agent may greet as soon as it is joined. What comes before tick 0 is kept, and heard from tick 0 on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from fdbcore.endpoints.vendors.account_party import AccountParty, account_of, key_header, parsed_with_account
from fdbcore.endpoints.vendors.early import EarlyParty
from fdbcore.endpoints.vendors.errors import LIMIT, MODEL, SERVER, Cause, VendorError, named_error
from fdbcore.endpoints.vendors.items import from_pcm16
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.their_settings import differences
from fdbcore.endpoints.vendors.ultravox_call import RATE_HZ, SETTINGS, call_of, declared
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Ending, Message
from fdbcore.errors import PartyError
from fdbcore.models.account import Account, Vendor
from fdbcore.runtime.json_values import json_object
from fdbcore.types import TICKS_PER_S, Happening
from fdbcore.types.system_events import SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import ToolCall, ToolResult

VENDOR: Final = Vendor("ultravox", ("ULTRAVOX_API_KEY",), "https://api.ultravox.ai/api", domains=("ultravox.ai",))
PROBE_DURATION: Final = "10s"

_ENDINGS: Final[Mapping[str, Cause]] = {"timeout": LIMIT, "system_error": SERVER}
_UNLOGGED: Final = ("pong",)


def ultravox(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> "Ultravox":
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed_with_account(address, SETTINGS)
    account, given = account_of(VENDOR, found)
    return Ultravox(account, found.place, call_of(found.place, given), timeout_s)


class Ultravox(AccountParty, EarlyParty):
    """One call. asked: the request that creates it, without tools."""

    kind: ClassVar[str] = "ultravox"
    speaks_in_bytes = True
    recites = True

    def __init__(self, account: Account, model: str, asked: Json, timeout_s: float) -> None:
        EarlyParty.__init__(self, account.name, Uplink(RATE_HZ), RATE_HZ, timeout_s=timeout_s)
        AccountParty.__init__(self, account, model, asked)
        self._turn = 1
        self._state = ""
        self._is_cut = False  # the utterance that goes on
        self._words = ""  # of the agent, as they come
        self._n_heard = 0  # transcripts of the partner
        self._counted_s = 0

    def probe(self) -> None:
        """Join a call that ends by itself after PROBE_DURATION, and leave it."""
        self.asked = {**self.asked, "maxDuration": PROBE_DURATION}
        self.open("B")

    def take_part(self, instructions: str) -> None:
        """See `Endpoint.take_part`. Speech of `minimumInterruptionDuration` still interrupts the agent."""
        told = [text for text in (self.asked.get("systemPrompt"), instructions) if text]
        self.asked = {"firstSpeaker": "FIRST_SPEAKER_USER", **self.asked, "systemPrompt": "\n\n".join(told)}

    # The connection

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """Create the call. The URL at which it is joined lets in whoever has it, once."""
        asked = self.asked | ({"selectedTools": declared(self.tools)} if self.tools else {})
        call = await self._request("POST", "/calls", asked)
        url = str(call.pop("joinUrl", ""))
        if not url.startswith("ws"):
            raise self.error(f"{self.account.server} gives no address at which the call is joined")
        self.confirmed = call
        self.differences = differences(self.asked, call)
        return f"{url}{'&' if '?' in url else '?'}apiVersion=1", {}

    async def _request(self, method: str, path: str, body: Json | None = None) -> Json:
        """The answer to a request. PartyError; aiohttp's errors if there is no server, or it refuses."""
        headers = key_header(self.account, "X-API-Key", "{}")
        text = await self.rest(method, self.account.base_url + path, headers, body)
        if (found := json_object(text)) is None:
            raise self.error(f"{self.account.server} answers with something other than a call")
        return found

    async def begin(self, session: Session) -> None:
        """Wait until the call has started."""
        while (event := await session.receive()).get("type") != "call_started":
            self.log_event(str(event.get("type")), event)

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`."""
        if code is None or code >= 1000:
            return VendorError(self.account, SERVER, f"{code} {said}") if code == 1011 else None
        if code == 400 and '"model"' in said:
            return VendorError(self.account, MODEL, said)
        return named_error(self.account, code, said)

    async def parting(self, ended: Ending) -> str | None:
        """See `VendorParty.parting`. The server says over REST why a call has ended."""
        reason = await self._end_reason()
        if reason == "agent_hangup":
            return "finished"
        if reason in _ENDINGS:
            error = VendorError(self.account, _ENDINGS[reason], reason)
            self.transient |= error.transient
            return str(error)
        return await super().parting(ended)

    async def _end_reason(self) -> str:
        import aiohttp

        try:
            call = await self._request("GET", f"/calls/{self.confirmed.get('callId')}")
        except (aiohttp.ClientError, PartyError):
            return ""  # the connection's own end is told
        return str(call.get("endReason") or "")

    def farewell(self) -> str:
        """See `VendorParty.farewell`."""
        return json.dumps({"type": "hang_up"})

    # Messages in and out

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return packet

    def take_audio(self, data: bytes) -> None:
        """See `VendorParty.take_audio`."""
        self.items.push(self._item, from_pcm16(data))

    def request(self, text: str) -> Sequence[Json]:
        """See `VendorParty.request`."""
        return [{"type": "user_text_message", "text": text}]

    def recital(self, text: str) -> Sequence[Json]:
        """See `VendorParty.recital`. The partner's speech does not end it; `hush` does, here."""
        return [{"type": "forced_agent_message", "content": text, "uninterruptible": True}]

    def result(self, result: ToolResult) -> Sequence[Json]:
        """See `VendorParty.result`. The agent says nothing before it."""
        answer = {"type": "client_tool_result", "invocationId": result.id}
        if result.status == "ok":
            return [{**answer, "result": json.dumps(result.value, ensure_ascii=False), "responseType": "tool-response"}]
        kind = "undefined" if result.status == "unknown" else "implementation-error"
        return [{**answer, "errorType": kind, "errorMessage": str(result.value)}]

    def take(self, event: Json) -> None:
        """Handle one message of the server."""
        name = str(event.get("type", ""))
        if name not in _UNLOGGED:
            self.log_event(name, {field: value for field, value in event.items() if field != "type"})
        match name:
            case "state":
                self._enter(str(event.get("state")))
            case "playback_clear_buffer":
                self.fall_silent()
            case "transcript":
                self._transcribe(event)
            case "client_tool_invocation":
                number, tool = str(event.get("invocationId")), str(event.get("toolName"))
                self.call(ToolCall("complete", number, tool, event.get("parameters") or {}))
            case _ if "started_speaking" in name or "stopped_speaking" in name:
                self.note(SYSTEM_TURN, name="speech_started" if "started" in name else "speech_stopped")

    @property
    def _item(self) -> str:
        return f"turn_{self._turn}"

    def _enter(self, state: str) -> None:
        """An utterance is over when the agent does anything else than speak, or speaks anew after it was cut."""
        if self._state == "speaking" and (state != "speaking" or self._is_cut):
            self.items.end(self._item)
            self._turn += 1
            self._is_cut = False
        self._state = state

    def fall_silent(self) -> None:
        """Drop what was not yet heard, and all that still comes of the present utterance. The server is not told."""
        self.cut_short()
        if self._state == "speaking":
            self.items.drop(self._item)
            self._is_cut = True

    def _transcribe(self, event: Json) -> None:
        """The agent's words come as they are said, the user's once they are complete."""
        is_agent = event.get("role") == "agent"
        if is_agent:
            self._words = str(event["text"]) if "text" in event else self._words + str(event.get("delta") or "")
        if not event.get("final"):
            return
        text, of, item = self._words, "self", self._item
        if is_agent:
            self._words = ""
        else:
            self._n_heard += 1
            text, of, item = str(event.get("text") or ""), "partner", f"input_{self._n_heard}"
        if text.strip():
            self.note(TRANSCRIPT, of=of, text=text.strip(), item=item)

    def log(self) -> Sequence[Happening]:
        """See `VendorParty.log`; with each second of the call, which the vendor bills."""
        happened = list(super().log())
        while self._counted_s < (self.stream.tick + 1) // TICKS_PER_S:
            self._counted_s += 1
            happened.append(self.usage({"seconds": 1}).happening(self.stream.tick))
        return happened
