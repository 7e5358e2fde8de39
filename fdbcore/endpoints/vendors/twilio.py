"""An application behind Twilio's Media Streams. We are the telephone network's side of the WebSocket.

    twilio://HOST:PORT/PATH
    twilios://HOST/PATH?parameters=caller:+15550100&digits=4.5:12#

The call begins (`start`) with tick 0. What the application sends is played in its order; each `mark` is returned once
the audio before it has played, and at once after a `clear`, which drops what has not. Source: Twilio's page "Media
Streams - WebSocket Messages".
"""

import base64
import hashlib
import hmac
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final
from uuid import uuid4

from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.clock import MonotonicClock, now_ns
from fdbcore.endpoints.vendors.party import Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Message
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import KEY_VARIABLE, Setting, host_port, location, query_of, values
from fdbcore.runtime.network import event_loop
from fdbcore.runtime.redaction import needs_keys, secret
from fdbcore.types import SILENT_FRAME, TICKS_PER_S, Pcm
from fdbcore.types.tools import Tool
from fdbcore.types.usage import Service

RATE_HZ: Final = 8_000

_KEYS: Final = re.compile(r"(\d{1,9}(?:\.\d+)?):([0-9*#A-D]+)", re.ASCII)
_PARAMETER: Final = re.compile(r"([^:,]+):([^,]*)")

SETTINGS: Final = (
    Setting(
        "parameters",
        "the call's custom parameters",
        default="",
        form="NAME:VALUE,NAME:VALUE",
        fits=lambda text: all(_PARAMETER.fullmatch(part) for part in text.split(",") if text),
    ),
    Setting(
        "digits",
        "the keys that the caller presses, and at which second",
        default="",
        form="SECONDS:KEYS,SECONDS:KEYS with keys 0-9, *, #, A-D",
        fits=lambda text: all(_KEYS.fullmatch(part) for part in text.split(",") if text),
    ),
    KEY_VARIABLE,
)

_AT_ONCE: Final = ", right after `start`: the application's own log may say why"


def twilio(address: str) -> "Twilio":
    """The party at an address of the module. SettingsError for any other form, or a key that is missing.

    key_variable: the environment variable with the account's token; it signs the request (`X-Twilio-Signature`).
    """
    form = "twilio://HOST:PORT/PATH, or twilios:// with TLS"
    kind = address.partition(":")[0]
    parts = location(address, form)
    if not parts.hostname:
        raise SettingsError(f"{kind}: expected {form}")
    settings = values(kind, query_of(parts.query), SETTINGS)
    scheme = "wss" if kind == "twilios" else "ws"
    url = f"{scheme}://{host_port(parts.hostname, parts.port)}{parts.path or '/'}"
    token = None
    if (variable := settings.pop("key_variable")) is not None and not (token := secret(variable)) and needs_keys():
        raise SettingsError(f"{kind}: expected a token in {variable} (environment or .env), found none")
    return Twilio(f"{kind}{url.removeprefix(scheme)}", url, parts.hostname, token, **settings)


class Twilio(VendorParty):
    """One call."""

    kind: ClassVar[str] = "twilio"

    def __init__(self, name: str, url: str, host: str, token: str | None, parameters: str, digits: str) -> None:
        super().__init__(name, Uplink(RATE_HZ, encode=mulaw), RATE_HZ, names_its_items=False)
        self._url, self._host, self._token = url, host, token
        self._parameters = dict(part.split(":", 1) for part in parameters.split(",") if part)
        self._digits = deque(
            (round(float(at_s) * TICKS_PER_S), key) for at_s, keys in _KEYS.findall(digits) for key in keys
        )
        self._stream_id, self._call_id, self._account_id = (f"{kind}{uuid4().hex}" for kind in ("MZ", "CA", "AC"))
        self._messages = self._chunks = 0
        self._marks: deque[tuple[str, int]] = deque()  # the name, and how much audio came before it

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return [Service("audio", self._host)]

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """SettingsError: the tools of the application are its own matter."""
        raise SettingsError("no call of a tool crosses Media Streams")

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        if self._token is None:
            return self._url, {}
        digest = hmac.new(self._token.encode(), self._url.encode(), hashlib.sha1).digest()
        return self._url, {"X-Twilio-Signature": base64.b64encode(digest).decode("ascii")}

    async def begin(self, session: Session) -> None:
        """Say that the line is connected. The call itself starts with tick 0, so that no greeting comes before it."""
        await session.send({"event": "connected", "protocol": "Call", "version": "1.0.0"})

    def probe(self) -> None:
        """Hold a call for a second of silence: an application decides at its start whether it takes it."""
        self.open("B")
        self.start(now_ns())
        clock = MonotonicClock(spin_ns=0)
        for tick in range(TICKS_PER_S):
            clock.wait(tick)
            self.hear(tick, SILENT_FRAME)
            if self.say(tick) is None:
                raise self.error(str(self.left))

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now: the call starts."""
        super().start(origin_ns)
        call = {"streamSid": self._stream_id, "accountSid": self._account_id, "callSid": self._call_id}
        audio = {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1}
        self._tell("start", call | {"tracks": ["inbound"], "mediaFormat": audio, "customParameters": self._parameters})

    def take(self, event: Json) -> None:
        """Handle one message of the application."""
        name, told = str(event.get("event")), event.get(str(event.get("event")))
        if event.get("streamSid") != self._stream_id:
            self.stream.unplayed.taken_from(name, event)
            self.odd("for another stream", {"event": name})
            return
        if name != "media":
            self.log_event(name, {field: value for field, value in event.items() if field != "event"})
        match name:
            case "media":
                self._hear(told)
            case "mark" if isinstance(told, dict):
                self._marks.append((str(told.get("name")), self.stream.received_samples))
            case "clear":
                self.cut_short()

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        number, self._chunks = self._chunks, self._chunks + 1
        at_ms = number * self.uplink.packet_ms
        payload = base64.b64encode(packet).decode("ascii")
        media = {"track": "inbound", "chunk": str(number + 1), "timestamp": str(at_ms), "payload": payload}
        return self._message("media", media)

    def say(self, tick: int) -> Pcm | None:
        """The application's frame of `tick`; then the keys that are pressed in it, and the marks that are due."""
        played_samples = self.stream.received_samples - self.stream.queued_samples  # with the ticks before this one
        frame = super().say(tick)
        if frame is None and tick < TICKS_PER_S and self.left not in (None, "finished"):
            self.left = f"{self.left}{_AT_ONCE}"
        while self._digits and self._digits[0][0] <= tick:
            self._tell("dtmf", {"track": "inbound_track", "digit": self._digits.popleft()[1]})
        while self._marks and self._marks[0][1] <= played_samples:
            self._tell("mark", {"name": self._marks.popleft()[0]})
        return frame

    def farewell(self) -> str:
        """The call stops, if it had started."""
        call = {"accountSid": self._account_id, "callSid": self._call_id}
        return self._message("stop", call) if self._messages else ""

    def describe(self) -> Mapping[str, Any]:
        """See `VendorParty.describe`."""
        return {**super().describe(), "parameters": self._parameters, "signed": self._token is not None}

    def _hear(self, told: object) -> None:
        payload = told.get("payload") if isinstance(told, dict) else None
        if (pcm := self.decoded(payload, from_mulaw)) is not None:
            self.items.push_unnamed(pcm)

    def _tell(self, event: str, told: Json) -> None:
        event_loop().call_soon_threadsafe(self._line.put, None, [self._message(event, told)])

    def _message(self, event: str, told: Json) -> str:
        """A message with the next number. Only one thread makes them at a time, so they leave in this order."""
        self._messages += 1
        numbered = {"event": event, "sequenceNumber": str(self._messages), "streamSid": self._stream_id}
        return json.dumps({**numbered, event: told})
