"""A cascaded system: a recogniser, a language model and a speaker, each of the user's choice, answer turn by turn.

    cascaded:local                        on this machine, without keys
    cascaded:fdb3                         the published baseline of Full-Duplex-Bench v3
    cascaded:FILE.toml?pause_ms=500       of your own

When the partner has been silent for `pause_ms`, what it said is transcribed and the model is asked. Each sentence of
the answer is spoken while the next one comes. If the partner speaks for `interrupt_ms`, the answer ends; the
conversation keeps what was heard of it. If nothing was heard yet, the partner's turn goes on, and is heard as a whole.

The voice activity is that of the loop. On a clock that never waits, an answer is there in the tick in which it is asked
for, so compute time is not counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from queue import Empty
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore import registry
from fdbcore._ext.resample import Resampler
from fdbcore.endpoints.cascaded.answer import (
    ASR_RATE_HZ,
    AnswerStage,
    Heard,
    Over,
    Parts,
    Piece,
    Spoken,
    SpokenAnswer,
    Waits,
)
from fdbcore.endpoints.cascaded.settings import SETTINGS, CascadeSettings, read_settings
from fdbcore.errors import FdbError, PartyError, RefusalError
from fdbcore.models.vendor import VendorModel
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.runtime.address import parsed
from fdbcore.types import (
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    SILENT_FRAME,
    TICK_MS,
    TICK_NS,
    Happening,
    Pcm,
    Side,
    TurnEvent,
    other_side,
)
from fdbcore.types.chat import ChatMessage
from fdbcore.types.system_events import INTERRUPTED, ITEM, STAGE, TRANSCRIPT
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service

LEAD_TICKS: Final = 30
"""How much before the partner's first sound the recogniser hears."""
KEPT_TICKS: Final = 200
"""How much of what was heard is kept outside of turns: a turn becomes known late."""
CLOSE_S: Final = 1.0


def cascaded(address: str) -> Cascade:
    """The party at an address of the module. SettingsError for a wrong setting, or a file or key that is missing."""
    found = parsed(address, SETTINGS)
    given = {name: value for name, value in found.settings.items() if f"{name}=" in address.partition("?")[2]}
    settings = read_settings(found.place, given)
    parts = Parts(
        registry.transcriber(settings.asr),
        registry.chat(settings.llm),
        registry.speaker(settings.tts),
        settings.language,
        settings.most_tokens,
    )
    for part in (parts.asr, parts.llm, parts.tts):
        if isinstance(part, VendorModel):
            part.key()  # report a missing key before any case is held
    return Cascade(settings, parts)


@dataclass(eq=False)
class _Sentence:
    """A sentence of the answer, in frames; heard: how many were said."""

    text: str
    frames: npt.NDArray[np.int16]
    heard: int = 0

    @property
    def heard_text(self) -> str:
        """The words that were heard, by the share of the frames."""
        words = self.text.split()
        return " ".join(words[: round(len(words) * self.heard / len(self.frames))])


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
        self._answer: SpokenAnswer | None = None  # that is being made, or said
        self._is_made = False
        self._sentences: list[_Sentence] = []
        self._calls: deque[ToolCall] = deque()
        self._unanswered: set[str] = set()  # calls of the answer that have no result yet
        self._waits = False  # the answer does, for these results
        self._happened: list[Happening] = []
        self._ended: list[SpokenAnswer] = []

    def services(self) -> Sequence[Service]:
        """The servers of its parts."""
        heard = [service._replace(takes="audio") for service in self._parts.asr.services()]
        return [*heard, *self._parts.llm.services(), *self._parts.tts.services()]

    def probe(self) -> None:
        """Ask the language model's server, and load what runs here."""
        self._parts.llm.probe()
        self._warm_up()

    def open(self, side: Side) -> None:
        """Load the models that run here, so that the first answer does not wait for them."""
        self._side = side
        for part in (self._parts.asr, self._parts.llm, self._parts.tts):
            if isinstance(part, VendorModel):
                part.prepare()
        self._warm_up()

    def _warm_up(self) -> None:
        parts = self._parts
        if not parts.asr.services():
            parts.asr.transcribe(_silence_wav(), parts.language)
        if not parts.llm.services():
            parts.llm.probe()
        if not parts.tts.services():
            parts.tts.speak("warm-up", "Hello.")

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Offer these tools to the language model."""
        self._tools = tools

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None for lockstep."""
        self._origin_ns = origin_ns

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`, int16 (480,). In lockstep this waits for the answer."""
        if self._is_interrupted(tick):
            self._interrupt(tick)
        if self._turn_is_over(tick):
            self._begin_answer(tick)
        self._take_pieces(tick)
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
        """What the language model did with calls of tools."""
        return [self._calls.popleft() for _ in range(len(self._calls))]

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Give the language model the result of a call."""
        if self._answer is not None and result.id in self._unanswered:
            self._unanswered.remove(result.id)
            self._waits &= bool(self._unanswered)
            self._answer.give(result)

    def log(self) -> Sequence[Happening]:
        """Stages of answers, transcripts, sentences that were heard, interruptions and usage."""
        happened, self._happened = self._happened, []
        return happened

    def describe(self) -> Mapping[str, Any]:
        """Its settings, and each part with its versions, as JSON values."""
        asr = getattr(self._parts.asr, "describe", lambda: {"name": self._parts.asr.name})()
        parts = {"asr": dict(asr), "llm": dict(self._parts.llm.describe()), "tts": dict(self._parts.tts.describe())}
        return {"kind": "cascaded", **asdict(self._settings), "parts": parts}

    def close(self) -> None:
        """Leave. What still runs ends by its own time-out."""
        if self._answer is not None:
            self._end_answer()
        for answer in self._ended:
            answer.join(CLOSE_S)

    # Turns

    def _is_interrupted(self, tick: int) -> bool:
        is_at_work = self._answer is not None
        speaks_since, interrupt_ticks = self._speaks_since, self._settings.interrupt_ms // TICK_MS
        return is_at_work and speaks_since is not None and tick - speaks_since >= interrupt_ticks

    def _interrupt(self, tick: int) -> None:
        """End the answer. If nothing of it was heard, the partner's turn goes on as if it had not ended."""
        assert self._answer is not None
        heard_ticks = sum(sentence.heard for sentence in self._sentences)
        if heard_ticks:
            said_ticks = sum(len(sentence.frames) for sentence in self._sentences)
            fields = {"said_ms": said_ticks * TICK_MS, "heard_ms": heard_ticks * TICK_MS}
            self._note(tick, INTERRUPTED, item=self._item(), **fields)
            self._keep_what_was_heard()
        self._end_answer()

    def _turn_is_over(self, tick: int) -> bool:
        silent_since = self._silent_since
        if silent_since is None or tick < silent_since + self._settings.pause_ms // TICK_MS:
            return False
        self._silent_since = None
        return self._turn_start_tick is not None and self._answer is None

    def _begin_answer(self, tick: int) -> None:
        assert self._turn_start_tick is not None
        first = self._turn_start_tick - LEAD_TICKS
        heard = np.concatenate([pcm for heard_tick, pcm in self._heard if heard_tick >= first])
        self._answer = SpokenAnswer(self._parts, list(self._messages), heard, self._tools)
        self._is_made, self._waits, self._sentences = False, False, []
        self._unanswered.clear()
        self._note(tick, STAGE, name="speech final")
        self._answer.start()

    def _end_answer(self) -> None:
        assert self._answer is not None
        self._answer.cancel()
        self._calls.extend(ToolCall("cancelled", number) for number in sorted(self._unanswered))
        self._unanswered.clear()
        self._ended = [*self._ended[-3:], self._answer]
        self._answer, self._sentences = None, []

    def _keep_what_was_heard(self) -> None:
        assert self._answer is not None
        self._messages = list(self._answer.messages)
        if said := " ".join(filter(None, (sentence.heard_text for sentence in self._sentences))):
            self._messages.append(ChatMessage("assistant", said))
        self._turn_start_tick = self._speaks_since

    # The answer

    def _take_pieces(self, tick: int) -> None:
        """Take what has come of the answer; in lockstep wait until it is made, or itself waits for results."""
        while self._answer is not None and not self._is_made:
            waits_for_it = self._origin_ns is None and not self._waits
            try:
                at_ns, piece = self._answer.pieces.get(block=waits_for_it)
            except Empty:
                return
            at_tick = tick if self._origin_ns is None else max(0, at_ns - self._origin_ns) // TICK_NS
            self._take(min(tick, at_tick), piece)

    def _take(self, tick: int, piece: Piece) -> None:
        match piece:
            case AnswerStage(name):
                self._note(tick, STAGE, name=name)
            case Heard(text):
                self._note(tick, TRANSCRIPT, of="partner", text=text, item=self._item())
            case Spoken(text, pcm):
                padded = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES))
                self._sentences.append(_Sentence(text, padded.reshape(-1, FRAME_SAMPLES)))
                self._note(tick, TRANSCRIPT, of="self", text=text, item=self._item())
            case ToolCall():
                self._calls.append(piece)
                self._unanswered.add(piece.id)
            case Waits():
                self._waits = True
            case ModelUsage():
                self._happened.append(piece.happening(tick))
            case Over(error):
                self._is_made = True
                if error is not None:
                    self._fail(error)

    def _fail(self, error: FdbError) -> None:
        """A model declined this one answer, or is not available: then the call is over."""
        if isinstance(error, RefusalError):
            self._note(self._heard_ticks, "event", name="refused", data={"reason": str(error)})
            return
        self.left, self.transient = " ".join(str(error).split()), isinstance(error, PartyError) and error.transient

    def _next_frame(self, tick: int) -> Pcm:
        for sentence in self._sentences:
            if sentence.heard < len(sentence.frames):
                frame: Pcm = sentence.frames[sentence.heard]
                sentence.heard += 1
                return frame
        if self._answer is not None and self._is_made:
            said_samples = sum(sentence.frames.size for sentence in self._sentences)
            self._note(tick, ITEM, item=self._item(), said_samples=said_samples)
            self._keep_what_was_heard()
            self._end_answer()
        return SILENT_FRAME

    def _item(self) -> str:
        """The name of the answer: by the number of the partner's turn."""
        answered = sum(message.role == "user" for message in self._messages)
        return f"answer {answered + 1}"

    def _note(self, tick: int, kind: str, **fields: object) -> None:
        self._happened.append(Happening(tick, kind, fields))


def _silence_wav() -> bytes:
    from fdbcore.audio.wav import wav_bytes

    return wav_bytes(np.zeros(ASR_RATE_HZ // 2, np.int16), ASR_RATE_HZ)
