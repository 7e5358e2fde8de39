"""The scripted actor says the sayings of the brief.

With a transcriber it judges by words whether a goal is met, says it another way if not, and leaves it as unmet after
its last wording. Without one it goes on once the system has answered, and each goal is logged "not heard".
"""

from fdbcore.endpoints.examiner.actor import ActorDecision, ActorSettings, Speech, check_words
from fdbcore.endpoints.examiner.agenda import Agenda
from fdbcore.endpoints.examiner.cues import Cue
from fdbcore.endpoints.examiner.voiced_actor import VoicedActor
from fdbcore.types import Side


class ScriptedActor(VoicedActor):
    """See the module. SettingsError for a goal without words."""

    def __init__(self, address: str, settings: ActorSettings) -> None:
        check_words(settings.brief)
        super().__init__(address, settings)
        self.agenda = Agenda(settings.brief, settings.pacing.insists and self._ears is not None, settings.wordings)

    def open(self, side: Side) -> None:
        """Synthesise all that it may say. InputError for what cannot be spoken, PartyError if a speaker fails."""
        for goal in self._brief.goals:
            for text in goal.sayings:
                self._frames(text, goal.language)
        super().open(side)

    def decide(self, tick: int, cue: Cue) -> ActorDecision | None:
        """By the words of the system, if there is a transcriber."""
        if cue == "no answer":
            return ActorDecision(None, self.agenda.unanswered())
        if self._ears is None:
            return None if cue == "pause" else ActorDecision(None, self.agenda.answered(None, cue != "breaks in"))
        if not self._has_heard(self._ears) or (cue == "pause" and not self.agenda.is_met_by(self._ears.words)):
            return None
        return ActorDecision(self._ears.words, self.agenda.answered(self._ears.words, cue != "breaks in"))

    def look(self, tick: int, due: bool) -> ActorDecision | None:
        """By the words that were heard last."""
        if self._ears is None:
            return None
        if due:
            self._ears.listen()
        if self._ears.is_busy or not self.agenda.is_met_by(self._ears.words):
            return None
        return ActorDecision(self._ears.words, self.agenda.answered(self._ears.words))

    def words(self, tick: int, item: str) -> Speech:
        """The next saying of the present goal."""
        present = self.agenda.present
        assert present is not None
        if self._ears is not None and not present.sayings:
            self._ears.begin(present.goal.language)
        self._listened = False
        sayings = present.goal.sayings
        index = self.agenda.say(tick)
        return Speech(sayings[index], self._frames(sayings[index], present.goal.language), index + 1)
