"""One answer as the ticks have it: what has come of it, what is said, and how much of that was heard."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty

import numpy as np
import numpy.typing as npt

from fdbcore.endpoints.cascaded.answer import AnswerStage, Heard, Piece, Spoken, SpokenAnswer, Waits
from fdbcore.endpoints.making import Over
from fdbcore.endpoints.sentences import heard_words
from fdbcore.errors import FdbError, PartyError
from fdbcore.types import FRAME_SAMPLES, TICK_MS, TICK_NS, Happening, Pcm
from fdbcore.types.chat import ChatMessage
from fdbcore.types.system_events import STAGE, TRANSCRIPT
from fdbcore.types.tools import ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage


@dataclass(eq=False)
class _Sentence:
    """A sentence in frames, int16 (n, 480); heard: how many of them were said."""

    text: str
    frames: npt.NDArray[np.int16]
    heard: int = 0

    @property
    def heard_text(self) -> str:
        """The words that were heard, by the share of the frames."""
        return heard_words(self.text, self.heard / len(self.frames))


class Saying:
    """One answer. name: of its events. origin_ns: as `Endpoint.start` is given it. timeout_s: in
    lockstep, how long to wait for the next piece of the answer.

    error: why it could not be made; None while it may be.
    """

    def __init__(self, answer: SpokenAnswer, name: str, origin_ns: int | None, timeout_s: float) -> None:
        self.name = name
        self.is_made = False
        self.error: FdbError | None = None
        self._answer = answer
        self._origin_ns = origin_ns
        self._timeout_s = timeout_s
        self._stage = ""
        self._n_before = len(answer.messages)
        self._sentences: list[_Sentence] = []
        self._calls: deque[ToolCall] = deque()
        self._unanswered: set[str] = set()
        self._waits = False  # for the results of these calls
        answer.start()

    @property
    def said_ms(self) -> int:
        """The length of what has come of it, in ms."""
        return sum(len(sentence.frames) for sentence in self._sentences) * TICK_MS

    @property
    def heard_ms(self) -> int:
        """The length of what was heard of it, in ms."""
        return sum(sentence.heard for sentence in self._sentences) * TICK_MS

    @property
    def has_results(self) -> bool:
        """True if tools were called for it, and have answered."""
        return any(message.role == "tool" for message in self._answer.messages[self._n_before :])

    def messages(self) -> list[ChatMessage]:
        """The conversation with this answer, as far as it was heard."""
        said = " ".join(filter(None, (sentence.heard_text for sentence in self._sentences)))
        return [*self._answer.messages, *([ChatMessage("assistant", said)] if said else [])]

    def step(self, tick: int) -> list[Happening]:
        """Take what has come. In lockstep this waits until it is made, or itself waits for results."""
        happened: list[Happening] = []
        while not self.is_made:
            waits_for_it = self._origin_ns is None and not self._waits
            try:
                at_ns, piece = self._answer.pieces.get(waits_for_it, self._timeout_s)
            except Empty:
                if waits_for_it:
                    self.is_made, self.error = True, self._no_answer()
                break
            at_tick = tick if self._origin_ns is None else max(0, at_ns - self._origin_ns) // TICK_NS
            happened += self._take(min(tick, at_tick), piece)
        return happened

    def _no_answer(self) -> PartyError:
        """The error that nothing more comes of the answer, with whoever is to blame."""
        asr, llm = self._answer.parts.asr.name, self._answer.parts.llm.name
        late = {"": asr, "transcribed": llm}.get(self._stage, f"{llm} or its speaker")
        return PartyError(f"nothing came from {late} within {self._timeout_s:g} s (answer_timeout_s)", transient=True)

    def next_frame(self) -> Pcm | None:
        """The next frame, int16 (480,); None if there is none now."""
        for sentence in self._sentences:
            if sentence.heard < len(sentence.frames):
                frame: Pcm = sentence.frames[sentence.heard]
                sentence.heard += 1
                return frame
        return None

    def tool_calls(self) -> Sequence[ToolCall]:
        """Its calls since this was last asked."""
        return [self._calls.popleft() for _ in range(len(self._calls))]

    def give(self, result: ToolResult) -> None:
        """The result of a call. One that is no longer wanted is left out."""
        if result.id in self._unanswered:
            self._unanswered.remove(result.id)
            self._waits &= bool(self._unanswered)
            self._answer.give(result)

    def end(self) -> list[ToolCall]:
        """It is no longer wanted. Returns the calls that are off."""
        self._answer.cancel()
        return [*self.tool_calls(), *(ToolCall("cancelled", number) for number in sorted(self._unanswered))]

    def late_usage(self, tick: int) -> list[Happening]:
        """Usage that its models counted since it ended."""
        found = []
        while not self._answer.pieces.empty():
            _, piece = self._answer.pieces.get()
            if isinstance(piece, ModelUsage):
                found.append(piece.happening(tick))
        return found

    def join(self, timeout_s: float) -> None:
        """Wait until whoever is at work on it has finished, at most so long."""
        self._answer.join(timeout_s)

    def _take(self, tick: int, piece: Piece | Over) -> list[Happening]:
        match piece:
            case AnswerStage(name):
                self._stage = name
                return [Happening(tick, STAGE, {"name": name})]
            case Heard(text):
                return [Happening(tick, TRANSCRIPT, {"of": "partner", "text": text, "item": self.name})]
            case Spoken(text, pcm):
                padded = np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES))
                self._sentences.append(_Sentence(text, padded.reshape(-1, FRAME_SAMPLES)))
                return [Happening(tick, TRANSCRIPT, {"of": "self", "text": text, "item": self.name})]
            case ToolCall():
                self._calls.append(piece)
                self._unanswered.add(piece.id)
            case Waits():
                self._waits = True
            case ModelUsage():
                return [piece.happening(tick)]
            case Over(error):
                self.is_made, self.error = True, error
        return []
