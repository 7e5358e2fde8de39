"""Freeze-Omni, as its own demo server serves it: Socket.IO over a WebSocket.

    freeze-omni://localhost:8081
    freeze-omni://HOST:PORT?tls=0&instructions=@FILE

The server hands out at most one piece of its answer for each event `audio` that it gets, so we ask for audio by sending
some: an event of 20 ms in every second tick from tick 0 on, silence too. A piece is much longer than that. It is queued
as it comes, and heard from the next tick on. `stop_tts` drops what was not yet heard: when somebody interrupts, the
server first hands out all that it had ready, and then says so. Source: `bin/server.py` of VITA-MLLM/Freeze-Omni.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.items import from_pcm16
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.socket_io import PATH, read_packet, write_packet
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Message, wrong_tls
from fdbcore.errors import PartyError, SettingsError
from fdbcore.runtime.address import Setting, host_port, location, query_of, text_of, values
from fdbcore.types import Pcm
from fdbcore.types.usage import Service

IN_HZ: Final = 16_000
OUT_HZ: Final = 24_000
PORT: Final = 8081
"""The port of the demo's instructions."""

SETTINGS: Final = (
    Setting("tls", "whether by TLS; certificates are not verified", default="1", choices=("0", "1")),
    Setting("instructions", "what the model is told; `@FILE` for the text in a file", unset="the server's"),
)

_BUSY: Final = "busy: it has as many users as it takes (its option --max_users): try later, or with fewer --jobs"


def freeze_omni(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> "FreezeOmni":
    """The party at an address of the module. SettingsError for any other form, or a file that cannot be read."""
    form = "freeze-omni://HOST:PORT"
    parts = location(address, form)
    if not parts.hostname or parts.path.strip("/"):
        raise SettingsError(f"freeze-omni: expected {form}")
    settings = values("freeze-omni", query_of(parts.query), SETTINGS)
    instructions = settings["instructions"] and text_of(settings["instructions"])
    return FreezeOmni(parts.hostname, parts.port or PORT, settings["tls"] == "1", instructions, timeout_s)


class FreezeOmni(VendorParty):
    """One user of the server."""

    kind: ClassVar[str] = "freeze-omni"
    speaks_in_bytes = True
    verifies_tls: ClassVar[bool] = False

    def __init__(self, host: str, port: int, tls: bool, instructions: str | None, timeout_s: float) -> None:
        place = host_port(host, port)
        super().__init__(f"freeze-omni://{place}", Uplink(IN_HZ), OUT_HZ, names_its_items=False, timeout_s=timeout_s)
        self._host, self._tls, self._instructions = host, tls, instructions
        self._url = f"{'wss' if tls else 'ws'}://{place}{PATH}"
        self._announced = ""  # the event whose bytes come next
        self._pinged_ns = self._patience_ns = 0

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return [Service("audio", self._host)]

    def describe(self) -> Mapping[str, Any]:
        """See `VendorParty.describe`."""
        told = {"instructions": self._instructions} if self._instructions else {}
        return {**super().describe(), "tls": self._tls, **told}

    # The connection

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        return self._url, {}

    def read(self, message: Message) -> Json | None:
        """See `VendorParty.read`: a packet of Socket.IO."""
        return read_packet(message) if isinstance(message, str) else None

    def write(self, message: Json) -> str:
        """See `VendorParty.write`."""
        return write_packet(message)

    async def begin(self, session: Session) -> None:
        """Join, say what the model is told, and begin to record. The server is ready when it answers that."""
        opened = await self._awaited(session, "open")
        try:
            self._patience_ns = 1_000_000 * int(opened["data"]["pingInterval"] + opened["data"]["pingTimeout"])
        except (TypeError, KeyError):
            raise self.error("it greets with something other than Socket.IO's `open`") from None
        await session.send({"packet": "connect"})
        await self._awaited(session, "connect")
        if self._instructions:
            await session.send(_event("prompt_text", self._instructions))
            await self._awaited(session, "prompt_success")
        await session.send(_event("recording-started"))
        await self._awaited(session, "stop_tts")
        self._pinged_ns = now_ns()

    async def _awaited(self, session: Session, expected: str) -> Json:
        """The next packet of this kind, or event of this name. PartyError if the server turns us away."""
        while True:
            packet = await session.receive()
            match name := packet.get("name", packet["packet"]):
                case "ping":
                    await session.send({"packet": "pong"})
                case "too_many_users":
                    raise self.error(_BUSY, transient=True)
                case "connect_error" | "disconnect" | "close":
                    raise self.error(f"turned away ({name} {packet.get('data') or ''})")
            if name == expected:
                return packet

    def _failure(self, error: Exception) -> PartyError:
        return wrong_tls(error, self.name) or super()._failure(error)

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`."""
        if code in (400, 404):
            return self.error(f"there is no server of Socket.IO 5 (HTTP {code})")
        return None

    def farewell(self) -> str:
        """The server may stop, and forget what it has queued."""
        return write_packet(_event("recording-stopped"))

    # Messages in and out

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return write_packet(_event("audio", json.dumps({"sample_rate": IN_HZ, "audio": list(packet)})))

    def hear(self, tick: int, frame: Pcm) -> None:
        """See `VendorParty.hear`; the server has to send a ping from time to time."""
        if now_ns() - self._pinged_ns > self._patience_ns:
            self.end(f"sent no ping for {self._patience_ns / 1e9:g} s", transient=True)
        super().hear(tick, frame)

    def take(self, event: Json) -> None:
        """Handle one packet of the server."""
        match event["packet"]:
            case "ping":
                self._pinged_ns = now_ns()
                self.send({"packet": "pong"})
            case "close" | "disconnect":
                self.end("the server ended the call")
            case "event":
                self._take_event(event["name"], event["data"])

    def _take_event(self, name: str, data: Sequence[Any]) -> None:
        self._announced = name
        if name != "audio":
            self.log_event(name, {"data": data})
        match name:
            case "stop_tts":
                self.cut_short()
            case "out_time":
                self.end("session limit: it had no answer to give for too long (its option --timeout)")

    def take_audio(self, data: bytes) -> None:
        """See `VendorParty.take_audio`."""
        if self._announced == "audio":
            self.items.push_unnamed(from_pcm16(data))
        else:
            self.stream.unplayed.add("binary", len(data))
            self.odd("bytes without an event", len(data))
        self._announced = ""


def _event(name: str, *data: str) -> Json:
    return {"packet": "event", "name": name, "data": data}
