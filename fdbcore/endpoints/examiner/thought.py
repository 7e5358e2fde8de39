"""A language model's decision and words at a cue, made on a thread of its own, and spoken sentence by sentence."""

from collections.abc import Callable, Sequence
from queue import Empty
from typing import Final, NamedTuple

from fdbcore.clock import now_ns
from fdbcore.endpoints.examiner.actor import Speech
from fdbcore.endpoints.examiner.llm_prompt import SCHEMA, LlmReply, LlmRequest, read_reply
from fdbcore.endpoints.making import Making, Over
from fdbcore.endpoints.sentences import SENTENCE_GAP_SAMPLES, has_words, whole_sentences
from fdbcore.errors import FdbError, PartyError, RefusalError
from fdbcore.protocols import Chat
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Pcm
from fdbcore.types.chat import ChatMessage
from fdbcore.types.usage import ModelUsage

TRIES: Final = 3
"""Requests to the model, at most, until its reply can be used."""
MOST_S: Final = 60.0
"""The longest that nothing may come of a thought."""


class Services(NamedTuple):
    """Services of a thought, each used from its own thread: the model; what speaks a text in a language, as frames of
    int16 (480,); what notes what the model counted.
    """

    chat: Chat
    speak: Callable[[str, str], Sequence[Pcm]]
    note: Callable[[ModelUsage], None]


class Thought(Making[LlmReply | list[Pcm]]):
    """One thought. is_look: the system still speaks, so words are wanted only if the goal is met.

    heard: the words that it is about. reply: None until it is there. speech: of what it says; it grows. error: why
    nothing more comes. It begins at once.
    """

    def __init__(self, services: Services, asked: LlmRequest, heard: str | None, is_look: bool) -> None:
        super().__init__("fdbcore-examiner")
        self.heard, self.is_look = heard, is_look
        self.reply: LlmReply | None = None
        self.speech = Speech("", [], is_whole=False)
        self.error: FdbError | None = None
        self._services, self._asked = services, asked
        self._last_ns = now_ns()  # when something last came
        self.start()

    @property
    def is_ready(self) -> bool:
        """True if its decision is known, and the first of its words, if it has any."""
        if self.reply is None:
            return False
        return self.speech.is_whole or bool(self.speech.frames) or not self.reply.say

    @property
    def is_done(self) -> bool:
        """True if its thread has ended."""
        return not self._thread.is_alive()

    def take(self, waits: bool) -> None:
        """Take what has come. waits: all of it, as a clock that never waits needs it."""
        while not self.speech.is_whole:
            try:
                self._last_ns, piece = self.pieces.get(waits, MOST_S)
            except Empty:
                if waits or now_ns() - self._last_ns > MOST_S * 1e9:
                    self._give_up()
                return
            if isinstance(piece, Over):
                self.speech.is_whole, self.error = True, piece.error
            elif isinstance(piece, LlmReply):
                self.reply, self.speech.text = piece, piece.say
            else:
                self.speech.frames = [*self.speech.frames, *piece]

    def cancel(self) -> None:
        """See `Making.cancel`; who waits for it waits no longer."""
        super().cancel()
        self._put(Over(PartyError("the examiner has left")))

    def _give_up(self) -> None:
        self.cancel()
        told = f"nothing came from {self._services.chat.name}, or from the speaker, within {MOST_S:g} s"
        self.speech.is_whole, self.error = True, PartyError(told, transient=True)

    def _make(self) -> None:
        reply = self._usable_reply()
        self._put(reply)
        goal = self._asked.say_if[reply.met]
        if goal is None or (self.is_look and not reply.met):
            return
        sentences, rest = whole_sentences(reply.say)
        gap: list[Pcm] = []
        for sentence in filter(has_words, (*sentences, rest)):
            if self._is_cancelled.is_set():
                return
            self._put([*gap, *self._services.speak(sentence.strip(), goal.language)])
            gap = [SILENT_FRAME] * (SENTENCE_GAP_SAMPLES // FRAME_SAMPLES)

    def _usable_reply(self) -> LlmReply:
        """The model's reply; one that cannot be used is asked for again, with what was wrong."""
        messages, wrong = list(self._asked.messages), ""
        for _ in range(TRIES):
            text = ""
            try:
                text = self._written(messages)
                return read_reply(text, self._asked)
            except RefusalError as error:
                wrong = str(error)
            except ValueError as error:
                wrong = f"{self._services.chat.name}: {error}, in {text!r:.80}"
                asked_again = ChatMessage("user", f"That cannot be used: {error}. Again.")
                messages += [ChatMessage("assistant", text), asked_again]
            if self._is_cancelled.is_set():
                break
        raise PartyError(f"{wrong}, {TRIES} times", transient=True)

    def _written(self, messages: Sequence[ChatMessage]) -> str:
        """All that the model writes. What a vendor bills is read to its end, for its counts, although nobody wants it
        any more.
        """
        text, is_billed = "", bool(self._services.chat.services())
        for part in self._services.chat.answer(messages, schema=SCHEMA):
            if isinstance(part, ModelUsage):
                self._services.note(part)
            elif isinstance(part, str):
                text += part
            if self._is_cancelled.is_set() and not is_billed:
                break
        return text
