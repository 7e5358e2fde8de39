"""What a language model decides and says at a cue, made on a thread of its own, and spoken sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty
from typing import Final, NamedTuple, TypeAlias

from fdbcore.endpoints.cascaded.answer import SENTENCE_GAP_SAMPLES, whole_sentences
from fdbcore.endpoints.examiner.actor import Speech
from fdbcore.endpoints.examiner.llm_prompt import SCHEMA, LlmReply, LlmRequest, read_reply
from fdbcore.endpoints.making import Making, Over
from fdbcore.errors import FdbError, InputError, PartyError
from fdbcore.protocols import Chat
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Pcm
from fdbcore.types.chat import ChatMessage
from fdbcore.types.usage import ModelUsage, Service

TRIES: Final = 3
"""How often the model is asked until its reply has the form that is asked for."""
MOST_S: Final = 60.0
"""How long nothing may come of a thought."""

Speaks: TypeAlias = Callable[[str, str], tuple[Sequence[Pcm], Sequence[Service]]]
"""A text in a language, as frames of int16 (480,), and the services that have spoken it."""


class SpokenFrames(NamedTuple):
    """The next sentence."""

    frames: Sequence[Pcm]


class Thought(Making[LlmReply | SpokenFrames]):
    """One thought. is_look: the system still speaks, so words are wanted only if the goal is met.

    heard: the words that it is about. reply: None until it is there. speech: of what it says; it grows. error: why
    nothing more comes. It begins at once.
    """

    def __init__(self, chat: Chat, asked: LlmRequest, speaks: Speaks, heard: str | None, is_look: bool) -> None:
        super().__init__("fdbcore-examiner")
        self.heard, self.is_look = heard, is_look
        self.reply: LlmReply | None = None
        self.speech = Speech("", [], is_whole=False)
        self.error: FdbError | None = None
        self._used: list[ModelUsage] = []
        self._chat, self._asked, self._speaks = chat, asked, speaks
        self.start()

    @property
    def is_ready(self) -> bool:
        """Whether its decision is known, and the first of its words, if it has any."""
        if self.reply is None:
            return False
        return self.speech.is_whole or bool(self.speech.frames) or not self.reply.say

    def take(self, waits: bool) -> None:
        """Take what has come. waits: all of it, as a clock that never waits needs it."""
        while not self.speech.is_whole:
            try:
                _, piece = self.pieces.get(waits, MOST_S)
            except Empty:
                if waits:
                    self.fail()
                return
            if isinstance(piece, Over):
                self.speech.is_whole, self.error = True, piece.error
            elif isinstance(piece, LlmReply):
                self.reply, self.speech.text = piece, piece.say
            elif isinstance(piece, SpokenFrames):
                self.speech.frames = [*self.speech.frames, *piece.frames]
            else:
                self._used.append(piece)

    def fail(self) -> None:
        """Nothing came of it for too long."""
        self.cancel()
        told = f"nothing came from {self._chat.name}, or from the speaker, within {MOST_S:g} s"
        self.speech.is_whole, self.error = True, PartyError(told)

    def cancel(self) -> None:
        """See `Making.cancel`; who waits for it waits no longer."""
        super().cancel()
        self._put(Over(PartyError("the examiner has left")))

    @property
    def is_done(self) -> bool:
        """Whether its thread has ended."""
        return not self._thread.is_alive()

    def usage(self) -> list[ModelUsage]:
        """What the models counted since this was last asked."""
        while self._is_cancelled.is_set() and not self.pieces.empty():
            _, piece = self.pieces.get()
            if isinstance(piece, ModelUsage):
                self._used.append(piece)
        used, self._used = self._used, []
        return used

    def _make(self) -> None:
        reply = self._asked_reply()
        if reply is None:
            return
        self._put(reply)
        if self.is_look and not reply.met:
            return
        goal = self._asked.say_if[reply.met]
        sentences, rest = whole_sentences(reply.say)
        gap: list[Pcm] = []
        for sentence in filter(_has_words, (*sentences, rest)):
            if self._is_cancelled.is_set() or goal is None:
                return
            frames, spoken_by = self._speaks(sentence.strip(), goal.language)
            self._count(spoken_by, "characters", len(sentence.strip()))
            self._put(SpokenFrames([*gap, *frames]))
            gap = [SILENT_FRAME] * (SENTENCE_GAP_SAMPLES // FRAME_SAMPLES)

    def _asked_reply(self) -> LlmReply | None:
        """The reply, asked for again with what was wrong; None if nobody wants it any more."""
        messages = list(self._asked.messages)
        for _ in range(TRIES):
            text = ""
            for part in self._chat.answer(messages, schema=SCHEMA):
                if self._is_cancelled.is_set():
                    return None
                if isinstance(part, str):
                    text += part
                elif isinstance(part, ModelUsage):
                    self._put(part)
            try:
                return read_reply(text, self._asked)
            except ValueError as error:
                wrong = str(error)
                messages += [
                    ChatMessage("assistant", text),
                    ChatMessage("user", f"That cannot be used: {wrong}. Again."),
                ]
        raise InputError(f"{self._chat.name}: {wrong}, {TRIES} times; at last {text!r:.80}")


def _has_words(sentence: str) -> bool:
    return any(map(str.isalnum, sentence))
