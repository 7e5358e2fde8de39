"""An actor that is a live party and says the texts of the brief word for word: `actor=verbatim:PARTY`.

As a live party alone (`live_actor`), it hears the system and reports goals by calls of a tool. What it answers by
itself is not heard: once it has begun to, it has judged, and is told which text to say. That takes a protocol that has
a message for it.
"""

from typing import Final

from fdbcore.endpoints.examiner.actor import ActorSettings, Speech, check_words
from fdbcore.endpoints.examiner.live_actor import GIVES_UP_S, LiveActor
from fdbcore.errors import PartyError, SettingsError
from fdbcore.runtime.redaction import redacted
from fdbcore.types import TICKS_PER_S, Pcm

JUDGES_S: Final = 2.0
"""It has judged the system's answer, if it has said nothing by itself for so long."""


class VerbatimActor(LiveActor):
    """See the module. SettingsError for a party without such a message, and for a goal without words."""

    def __init__(self, address: str, settings: ActorSettings) -> None:
        check_words(settings.brief)
        super().__init__(address.partition(":")[2], settings)
        if not self._party.recites:
            raise SettingsError(f"actor: {self.name}: it cannot be told what to say word for word")
        self.name = redacted(address)
        self._recites = ""  # a text asked for, and not heard yet
        self._recites_since = 0

    def resumed(self, tick: int) -> None:
        """The system speaks: what it would have said now is not said."""
        if self._recites or self._first is not None:
            self._recites = ""
            self._drop(tick)
        super().resumed(tick)

    def goes_on(self, tick: int) -> bool:
        """It says nothing of its own."""
        return False

    def words(self, tick: int, item: str) -> Speech | None:
        """The next saying of the present goal."""
        present = self.agenda.present
        assert present is not None
        if not self._recites and self._cue == "answered" and self._has_opened and not self._has_judged(tick):
            return None
        sayings = present.goal.sayings
        first = self._recited(tick, sayings[present.sayings % len(sayings)])
        return None if first is None else self._begin_goal(tick, item, first)

    def closing(self, tick: int, item: str) -> Speech | None:
        """The closing statement."""
        first = self._recited(tick, self._brief.closing)
        return None if first is None else self._begin(tick, item, first, 1)

    def _has_judged(self, tick: int) -> bool:
        if self._wanted_tick is None:
            self._wanted_tick = tick
        return self._first is not None or tick - self._wanted_tick >= JUDGES_S * TICKS_PER_S

    def _recited(self, tick: int, text: str) -> Pcm | None:
        """The first frame of a text, once it has come. The text is asked for if it was not."""
        if self._recites != text:
            self._drop(tick)
            self._party.recite(tick, text)
            self._recites, self._recites_since = text, tick
        elif self._first is not None:
            self._recites = ""
            return self._first
        elif tick - self._recites_since >= GIVES_UP_S * TICKS_PER_S:
            self._error = PartyError(f"{self.name}: said nothing for {GIVES_UP_S:g} s")
        return None
