"""OpenAI's GPT-Live: continuous audio both ways in real time, over a WebSocket.

    openai-live:gpt-live-1?voice=marin&instructions=@FILE
    openai-live:gpt-live-1?responses_model=gpt-5.4          with tools, which that model calls

The model decides itself when it speaks and when it yields: it states no turns, and none are logged. A second connection
(the *sideband*) states when each chunk begins and ends on the vendor's clock.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final
from urllib.parse import quote

from fdbcore._ext.transit import MinimumTransit
from fdbcore.clock import now_ns
from fdbcore.endpoints.frames import Pace
from fdbcore.endpoints.vendors.account_party import AccountParty, account_of, key_header, parsed_with_account
from fdbcore.endpoints.vendors.errors import LIMIT, MODERATION, SERVER, SETTING, Cause, VendorError, named_error
from fdbcore.endpoints.vendors.items import SAMPLES_PER_MS
from fdbcore.endpoints.vendors.live_session import RATE_HZ, SETTINGS, Delegated, session_of, with_tools
from fdbcore.endpoints.vendors.party import MOST_MESSAGE_BYTES, OPEN_TIMEOUT_S, Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.provider_clock import ProviderClock
from fdbcore.endpoints.vendors.their_settings import differences
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Ending, Message, WebSocketLine, failure
from fdbcore.errors import SettingsError
from fdbcore.models.account import Account
from fdbcore.models.counts import openai_counts
from fdbcore.models.openai import OPENAI
from fdbcore.protocols import Clocking
from fdbcore.runtime.json_values import json_object
from fdbcore.types import FRAME_SAMPLES, TICKS_PER_S, Happening
from fdbcore.types.system_events import PROVIDER_CLOCK, TRANSCRIPT
from fdbcore.types.tools import Tool, ToolResult
from fdbcore.types.usage import Service

LIVE: Final = replace(OPENAI, name="openai-live", billed_as=OPENAI.name)
CHUNK_MS: Final = 100
"""Audio that the server sends at once, as was seen."""

_AUDIO: Final = "session.output_audio.delta"
_ONE: Final = "speech"
_ENDINGS: Final[Mapping[str, Cause]] = {"expired": LIMIT, "content": MODERATION, "connection_lost": SERVER}


def openai_live(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> "OpenAILive":
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed_with_account(address, SETTINGS)
    account, given = account_of(LIVE, found)
    return OpenAILive(account, found.place, session_of(found.place, given), timeout_s)


class OpenAILive(AccountParty, VendorParty):
    """One session. asked: its settings in the server's form, without tools."""

    kind: ClassVar[str] = "openai-live"
    clocking: Clocking = "realtime"
    answer: ClassVar[str] = "session.closed"

    def __init__(self, account: Account, model: str, asked: Json, timeout_s: float) -> None:
        pace = Pace("realtime", CHUNK_MS)
        VendorParty.__init__(self, account.name, Uplink(RATE_HZ), RATE_HZ, False, timeout_s, pace)
        AccountParty.__init__(self, account, model, asked)
        self._times = Times(self)
        self._calls = Delegated()
        self._counted_s = 0.0
        self._is_over = False

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        (own,) = super().services()
        backend = self._backend
        return [own, own._replace(takes="words", model=backend if own.vendor else "")] if backend else [own]

    @property
    def _backend(self) -> str:
        """The model that calls the tools; "" if there is none."""
        return str((self.asked.get("delegation") or {}).get("responses", {}).get("model", ""))

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """See `Endpoint.take_tools`. The voice itself cannot call any."""
        if tools and not self._backend:
            raise SettingsError(f"{self.name}: expected responses_model=NAME, the model that calls the tools, got none")
        super().take_tools(tools)

    def measured(self) -> Mapping[str, Any]:
        """See `VendorParty.measured`; with the vendor's own clock, where it is had."""
        clock = self._times.clock.measured()
        return {**super().measured(), **({PROVIDER_CLOCK: clock} if clock else {})}

    # The connection

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        return self.account.websocket("/live/sessions"), key_header(self.account)

    async def begin(self, session: Session) -> None:
        """Ask for the session, and wait until it has started."""
        asked = with_tools(self.asked, self.tools)
        await session.send({"type": "session.start", "session": asked})
        while (event := await session.receive()).get("type") != "session.started":
            self.log_event(str(event.get("type")), event)
            if event.get("type") == "error":
                raise self._named_by(event.get("error"))
        self.confirmed = dict(event.get("session") or {})
        self.differences = differences(asked, self.confirmed)

    async def _connect(self, ready: Callable[[], None]) -> None:
        """Hold the session, and beside it the connection that tells the vendor's times."""
        watching: list[asyncio.Task[None]] = []

        def ready_to_watch() -> None:
            watching.append(asyncio.create_task(self._watch()))
            ready()

        try:
            await super()._connect(ready_to_watch)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

    async def _watch(self) -> None:
        """Take the vendor's times. Without them the call goes on."""
        import aiohttp

        async def greet(ws: aiohttp.ClientWebSocketResponse) -> None:
            return

        path = f"/live/sessions/{quote(str(self.confirmed.get('id')), safe='')}/attach"
        line = WebSocketLine(self.stream, parting=self._go_on_alone)
        url, headers = self.account.websocket(path), key_header(self.account)
        try:
            await line.hold(url, greet, lambda: None, self._take_times, headers, most_message_bytes=MOST_MESSAGE_BYTES)
        except (aiohttp.ClientError, OSError) as error:
            await self._go_on_alone(Ending(str(failure(error, "the sideband"))))

    async def _go_on_alone(self, ended: Ending) -> None:
        if not self._is_over and self.stream.left is None:
            self.note("event", name="no sideband", data={"why": self.account.redacted(ended.text)})

    def _take_times(self, message: Message) -> None:
        event = json_object(message)
        if event is not None and event.get("type") == _AUDIO:
            self._times.take_chunk(event)

    def farewell(self) -> str:
        """See `VendorParty.farewell`."""
        return "" if self._is_over or not self.confirmed else json.dumps({"type": "session.close"})

    def start(self, origin_ns: int | None) -> None:
        """See `VendorParty.start`."""
        super().start(origin_ns)
        self._times.origin_ns = origin_ns

    # Messages in and out

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        return f'{{"type":"session.input_audio.append","audio":"{base64.b64encode(packet).decode("ascii")}"}}'

    def take(self, event: Json) -> None:
        """Handle one event of the server."""
        name = str(event.get("type", ""))
        if name != _AUDIO:
            self.log_event(name, {field: value for field, value in event.items() if field != "type"})
        match name:
            case "session.output_audio.delta":
                self._hear(event.get("delta"))
            case "session.input_transcript.delta" | "session.output_transcript.delta":
                self._transcribe("partner" if "input" in name else "self", event)
            case "response.event":
                self._take_of_backend(event.get("event"))
            case "session.usage.updated":
                self._count(event.get("usage"))
            case "session.closed":
                self._count(event.get("usage"))
                self._close(str(event.get("reason")))
            case "error":
                error = self._named_by(event.get("error"))
                if error.cause.ends:
                    self.end(str(error), error.transient)

    def result(self, result: ToolResult) -> Sequence[Json]:
        """The output of a call; once all calls are answered, the model is asked to go on."""
        return self._calls.answer(result)

    def _hear(self, audio: object) -> None:
        if (pcm := self.decoded(audio)) is not None:
            self.items.push(_ONE, pcm)
            self._times.take_audio(len(pcm))

    def _transcribe(self, of: str, event: Json) -> None:
        times = {}
        start_ms, end_ms = event.get("start_ms"), event.get("end_ms")
        if isinstance(start_ms, int | float) and isinstance(end_ms, int | float):
            where = self._times.heard_ms if of == "partner" else self._times.said_ms
            times = {"start_ms": round(where(start_ms)), "end_ms": round(where(end_ms))}
        self.note(TRANSCRIPT, of=of, text=str(event.get("delta") or ""), **times)

    def _take_of_backend(self, event: object) -> None:
        """Take an event of the model that calls the tools."""
        if not isinstance(event, dict):
            return
        response = event.get("response")
        if isinstance(response, dict):
            usage, due = response.get("usage"), event.get("type") == "response.created"
            if due or isinstance(usage, dict):
                self.log_usage(self.usage(openai_counts(usage or {}), due, self._backend))
        for call in self._calls.take(event):
            self.call(call)
        self.send(*self._calls.continuation())

    def _count(self, usage: object) -> None:
        """Log the seconds since the last report; the vendor states their sum."""
        seconds = usage.get("seconds") if isinstance(usage, dict) else None
        if isinstance(seconds, int | float) and seconds > self._counted_s:
            self.log_usage(self.usage({"seconds": seconds - self._counted_s}))
            self._counted_s = seconds

    def _close(self, reason: str) -> None:
        self._is_over = True
        if reason in _ENDINGS:
            error = VendorError(self.account, _ENDINGS[reason], reason)
            self.end(str(error), error.transient)
        else:
            self.end("finished" if reason == "remote_hangup" else f"closed by the server: {reason}")

    def _named_by(self, error: object) -> VendorError:
        """The error behind the server's, by its code or, as codes have changed, by its type."""
        told = error if isinstance(error, dict) else {}
        by_code = named_error(self.account, told.get("code"), told.get("message"))
        by_type = named_error(self.account, told.get("type"), told.get("message"))
        return by_type if by_code.cause is SETTING and by_type.cause is not SETTING else by_code

    def log(self) -> Sequence[Happening]:
        """See `VendorParty.log`; with the vendor's own clock, once a second."""
        happened = list(super().log())
        self._times.note_place(self.stream.tick)
        over = (self.stream.tick + 1) % TICKS_PER_S == 0 or self.stream.left is not None
        if over and (second := self._times.clock.second()) is not None:
            happened.append(Happening(self.stream.tick, PROVIDER_CLOCK, second))
        return happened


class Times:
    """Times of the session's server, on our clock.

    The server counts from the beginning of its session, and says audio as it is due. So its ms `end` is over when the
    chunk that ends there comes; the fastest way here counts. Without the sideband, gaps in what it sends are not known.
    """

    def __init__(self, party: OpenAILive) -> None:
        self.origin_ns: int | None = None
        self.clock = ProviderClock()
        self._party = party
        self._transit = MinimumTransit()
        self._received_samples = 0
        self._offset_samples = 0

    @property
    def _received_ms(self) -> float:
        return self._received_samples * 1000 / RATE_HZ

    @property
    def _now_ms(self) -> float | None:
        return None if self.origin_ns is None else (now_ns() - self.origin_ns) / 1e6

    def take_audio(self, samples: int) -> None:
        """Audio has come, so many samples at RATE_HZ."""
        self._received_samples += samples
        if (now_ms := self._now_ms) is not None:
            transit_ms = now_ms - self._received_ms - self.clock.lost_ms
            self._transit.observe(int(now_ms * SAMPLES_PER_MS), int(transit_ms * SAMPLES_PER_MS))

    def take_chunk(self, event: Json) -> None:
        """The sideband tells of a chunk."""
        start_ms, end_ms = event.get("start_ms"), event.get("end_ms")
        if isinstance(start_ms, int | float) and isinstance(end_ms, int | float):
            self.clock.take(start_ms, end_ms, self._now_ms, self._received_ms)

    def note_place(self, tick: int) -> None:
        """On the thread of the ticks, once the frame of `tick` was said."""
        self._offset_samples = (tick + 1) * FRAME_SAMPLES - self._party.stream.played_samples

    def heard_ms(self, theirs_ms: float) -> float:
        """The time of the session at which the partner said what the server heard at its `theirs_ms`."""
        now_ms = self._now_ms or 0.0
        zero_ms = self._transit.at(int(now_ms * SAMPLES_PER_MS)) / SAMPLES_PER_MS
        return theirs_ms + zero_ms - self._party.uplink.delay_samples / SAMPLES_PER_MS

    def said_ms(self, theirs_ms: float) -> float:
        """The time of the session at which is heard what the server said at its `theirs_ms`."""
        stream = self._party.stream
        place = (theirs_ms - self.clock.lost_ms) * SAMPLES_PER_MS + self._party.items.lead_samples
        return (place - stream.early_samples + self._offset_samples) / SAMPLES_PER_MS
