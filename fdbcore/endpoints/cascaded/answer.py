"""Makes one answer on a thread of its own: transcribes what was heard, asks the model, and speaks each sentence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.audio.speech import without_edges
from fdbcore.audio.wav import wav_bytes
from fdbcore.endpoints.making import Making
from fdbcore.endpoints.sentences import SENTENCE_GAP_SAMPLES, has_words, is_whole, whole_sentences
from fdbcore.protocols import Chat, Speaker, Transcriber
from fdbcore.types import Pcm
from fdbcore.types.chat import ChatMessage
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service, Unit

ASR_RATE_HZ: Final = 16_000


@dataclass(frozen=True, slots=True)
class Parts:
    """The models that make answers. language: ISO 639-1. most_tokens: of an answer; None for no limit."""

    asr: Transcriber
    llm: Chat
    tts: Speaker
    language: str
    most_tokens: int | None = None


class AnswerStage(NamedTuple):
    """An answer has come this far: "transcribed", "first token", "first audio"."""

    name: str


class Heard(NamedTuple):
    """The partner's words in a turn."""

    text: str


class Spoken(NamedTuple):
    """A sentence of the answer, int16 (n,) at 48 kHz."""

    text: str
    pcm: Pcm


class Waits(NamedTuple):
    """The answer waits for the results of its calls."""


Piece: TypeAlias = AnswerStage | Heard | Spoken | ToolCall | ModelUsage | Waits


@dataclass(eq=False)
class SpokenAnswer(Making[Piece]):
    """One answer. The thread of the ticks takes its pieces, gives it results of calls, and may cancel it.

    parts: who makes it. messages: the conversation so far; what becomes part of it is added, all but what is said.
    heard: what the partner said, pieces of int16 (n,) at ASR_RATE_HZ. used_ids: of the calls of all answers.
    """

    parts: Parts
    messages: list[ChatMessage]
    heard: Sequence[npt.NDArray[np.int16]] = field(repr=False)
    tools: Sequence[Tool] = ()
    used_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__("fdbcore-answer")
        self._results: SimpleQueue[ToolResult | None] = SimpleQueue()
        self._stages: set[str] = set()
        self._has_spoken = False

    def give(self, result: ToolResult) -> None:
        """The result of one of its calls."""
        self._results.put(result)

    def cancel(self) -> None:
        """See `Making.cancel`; it waits for no result any more."""
        super().cancel()
        self._results.put(None)

    def _make(self) -> None:
        parts = self.parts
        heard = np.concatenate(self.heard)
        text = parts.asr.transcribe(wav_bytes(heard, ASR_RATE_HZ), parts.language).strip()
        self._count(parts.asr.services(), "seconds", len(heard) / ASR_RATE_HZ)
        self._put(AnswerStage("transcribed"))
        self._put(Heard(text))
        if not text:
            return
        self.messages.append(ChatMessage("user", text))
        while (calls := self._ask()) and self.tools:
            self._put(Waits())
            results = [self._results.get() for _ in calls]
            if self._is_cancelled.is_set():
                return
            told = [_told(result) for result in results if result is not None]
            self.messages += [ChatMessage("assistant", "", calls=calls), *told]  # at once: another thread may read them

    def _ask(self) -> list[ToolCall]:
        """Ask the model and speak what it says; return the calls that it wants answered before it goes on."""
        calls, rest = [], ""
        for part in self.parts.llm.answer(self.messages, self.tools, self.parts.most_tokens):
            if self._is_cancelled.is_set():
                return []
            if isinstance(part, str):
                self._note_once("first token")
                sentences, rest = whole_sentences(rest + part)
                for sentence in sentences:
                    self._speak(sentence)
            elif isinstance(part, ModelUsage):
                self._put(part)
            elif self.tools:
                calls.append(self._with_an_id_of_its_own(part))
                self._put(calls[-1])
        # A limit may have cut the last sentence off. It is said only where there is nothing else to say.
        if self.parts.most_tokens is None or not self._has_spoken or is_whole(rest):
            self._speak(rest)
        return calls

    def _with_an_id_of_its_own(self, call: ToolCall) -> ToolCall:
        """The call, renamed if its model gives it no id, or one that was used before."""
        number = call.id
        while not number or number in self.used_ids:
            number = f"call_{len(self.used_ids) + 1}{'_' if number in self.used_ids else ''}"
        self.used_ids.add(number)
        return replace(call, id=number)

    def _speak(self, sentence: str) -> None:
        if self._is_cancelled.is_set() or not has_words(sentence):
            return
        # A speaker's silence before its first sound would count as time to answer.
        speech = without_edges(*self.parts.tts.speak("answer", sentence.strip()))
        self._note_once("first audio")
        gap = np.zeros(SENTENCE_GAP_SAMPLES if self._has_spoken else 0, np.int16)
        self._has_spoken = True
        self._put(Spoken(sentence.strip(), np.concatenate((gap, speech))))
        self._count(self.parts.tts.services(), "characters", len(sentence.strip()))

    def _note_once(self, stage: str) -> None:
        if stage not in self._stages:
            self._stages.add(stage)
            self._put(AnswerStage(stage))

    def _count(self, services: Sequence[Service], unit: Unit, count: float) -> None:
        for service in services:
            self._put(ModelUsage(service.vendor, service.model, {unit: count}))


def _told(result: ToolResult) -> ChatMessage:
    value = result.value if result.status == "ok" else {"error": result.value}
    return ChatMessage("tool", json.dumps(value, ensure_ascii=False), call_id=result.id)
