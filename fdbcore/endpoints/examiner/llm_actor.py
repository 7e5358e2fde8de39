"""An actor whose words a language model writes, turn by turn, and a speaker says: `actor=llm:CHAT`.

CHAT is the address of any chat model, such as openai:NAME?base_url=URL. At each cue the model gets role, background,
what was said so far, the present goal, and the one after it, never more. It says whether the goal is met, why, and what
it says next. A goal that is not met after `wordings` turns is unmet. It needs a transcriber. After words of which less
than half was heard it is not asked: they are said again.

On a real clock it begins to think as soon as the system seems to have stopped, and drops the thought if the system goes
on. On a clock that never waits, a thought takes no time.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.wav import wav_bytes
from fdbcore.endpoints.examiner import llm_prompt
from fdbcore.endpoints.examiner.actor import WORDINGS, ActorDecision, ActorSettings, Speech, fault
from fdbcore.endpoints.examiner.agenda import Agenda
from fdbcore.endpoints.examiner.cues import Cue
from fdbcore.endpoints.examiner.llm_prompt import ChatLine
from fdbcore.endpoints.examiner.thought import Services, Thought
from fdbcore.endpoints.examiner.transcriber_thread import RATE_HZ
from fdbcore.endpoints.examiner.voiced_actor import CLOSE_S, VoicedActor
from fdbcore.endpoints.sentences import heard_words
from fdbcore.errors import InputError, PartyError, SettingsError, told_as
from fdbcore.models.vendor import VendorModel
from fdbcore.runtime.redaction import redacted
from fdbcore.types import Pcm, Side
from fdbcore.types.usage import Service

LIVE_ATTEMPTS: Final = 2
"""Attempts at a busy server on a real clock: more would outlast the system's patience."""


class LlmActor(VoicedActor):
    """See the module. SettingsError without a transcriber, and for a model that is unknown or has no key."""

    def __init__(self, address: str, settings: ActorSettings) -> None:
        if settings.transcriber is None:
            told = f"examiner: actor {redacted(address)}: expected a transcriber of what the system says"
            raise SettingsError(f"{told} (--examiner-transcriber ADDRESS, or transcriber=ADDRESS), got none")
        with told_as(f"examiner: actor {redacted(address)}", "llm"):
            self._chat = registry.chat(address.partition(":")[2])
        super().__init__(redacted(address), settings)
        if isinstance(self._chat, VendorModel):
            self._chat.key()  # report a missing key before any call is held
        assert self._ears is not None
        self._hears = self._ears
        self._wordings = settings.wordings or WORDINGS
        self.agenda = Agenda(self._brief, settings.pacing.insists, self._wordings)
        self._services = Services(self._chat, self._frames, self._counted.append)
        self._waits = True  # for its models, on a clock that never waits
        self._lines: list[ChatLine] = []
        self._thought: Thought | None = None  # of which the decision is not taken yet
        self._says: Thought | None = None  # whose words are said now, or next
        self._left: list[Thought] = []  # thoughts that nobody wants any more
        self._failed: PartyError | None = None
        self._is_speaking = False
        self._thinks_ahead = False  # of the cue, by which it has to have decided
        self._looks = False
        self._looked_at = ""  # the words at its last look

    @property
    def error(self) -> PartyError | None:
        """The reason why it cannot hear, or has no words."""
        return super().error or self._failed

    def services(self) -> Sequence[Service]:
        """Also those of the model, which gets the words of both sides."""
        return [*self._chat.services(), *super().services()]

    def probe(self) -> None:
        """Ask for the model, and let its speakers say what is known. PartyError if a service fails."""
        self._chat.probe()
        super().open("A")

    def open(self, side: Side) -> None:
        """Load what runs here, and have the first words ready. PartyError if a service fails."""
        super().open(side)
        asr = self._settings.transcriber
        try:
            if asr is not None and not asr.services():
                asr.transcribe(wav_bytes(np.zeros(RATE_HZ // 2, np.int16), RATE_HZ), self._brief.language)
        except InputError as error:
            raise PartyError(f"examiner: {error}") from None
        self._says = self._begin_thought(None)
        self._take(self._says, waits=True)
        if self.error is not None:
            raise self.error

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None on a clock that never waits."""
        super().start(origin_ns)
        self._waits = origin_ns is None
        if isinstance(self._chat, VendorModel) and not self._waits:
            self._chat.attempts = LIVE_ATTEMPTS

    def hear(self, tick: int, frame: Pcm) -> None:
        """Keep the frame for the transcriber, and take what has come of thoughts."""
        super().hear(tick, frame)
        if self._waits:
            return
        present = self.agenda.present
        if self._thinks_ahead and present is not None and present.sayings:
            self._consider()
        for each in (self._thought, self._says):
            if each is not None:
                self._take(each, waits=False)

    def paused(self, tick: int) -> None:
        """Think ahead of the cue, on a real clock. What it thought while the system spoke was about half an answer."""
        self.resumed(tick)
        self._thinks_ahead = not self._waits and not self._is_speaking and not self.agenda.is_cut

    def resumed(self, tick: int) -> None:
        """Drop what it has thought."""
        self._thinks_ahead = self._listened = self._looks = False
        if self._thought is not None:
            self._leave(self._thought)
            self._thought = None

    def decide(self, tick: int, cue: Cue) -> ActorDecision | None:
        """The model's verdict on the system's words, or what else to say if there are none."""
        if self.agenda.is_cut:
            return self._undecided(cue)
        if cue != "no answer":
            self._consider()
        elif self._thought is None:
            self._thought = self._begin_thought(None)
        return self._decided(only_if_met=cue == "pause")

    def look(self, tick: int, due: bool) -> ActorDecision | None:
        """Ask the model whether the goal is met by now, if there are new words."""
        if self.agenda.is_cut:
            return None
        if due and self._thought is None and not self._hears.is_busy:
            self._hears.listen()
            self._looks = True
        if self._looks and not self._hears.is_busy:
            self._looks = False
            if self._hears.words != self._looked_at:
                self._looked_at = self._hears.words
                self._thought = self._begin_thought(self._looked_at, is_look=True)
        return self._decided()

    def words(self, tick: int, item: str) -> Speech:
        """The speech that the model has written at the last decision, or before the call."""
        present, says = self.agenda.present, self._says
        assert present is not None
        assert says is not None
        self._hears.begin(present.goal.language)
        self._thinks_ahead = self._listened = self._looks = False
        self._looked_at = ""
        self._is_speaking = True
        self._lines.append(ChatLine("You", says.speech.text))
        self.agenda.say(tick)
        says.speech.wording = present.sayings
        return says.speech

    def ended(self, tick: int, speech: Speech, said_share: float) -> None:
        """Keep what was heard of it."""
        self._is_speaking = False
        if self._says is None or speech is not self._says.speech:
            return
        if said_share < 1:
            self._lines[-1] = ChatLine("You", heard_words(speech.text, said_share), is_cut=True)
        if not self.agenda.is_cut:
            self._leave(self._says)
            self._says = None

    def describe(self) -> Mapping[str, Any]:
        """Also the model, which words it is told, and how often a goal is put."""
        told = {"chat": dict(self._chat.describe()), "prompt": llm_prompt.VERSION, "wordings": self._wordings}
        return {**super().describe(), **told}

    def close(self) -> None:
        """Leave. A model at work ends by its own time-out."""
        for each in (self._thought, self._says):
            if each is not None:
                self._leave(each)
        for each in self._left:
            each.join(CLOSE_S)
        super().close()

    def _consider(self) -> None:
        """Think about the system's answer, once all of it was heard."""
        if self._thought is not None and self._thought.is_look:
            self._leave(self._thought)
            self._thought = None
        if self._has_heard(self._hears) and self._thought is None:
            self._thought = self._begin_thought(self._hears.words)

    def _undecided(self, cue: Cue) -> ActorDecision | None:
        """The words of which less than half was heard come again; what the system said meanwhile is kept."""
        if cue == "pause" or (cue != "no answer" and not self._has_heard(self._hears)):
            return None
        heard = None if cue == "no answer" else self._hears.words
        if heard:
            self._lines.append(ChatLine("Assistant", heard))
        return ActorDecision(heard, None)

    def _decided(self, only_if_met: bool = False) -> ActorDecision | None:
        """The decision, once it is there; a look decides only if the goal is met. only_if_met: else it is kept."""
        thought = self._thought
        if thought is None:
            return None
        self._take(thought, self._waits)
        if self._failed is not None or not thought.is_ready or thought.reply is None:
            return None
        if only_if_met and not thought.reply.met:
            return None
        self._thought = None
        if thought.is_look and not thought.reply.met:
            return None
        self._says = thought
        heard, reply = thought.heard, thought.reply
        if heard is None:
            return ActorDecision(None, self.agenda.unanswered())
        if heard:
            self._lines.append(ChatLine("Assistant", heard))
        return ActorDecision(heard, self.agenda.judged(reply.met), reply.reason, reply.met)

    def _begin_thought(self, heard: str | None, is_look: bool = False) -> Thought:
        asked = llm_prompt.request(self._brief, self.agenda, self._lines, heard, is_look)
        return Thought(self._services, asked, heard, is_look)

    def _take(self, thought: Thought, waits: bool) -> None:
        thought.take(waits)
        if thought.error is not None:
            self._failed = fault("the examiner has no words", thought.error)

    def _leave(self, thought: Thought) -> None:
        """Nobody wants it any more; its thread may still be at work."""
        thought.cancel()
        self._left = [each for each in (*self._left, thought) if not each.is_done]
