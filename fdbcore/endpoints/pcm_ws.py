"""A system behind a WebSocket that carries frames of 960 bytes and JSON events in both directions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fdbcore.endpoints.frames import FrameStream, Pace, StreamParty
from fdbcore.endpoints.websocket_line import Message, WebSocketLine, ending, failure, require_aiohttp
from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Clocking
from fdbcore.runtime.address import host_port, location, query_of
from fdbcore.runtime.json_values import json_object, json_or_text
from fdbcore.runtime.network import event_loop
from fdbcore.types import FRAME_BYTES, FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm, Side, TurnEvent
from fdbcore.types.tools import CallStage, Tool, ToolCall, ToolResult
from fdbcore.types.usage import Service

if TYPE_CHECKING:
    import aiohttp

VERSION: Final = 1
MOST_MESSAGE_BYTES: Final = 64 * 1024
MOST_GREETINGS: Final = 1000

_SCHEMES = {"pcm_ws": "ws", "pcm_wss": "wss"}
_CALLS: Final[Mapping[str, CallStage]] = {"tool_begin": "begun", "tool_call": "complete", "tool_cancel": "cancelled"}
_RATES_HZ = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)

Json = dict[str, Any]


class PcmWs(StreamParty):
    """A system behind a WebSocket. docs/systems.md has the contract.

    address: "pcm_ws://host:port/path", or with TLS "pcm_wss://...". timeout_s: how long to wait for the connection and
    the system's `ready` and, in lockstep, for each answer. SettingsError for any other address; `open` raises
    MissingExtraError without aiohttp.
    """

    clocking: Clocking = "input"  # until its `ready` states it

    def __init__(self, address: str, timeout_s: float = 30.0) -> None:
        super().__init__(FrameStream(Pace(), timeout_s))
        self._url, self._address = _url_of(address)
        self._timeout_s = timeout_s
        self._settings: Json = {}
        self._wants_turns = False
        self._tools: Sequence[Tool] = ()
        self._line = WebSocketLine(self.stream, lambda reason: json.dumps({"type": "bye", "reason": reason}))

    def open(self, side: Side) -> None:
        """Connect, greet, and wait until the system is ready. PartyError if it cannot be reached or is too slow."""
        require_aiohttp("pcm_ws")
        try:
            self._background.open(
                lambda ready: self._line.hold(
                    self._url,
                    lambda ws: self._greet(ws, side),
                    ready,
                    self._take,
                    most_message_bytes=MOST_MESSAGE_BYTES,
                ),
                self._timeout_s,
            )
        except TimeoutError:
            raise self._error(f"no `ready` within {self._timeout_s:g} s", transient=True) from None
        except Exception as error:
            raise failure(error, self._address) from None
        self.clocking = self.stream.pace.clocking

    def services(self) -> Sequence[Service]:
        """The server."""
        return [Service("audio", urlsplit(self._url).hostname or "")]

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the frame."""
        if frames := self.stream.hear(tick, frame):
            event_loop().call_soon_threadsafe(self._line.put, tick, frames)

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Send the events, if the system has asked for them."""
        if self._wants_turns and self.stream.left is None:
            messages = [json.dumps({"type": "turn", "event": event.to_json()}) for event in events]
            event_loop().call_soon_threadsafe(self._line.put, None, messages)

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Declare these tools in the greeting."""
        self._tools = tools

    def tool_calls(self) -> Sequence[ToolCall]:
        """Calls of the offered tools that the system began, completed or cancelled since this was last asked."""
        return self.stream.tool_calls()

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Send the result."""
        message = json.dumps({"type": "tool_result", **result.to_json()})
        event_loop().call_soon_threadsafe(self._line.put, None, [message])

    def describe(self) -> Mapping[str, Any]:
        """Address without secrets, pace, and what the system reports of itself, as JSON values."""
        return {
            "kind": "pcm_ws",
            "address": self._address,
            "version": VERSION,
            **asdict(self.stream.pace),
            "turns": self._wants_turns,
            "timeout_s": self._timeout_s,
            "settings": self._settings,
        }

    def _error(self, reason: str, transient: bool = False) -> PartyError:
        return PartyError(f"{self._address}: {reason}", transient)

    async def _greet(self, ws: "aiohttp.ClientWebSocketResponse", side: Side) -> None:
        import aiohttp

        hello: Json = {"type": "hello", "version": VERSION, "side": side}
        if self._tools:
            hello["tools"] = [tool.to_json() for tool in self._tools]
        await ws.send_json(hello | {"sample_rate_hz": SAMPLE_RATE_HZ, "channels": 1, "frame_samples": FRAME_SAMPLES})
        for _ in range(MOST_GREETINGS):
            message = await ws.receive()
            if message.type is aiohttp.WSMsgType.BINARY:
                self._take_frame(message.data)
                if self.stream.left is not None:
                    raise self._error(self.stream.left)
            elif message.type is not aiohttp.WSMsgType.TEXT:
                raise self._error(f"{ending(ws, message).text} before `ready`", transient=ws.close_code == 1013)
            elif (event := _event_of(message.data)) is None:
                raise self._error(f"expected a JSON object with a type, got {message.data[:80]!r}")
            elif event["type"] == "ready":
                return self._agree(event)
            else:
                self._note(event, len(message.data))
        raise self._error(f"floods: {MOST_GREETINGS} messages before `ready`")

    def _agree(self, ready: Json) -> None:
        ours = {"version": VERSION, "sample_rate_hz": SAMPLE_RATE_HZ, "channels": 1, "frame_samples": FRAME_SAMPLES}
        for name, value in ours.items():
            if ready.get(name, value) != value:
                raise self._error(
                    f"ready: expected {name} {value}, got {ready[name]!r}; converting is up to the system"
                )
        try:
            self.stream.pace = Pace(**{name: ready[name] for name in ("clocking", "step_ms") if name in ready})
        except (SettingsError, TypeError) as error:
            raise self._error(f"ready: {error}") from None
        self._wants_turns, self._settings = ready.get("turns", False), ready.get("settings", {})
        if not isinstance(self._wants_turns, bool) or not isinstance(self._settings, dict):
            raise self._error("ready: expected turns to be true or false, and settings an object")

    def _take(self, message: Message) -> None:
        """Handle one message: audio or an event."""
        if isinstance(message, bytes):
            self._take_frame(message)
        elif (event := _event_of(message)) is not None:
            self._obey(event, len(message))
        elif self.stream.allows(len(message)):
            self.stream.note("event", name="not an event", data=message[:200].encode(errors="replace").decode())

    def _take_frame(self, data: bytes) -> None:
        if len(data) == FRAME_BYTES:
            self.stream.receive(data)
        else:
            self.stream.leave(_wrong_size(len(data)))

    def _obey(self, event: Json, size_bytes: int) -> None:
        if event["type"] == "bye":
            self.stream.leave("finished")
            return
        if self._tools and (call := _call_of(event)) is not None:
            if self.stream.allows(size_bytes):
                self.stream.call(call)
            return
        if event["type"] == "flush":
            self.stream.flush()
        elif event["type"] == "end":
            self.stream.end_utterance()
        self._note(event, size_bytes)

    def _note(self, event: Json, size_bytes: int) -> None:
        if not self.stream.allows(size_bytes):
            return
        data = {name: value for name, value in event.items() if name != "type"}
        self.stream.note("event", name=event["type"], data=data)


def _url_of(address: str) -> tuple[str, str]:
    """The WebSocket URL, and the address to show: without user, password and the values of the query."""
    scheme = address.partition(":")[0]
    form = "pcm_ws://host:port/path or pcm_wss://host:port/path"
    parts = location(address, form, user=True)
    if not parts.hostname or scheme not in _SCHEMES:
        raise SettingsError(f"{scheme}: expected {form}")
    shown = f"{scheme}://{host_port(parts.hostname, parts.port)}{parts.path}"
    if names := query_of(parts.query):
        shown += "?" + "&".join(f"{name}=***" for name in names)
    return f"{_SCHEMES[scheme]}:{parts.geturl()}", shown


def _event_of(text: str) -> Json | None:
    """The event in a text message; None unless it is a JSON object with a type that can be written as JSON again."""
    value = json_object(text)
    return value if value is not None and isinstance(value.get("type"), str) else None


def _call_of(event: Json) -> ToolCall | None:
    """The call of a tool in an event; None if it is another event, or lacks the id or the name of the call."""
    stage, number, name = _CALLS.get(event["type"]), event.get("id"), event.get("name", "")
    if stage is None or not number or not isinstance(number, str) or not isinstance(name, str):
        return None
    if stage != "cancelled" and not name:
        return None
    if stage != "complete":
        return ToolCall(stage, number, name)
    arguments = event.get("arguments", {})
    return ToolCall(stage, number, name, json_or_text(arguments) if isinstance(arguments, str) else arguments)


def _wrong_size(size_bytes: int) -> str:
    """The reason for leaving after a frame of the wrong size, with a guess at the sample rate and channels."""
    may_be = [
        f"{rate_hz} Hz {name}"
        for channels, name in ((1, "mono"), (2, "stereo"))
        for rate_hz in _RATES_HZ
        if rate_hz * channels * 2 == size_bytes * TICKS_PER_S
    ]
    guess = f"; {' and '.join(may_be)} would have it" if may_be else ""
    return f"sent a frame of {size_bytes} bytes, expected {FRAME_BYTES} (10 ms of 48000 Hz mono, 16 bit){guess}"
