"""Speech models behind the Gemini Live API, over a WebSocket.

    gemini-live:gemini-3.8-live?voice_name=Kore&silence_duration_ms=500&instructions=@FILE

The server hears 16 kHz, says 24 kHz in bursts, and finds the partner's turns by itself. Its audio has no names: the
audio of its first turn is the item `turn_1`. `interrupted` cuts short what was not yet heard. The server cannot be told
how much was heard; the recording says it.

Order: audio, `generationComplete` (the item ends), `turnComplete`. An interrupted turn has no `generationComplete`.
`interrupted` may come after `turnComplete`, while the audio is still being played.
"""

import asyncio
import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from fdbcore.clock import now_ns
from fdbcore.endpoints.vendors.account_party import AccountParty, account_of, key_header, parsed_with_account
from fdbcore.endpoints.vendors.errors import (
    BUSY,
    GOING,
    KEY,
    LIMIT,
    MODEL,
    MODERATION,
    QUOTA,
    REGION,
    SERVER,
    SETTING,
    Cause,
    VendorError,
    named_error,
)
from fdbcore.endpoints.vendors.gemini_session import SETTINGS, Behavior, behavior_of, declared, directed, setup_of
from fdbcore.endpoints.vendors.party import OPEN_TIMEOUT_S, Session, VendorParty
from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.endpoints.websocket_line import Ending, Message
from fdbcore.errors import PartyError
from fdbcore.models.account import Account
from fdbcore.models.counts import gemini_counts
from fdbcore.models.gemini import GEMINI
from fdbcore.recording.files import REFUSAL
from fdbcore.types.system_events import GOING_AWAY, RESUMED, SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.tools import ToolCall, ToolResult

HEARS_HZ: Final = 16_000
SAYS_HZ: Final = 24_000
VENDOR: Final = replace(GEMINI, name="gemini-live", billed_as=GEMINI.name)

CONTEXT: Final = Cause(
    "context", "the context is full, or a message was not taken: use a smaller --max-s, or context_window_compression"
)
HANDLE: Final = Cause("resumption", "the server no longer knows the session: leave out resumption")

_BY_TEXT: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), cause)
    for pattern, cause in (
        (r"API key|unregistered callers|authentication", KEY),
        (r"is not found for API version|not supported for bidiGenerateContent", MODEL),
        (r"quota|billing", QUOTA),
        (r"location is not supported", REGION),
        (r"deadline expired", LIMIT),
        (r"session not found", HANDLE),
        (r"currently unavailable|overloaded", BUSY),
    )
)
_BY_CODE: Final = {1001: GOING, 1007: SETTING, 1008: SETTING, 1011: SERVER, 1012: GOING, 1013: BUSY}
"""Causes by the code of a close, if its text is not known. 1007 means CONTEXT once the session has begun."""

_MODERATED: Final = re.compile(r"REJECTED|PROHIBITED|SAFETY|BLOCKLIST|UNSAFE")
"""Reasons for which a turn is over because of its content; the session goes on."""

LATE_S: Final = 0.5
"""Audio of an interrupted turn that still comes so long after `interrupted` belongs to another one."""

_RESUMABLE: Final = (LIMIT, GOING, SERVER)


def gemini_live(address: str, timeout_s: float = OPEN_TIMEOUT_S) -> "GeminiLive":
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed_with_account(address, SETTINGS)
    account, given = account_of(VENDOR, found)
    return GeminiLive(account, found.place, given, timeout_s)


class GeminiLive(AccountParty, VendorParty):
    """One session. settings: those of SETTINGS that were given, by name. See `gemini_live` for the errors."""

    kind: ClassVar[str] = "gemini-live"

    def __init__(self, account: Account, model: str, settings: Mapping[str, Any], timeout_s: float) -> None:
        VendorParty.__init__(self, account.name, Uplink(HEARS_HZ), SAYS_HZ, timeout_s=timeout_s)
        AccountParty.__init__(self, account, model, setup_of(model, settings))
        self._behavior: Behavior = behavior_of(model, settings.get("tool_behavior"))
        self._resumes: bool = settings["resumption"]
        self._api_version = str(settings["api_version"])
        self._has_begun = self._goes_away = False
        self._turn = 1
        self._is_in_turn = False  # something of the turn has come
        self._words: dict[str, list[str]] = {"partner": [], "self": []}
        self._n_heard = 0  # transcripts of the partner
        self._calls: dict[str, str] = {}  # the names of calls by their ids
        self._handle: tuple[str, int] | None = None  # to resume with, and when it came
        self._lost_ns = 0
        self._before_ms = 0.0  # audio sent over earlier connections, or dropped between them
        self._dropped = 0  # packets, as far as they were told
        self._cut_until_ns: int | None = None  # until then, audio may still belong to the turn that was interrupted

    def of_session(self) -> Json:
        """See `VendorParty.of_session`; with the set-up that was asked for. The server confirms none of it."""
        tools = {"tool_behavior": self._behavior} if self.tools else {}
        server = {"server": self.account.server, "api_version": self._api_version}
        return {**server, "asked": self.asked, "resumption": self._resumes, **tools}

    def take_part(self, instructions: str) -> None:
        """See `Endpoint.take_part`."""
        self.asked = directed(self.asked, instructions)

    # The connection

    async def where(self) -> tuple[str, Mapping[str, str]]:
        """See `VendorParty.where`."""
        path = f"/ws/google.ai.generativelanguage.{self._api_version}.GenerativeService.BidiGenerateContent"
        return self.account.websocket(path), key_header(self.account, "x-goog-api-key", "{}")

    async def begin(self, session: Session) -> None:
        """Set up the session, and wait until the server has."""
        tools = {"tools": declared(self.tools, self.model, self._behavior)} if self.tools else {}
        handle = {"handle": self._handle[0]} if self._handle else {}
        resumption = {"sessionResumption": handle} if self._resumes else {}
        await session.send({"setup": {**self.asked, **tools, **resumption}})
        while "setupComplete" not in (event := await session.receive()):
            self.log_event("/".join(event), event)
        self.confirmed = dict(event["setupComplete"] or {})
        if self._has_begun:
            self._note_resumed()
        self._has_begun = True

    def named(self, code: int | None, said: str) -> PartyError | None:
        """See `VendorParty.named`."""
        cause = next((cause for pattern, cause in _BY_TEXT if pattern.search(said)), None)
        if cause is None and code is not None and code < 1000:
            return named_error(self.account, code, said)
        if cause is None:
            cause = LIMIT if self._goes_away else None if code is None else _BY_CODE.get(code)
        if cause is None:
            return None
        if cause is SETTING and code == 1007 and self._has_begun:
            cause = CONTEXT
        return VendorError(self.account, cause, f"{code or ''} {said}")

    async def parting(self, ended: Ending) -> str | None:
        """See `VendorParty.parting`. A session that was cut goes on only if `resumption` is asked for."""
        error = self.named(ended.code, ended.reason)
        is_cut = error is None or (isinstance(error, VendorError) and error.cause in _RESUMABLE)
        if not (is_cut and self._resumes and self._handle):
            return await super().parting(ended)
        self._lost_ns = now_ns()
        self._end_turn()
        self._goes_away = False
        return None

    async def _hold(self, ready: Callable[[], None]) -> None:
        await super()._hold(ready)
        while self.stream.left is None:
            try:
                async with asyncio.timeout(self.timeout_s) as limit:
                    await super()._hold(partial(limit.reschedule, None))
            except TimeoutError:
                self.end(str(self._too_late("no resumption of the session")), transient=True, since_ns=self._lost_ns)
            except Exception as error:
                failed = self._failure(error)
                self.end(str(failed), failed.transient, self._lost_ns)

    def _note_resumed(self) -> None:
        assert self._handle is not None
        self._before_ms = float(self._line.passed_audio * self.uplink.packet_ms)
        dropped, self._dropped = self._line.dropped_audio - self._dropped, self._line.dropped_audio
        self.note(
            RESUMED,
            gap_ms=_ms_since(self._lost_ns),
            dropped_ms=dropped * self.uplink.packet_ms,
            state_ms=_ms_since(self._handle[1]),
            claimed_ms=self._before_ms,
            at_ms=round(self.uplink.session_ms(self._before_ms), 1),
        )
        self._handle = None  # a server that cuts each connection at once must not be asked for ever

    # Messages in and out

    def audio(self, packet: bytes) -> Message:
        """See `VendorParty.audio`."""
        data = base64.b64encode(packet).decode("ascii")
        return f'{{"realtimeInput":{{"audio":{{"mimeType":"audio/pcm;rate={HEARS_HZ}","data":"{data}"}}}}}}'

    def request(self, text: str) -> Sequence[Json]:
        """See `VendorParty.request`."""
        return [{"realtimeInput": {"text": text}}]

    def result(self, result: ToolResult) -> Sequence[Json]:
        """See `VendorParty.result`."""
        response = {"output" if result.status == "ok" else "error": result.value}
        answer = {"id": result.id, "name": result.name, "response": response}
        return [{"toolResponse": {"functionResponses": [answer]}}]

    def take(self, event: Json) -> None:
        """Handle one message of the server, which may say several things."""
        self._log(event)
        if isinstance(content := event.get("serverContent"), dict):
            self._take_content(content)
        for call in _objects(event.get("toolCall"), "functionCalls"):
            self._begin_turn()
            number, name = str(call.get("id")), str(call.get("name"))
            self._calls[number] = name
            self.call(ToolCall("complete", number, name, call.get("args") or {}))
        if isinstance(cancelled := event.get("toolCallCancellation"), dict):
            for number in cancelled.get("ids") or ():
                self.call(ToolCall("cancelled", str(number), self._calls.get(str(number), "")))
        if isinstance(usage := event.get("usageMetadata"), dict):
            self.log_usage(self.usage(gemini_counts(usage, other="audio")))
        if isinstance(activity := event.get("voiceActivity"), dict):
            self._note_activity(activity)
        if isinstance(going := event.get("goAway"), dict):
            self._goes_away = True
            self.note(GOING_AWAY, time_left_s=_seconds(going.get("timeLeft")))
        if isinstance(update := event.get("sessionResumptionUpdate"), dict) and update.get("newHandle"):
            self._handle = (str(update["newHandle"]), now_ns())

    def _log(self, event: Json) -> None:
        """Log a message without its audio, and without the handle, with which another could go on."""
        content = event.get("serverContent")
        shown = {name: value for name, value in event.items() if name not in ("serverContent", "usageMetadata")}
        if isinstance(shown.get("sessionResumptionUpdate"), dict):
            shown["sessionResumptionUpdate"] = {"resumable": shown["sessionResumptionUpdate"].get("resumable", False)}
        if isinstance(content, dict):
            texts = [part for part in _objects(content.get("modelTurn"), "parts") if "inlineData" not in part]
            told = {name: value for name, value in content.items() if name != "modelTurn"}
            told |= {"modelTurn": {"parts": texts}} if texts else {}
            shown |= {"serverContent": told} if told else {}
        if shown:
            self.log_event("/".join(shown), shown)

    def _take_content(self, content: Json) -> None:
        if content.get("interrupted"):
            self.fall_silent()
        for part in _objects(content.get("modelTurn"), "parts"):
            self._begin_turn()
            if isinstance(blob := part.get("inlineData"), dict) and (pcm := self.decoded(blob.get("data"))) is not None:
                self.items.push(self._item, pcm)
        for of, name in (("partner", "inputTranscription"), ("self", "outputTranscription")):
            if isinstance(told := content.get(name), dict):
                self._transcribe(of, told)
        if content.get("generationComplete"):
            self.items.end(self._item)
        if _MODERATED.search(reason := str(content.get("turnCompleteReason", ""))):
            self.note(REFUSAL, reason=str(VendorError(self.account, MODERATION, reason)))
        if content.get("turnComplete"):
            self._end_turn()

    @property
    def _item(self) -> str:
        return f"turn_{self._turn}"

    def _begin_turn(self) -> None:
        if self._cut_until_ns is not None and now_ns() >= self._cut_until_ns:
            self.note("event", name="no turnComplete", data={"item": self._item})
            self._end_turn()
        if not self._is_in_turn:
            self._is_in_turn = True
            self.log_usage(self.usage({}, due=True))

    def _end_turn(self) -> None:
        self.items.end(self._item)
        self._tell("partner")
        self._tell("self")
        self._turn += 1
        self._is_in_turn = False
        self._cut_until_ns = None

    def fall_silent(self) -> None:
        """Drop what was not yet heard, and all that still comes of the turn that goes on. The server is not told.

        Its end is told by `turnComplete`. Where that does not come, the next turn begins with what comes after the
        partner has stopped speaking, or LATE_S later.
        """
        self.cut_short()
        if self._is_in_turn:
            self.items.drop(self._item)
            self._cut_until_ns = now_ns() + round(LATE_S * 1e9)

    def _transcribe(self, of: str, told: Json) -> None:
        if of == "self" and self._cut_until_ns is not None:
            self._begin_turn()
        self._words[of].append(str(told.get("text") or ""))
        if told.get("finished"):
            self._tell(of)

    def _tell(self, of: str) -> None:
        """The words of an utterance are complete."""
        text = "".join(self._words[of]).strip()
        self._words[of] = []
        if not text:
            return
        if of == "partner":
            self._n_heard += 1
            item = f"input_{self._n_heard}"
        else:
            item = self._item if self._is_in_turn else f"turn_{max(1, self._turn - 1)}"  # words may come late
        self.note(TRANSCRIPT, of=of, text=text, item=item)

    def _note_activity(self, activity: Json) -> None:
        """The server's detector decided on the partner's speech."""
        kinds = {"ACTIVITY_START": "speech_started", "ACTIVITY_END": "speech_stopped"}
        name = kinds.get(str(activity.get("type") or activity.get("voiceActivityType")))
        if name is None:
            return
        if name == "speech_stopped" and self._cut_until_ns is not None:
            self._cut_until_ns = now_ns()
        times = {}
        if (offset_s := _seconds(activity.get("audioOffset"))) is not None:
            claimed_ms = self._before_ms + 1000 * offset_s
            times = {"claimed_ms": round(claimed_ms, 1), "at_ms": round(self.uplink.session_ms(claimed_ms), 1)}
        self.note(SYSTEM_TURN, name=name, **times)


def _objects(value: object, name: str) -> list[Json]:
    """The objects in the list `name` of an object; none if it is something else."""
    found = value.get(name) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _seconds(duration: object) -> float | None:
    """A duration as protobuf writes it ("1.5s"), in s; None if it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(duration))
    return float(found[1]) if found else None


def _ms_since(at_ns: int) -> int:
    return (now_ns() - at_ns) // 1_000_000
