"""A cascaded system: a transcriber, a language model and a speaker, each of the user's choice, answer turn by turn.

    cascaded:local                        on this machine, without keys
    cascaded:fdb3                         the published baseline of Full-Duplex-Bench v3
    cascaded:FILE.toml?pause_ms=500       of your own

When the partner has been silent for `pause_ms`, what it said is transcribed and the model is asked. Each sentence of
the answer is spoken while the next one comes. If the partner speaks for `interrupt_ms`, the answer ends; the
conversation keeps what was heard of it, and what its tools have answered. If there is none of that yet, the partner's
turn goes on, and is heard as a whole.

The voice activity is that of the loop. On a clock that never waits, an answer is there in the tick in which it is asked
for, so compute time is not counted.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from fdbcore import registry
from fdbcore._ext.resample import Resampler
from fdbcore.audio.wav import wav_bytes
from fdbcore.endpoints.cascaded.answer import ASR_RATE_HZ, Parts, SpokenAnswer
from fdbcore.endpoints.cascaded.saying import Saying
from fdbcore.endpoints.cascaded.settings import SETTINGS, CascadeSettings, read_settings
from fdbcore.errors import InputError, PartyError, RefusalError, SettingsError
from fdbcore.models.vendor import VendorModel
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.runtime.address import parsed, query_of, split_query
from fdbcore.types import (
    SAMPLE_RATE_HZ,
    SILENT_FRAME,
    TICK_MS,
    Happening,
    Pcm,
    Side,
    TurnEvent,
    other_side,
)
from fdbcore.types.chat import ChatMessage
from fdbcore.types.system_events import INTERRUPTED, ITEM, STAGE
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import Service

LEAD_TICKS: Final = 30
"""Audio from before the partner's first sound that the transcriber hears, too."""
KEPT_TICKS: Final = 200
"""Audio that is kept of what was heard outside of turns: a turn becomes known late."""
CLOSE_S: Final = 1.0


def cascaded(address: str) -> "Cascade":
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed(address, SETTINGS)
    given = {name: found.settings[name] for name in query_of(split_query(address)[1])}
    settings = read_settings(found.place, given)
    parts = Parts(
        registry.live_transcriber(settings.asr),
        registry.chat(settings.llm),
        registry.speaker(settings.tts),
        settings.language,
        settings.most_tokens,
    )
    for part in (parts.asr, parts.llm, parts.tts):
        if isinstance(part, VendorModel):
            part.key()  # report a missing key before any case is held
    return Cascade(settings, parts)


class Cascade(Endpoint):
    """See the module."""

    clocking: Clocking = "input"

    def __init__(self, settings: CascadeSettings, parts: Parts) -> None:
        self._settings = settings
        self._parts = parts
        self._origin_ns: int | None = None
        self._tools: Sequence[Tool] = ()
        system = [ChatMessage("system", settings.instructions)] if settings.instructions else []
        self._messages: list[ChatMessage] = system
        self._down = Resampler(SAMPLE_RATE_HZ, ASR_RATE_HZ)
        self._heard: deque[tuple[int, Pcm]] = deque()
        self._heard_ticks = 0
        self._turn_start_tick: int | None = None  # of the partner's turn that is not answered yet
        self._speaks_since: int | None = None
        self._silent_since: int | None = None
        self._saying: Saying | None = None  # the answer that is being made, or said
        self._answers = 0
        self._used_ids: set[str] = set()
        self._calls: list[ToolCall] = []
        self._happened: list[Happening] = []
        self._ended: list[Saying] = []

    def services(self) -> Sequence[Service]:
        """The servers of its parts."""
        heard = [service._replace(takes="audio") for service in self._parts.asr.services()]
        return [*heard, *self._parts.llm.services(), *self._parts.tts.services()]

    def probe(self) -> None:
        """Ask the servers of its parts, and load what runs here."""
        for part in (self._parts.asr, self._parts.llm, self._parts.tts):
            if isinstance(part, VendorModel):
                part.probe()
        self._warm_up()

    def open(self, side: Side) -> None:
        """Load the models that run here, so that the first answer does not wait for them. PartyError if one fails."""
        self._side = side
        for part in (self._parts.asr, self._parts.llm, self._parts.tts):
            if isinstance(part, VendorModel):
                part.prepare()
        self._warm_up()

    def _warm_up(self) -> None:
        parts = self._parts
        try:
            if not parts.asr.services():
                parts.asr.transcribe(wav_bytes(np.zeros(ASR_RATE_HZ // 2, np.int16), ASR_RATE_HZ), parts.language)
            if not parts.llm.services():
                parts.llm.probe()
            if not parts.tts.services():
                parts.tts.speak("warm-up", "Hello.")
        except InputError as error:
            raise PartyError(f"cascaded:{self._settings.name}: {error}") from None

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Offer these tools to the language model. SettingsError if it cannot call any."""
        if not self._parts.llm.calls_tools:
            raise SettingsError(f"{self._parts.llm.name} cannot call tools")
        self._tools = tools

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None for lockstep."""
        self._origin_ns = origin_ns
        for part in (self._parts.asr, self._parts.llm, self._parts.tts):
            if isinstance(part, VendorModel) and origin_ns is not None:
                part.attempts = 1  # retries would outlast the call, and hide that the server failed

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`, int16 (480,). In lockstep this waits for the answer."""
        if self._is_interrupted(tick):
            self._interrupt(tick)
        if self._turn_is_over(tick):
            self._begin_answer(tick)
        if self._saying is not None:
            self._happened += self._saying.step(tick)
            self._look_for_an_error(tick, self._saying)
        return None if self.left is not None else self._next_frame(tick)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Keep the frame, and before it silence for each missed tick."""
        for missed in range(self._heard_ticks, tick):
            self._heard.append((missed, self._down.process(SILENT_FRAME)))
        self._heard.append((tick, self._down.process(frame)))
        self._heard_ticks = tick + 1
        first_needed = tick - KEPT_TICKS
        if self._turn_start_tick is not None:
            first_needed = min(first_needed, self._turn_start_tick - LEAD_TICKS)
        while self._heard[0][0] < first_needed:
            self._heard.popleft()

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Note when the partner's speech begins and ends."""
        for event in events:
            if event.side != other_side(self._side):
                continue
            if event.kind == "speech_start":
                self._speaks_since, self._silent_since = event.start_tick, None
                if self._turn_start_tick is None:
                    self._turn_start_tick = event.start_tick
            elif event.kind == "speech_end":
                self._speaks_since, self._silent_since = None, event.end_tick

    def tool_calls(self) -> Sequence[ToolCall]:
        """Calls of tools by the language model since this was last asked."""
        found, self._calls = self._calls, []
        return [*found, *(self._saying.tool_calls() if self._saying is not None else ())]

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Give the language model the result of a call."""
        if self._saying is not None:
            self._saying.give(result)

    def log(self) -> Sequence[Happening]:
        """Stages of answers, transcripts, sentences that were heard, interruptions and usage."""
        happened, self._happened = self._happened, []
        late = (usage for saying in self._ended for usage in saying.late_usage(max(self._heard_ticks - 1, 0)))
        return [*happened, *late]

    def describe(self) -> Mapping[str, Any]:
        """Its settings, and each part with its versions, as JSON values."""
        asr = getattr(self._parts.asr, "describe", lambda: {"name": self._parts.asr.name})()
        parts = {"asr": dict(asr), "llm": dict(self._parts.llm.describe()), "tts": dict(self._parts.tts.describe())}
        return {"kind": "cascaded", **asdict(self._settings), "parts": parts}

    def close(self) -> None:
        """Leave. What still runs ends by its own time-out."""
        if self._saying is not None:
            self._end_answer(self._saying)
        for saying in self._ended:
            saying.join(CLOSE_S)

    # Turns

    def _is_interrupted(self, tick: int) -> bool:
        speaks_since, interrupt_ticks = self._speaks_since, self._settings.interrupt_ms // TICK_MS
        return self._saying is not None and speaks_since is not None and tick - speaks_since >= interrupt_ticks

    def _interrupt(self, tick: int) -> None:
        """End the answer. If nothing has come of it, the partner's turn goes on as if it had not ended."""
        assert self._saying is not None
        saying = self._saying
        if saying.heard_ms:
            self._note(tick, INTERRUPTED, item=saying.name, said_ms=saying.said_ms, heard_ms=saying.heard_ms)
        if saying.heard_ms or saying.has_results:
            self._keep(saying)
        self._end_answer(saying)

    def _turn_is_over(self, tick: int) -> bool:
        silent_since = self._silent_since
        if silent_since is None or tick < silent_since + self._settings.pause_ms // TICK_MS:
            return False
        self._silent_since = None
        return self._turn_start_tick is not None and self._saying is None

    def _begin_answer(self, tick: int) -> None:
        assert self._turn_start_tick is not None
        first = self._turn_start_tick - LEAD_TICKS
        heard = [pcm for heard_tick, pcm in self._heard if heard_tick >= first]
        self._answers += 1
        self._note(tick, STAGE, name="speech final")
        answer = SpokenAnswer(self._parts, list(self._messages), heard, self._tools, self._used_ids)
        self._saying = Saying(answer, f"answer {self._answers}", self._origin_ns, self._settings.answer_timeout_s)

    def _keep(self, saying: Saying) -> None:
        """Make what was heard of an answer part of the conversation; what the partner says now is a new turn."""
        self._messages = saying.messages()
        self._turn_start_tick = self._speaks_since

    def _end_answer(self, saying: Saying) -> None:
        self._calls += saying.end()
        self._ended = [*self._ended[-3:], saying]
        self._saying = None

    def _look_for_an_error(self, tick: int, saying: Saying) -> None:
        """A model that declines one answer stays silent; if a part is not available, the call is over."""
        error = saying.error
        if isinstance(error, RefusalError):
            saying.error = None
            self._note(tick, "event", name="refused", data={"reason": str(error)})
        elif error is not None:
            self.left = " ".join(str(error).split())
            self.transient = isinstance(error, PartyError) and error.transient

    def _next_frame(self, tick: int) -> Pcm:
        saying = self._saying
        frame = None if saying is None else saying.next_frame()
        if saying is not None and frame is None and saying.is_made:
            if saying.said_ms:
                self._note(tick, ITEM, item=saying.name, said_samples=saying.said_ms * SAMPLE_RATE_HZ // 1000)
            self._keep(saying)
            self._end_answer(saying)
        return SILENT_FRAME if frame is None else frame

    def _note(self, tick: int, kind: str, **fields: object) -> None:
        self._happened.append(Happening(tick, kind, fields))
