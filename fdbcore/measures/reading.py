"""A recording with everything that measures and reports derive from it, computed once and handed down."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from fdbcore.measures.dialogue import Dialogue, joined
from fdbcore.measures.echo_free import Spans, echo_free_activity, with_suspects
from fdbcore.measures.hang_up import line_of, pauses_of
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.health.examine import listen_again
from fdbcore.measures.health.tones import LONGEST_WAIT_TICKS
from fdbcore.measures.moments import DIALLING, Moment, moments
from fdbcore.measures.sayings import backchannels_of, given_up_of, sayings_of
from fdbcore.measures.silero_track import Probabilities, silero_probabilities
from fdbcore.recording.health import Health
from fdbcore.recording.left_out import LeftOut
from fdbcore.recording.meta import left_out_of
from fdbcore.recording.reader import Recording
from fdbcore.session.turns import detect_turns
from fdbcore.types import SIDES, Side, TurnEvent, TurnSettings
from fdbcore.types.session_events import MUTED

PAUSE: Final = "a pause of the recorder"
SOUNDS: Final = {"music": "music", "tone": "tones", "ringing": "ringing", "dtmf": DIALLING}
"""Short names of the findings about sound that is not speech."""


def with_pauses(left_out: Sequence[LeftOut], health: Health | None) -> list[LeftOut]:
    """Spans left out by a user, and the pauses of the recorder, by time. health: of the recording."""
    found = health["findings"] if health else []
    paused = [LeftOut(*span, PAUSE) for each in found if each["id"] == "paused" for span in each["spans"]]
    return sorted([*left_out, *paused], key=lambda span: span.start_tick)


class Reading(Recording):
    """A recording with its dialogue. Each part is computed when it is first used, and raises RecordingError.

    It keeps what it has read, so of thousands of recordings hold only one at a time.
    """

    kept_figures: object = None
    """The stored figures that `fdbcore.analysis.score` has read; None: nothing yet."""

    @cached_property
    def health(self) -> Health | None:
        """The faults of the audio; None if they are not known. A live call that nobody examined yet, as its run was
        killed, is examined now: else its echo would count as speech.
        """
        return super().health or listen_again(self)

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The spans that no measure counts, by time: those that the user left out, and pauses of the recorder."""
        return with_pauses(left_out_of(self.meta), super().health)

    @cached_property
    def dialogue(self) -> Dialogue:
        """The dialogue without speech that is echo of the other side. Every figure, list and export uses it."""
        return self.dialogue_by(self.dialogue_with_echo.settings) if self.has_suspects else self.dialogue_with_echo

    @cached_property
    def dialogue_with_echo(self) -> Dialogue:
        """The dialogue from the stored turn events, echo included. The figures "with echo" use it."""
        settings = TurnSettings(**self.meta["settings"]["turns"])
        is_stored = self.left_out == left_out_of(self.meta)  # they were decided before the recorder's pauses were known
        return Dialogue(
            self.turn_events if is_stored else detect_turns(*self.activity, settings, kept=self.kept),
            self.n_ticks,
            settings,
            HarnessLegs.of(self, "B"),
            line_of(self),
            pauses_of(self),
            self.kept,
            max((event["to_tick"] for event in self.events if event["kind"] == MUTED), default=0),
            given_up=list(given_up_of(self.events)),
            sayings=list(sayings_of(self.events)),
            backchannels=list(backchannels_of(self.events)),
        )

    def dialogue_by(self, settings: TurnSettings) -> Dialogue:
        """The dialogue without echo, detected with other settings of the turn detector."""
        events = detect_turns(*echo_free_activity(self.activity, self.suspect_spans), settings, kept=self.kept)
        return replace(self.dialogue_with_echo, detected=events, settings=settings)

    @cached_property
    def silero_probabilities(self) -> tuple[Probabilities, Probabilities]:
        """The probabilities of Silero's own model at 16 kHz for both sides; see `fdbcore.measures.silero_track`."""
        return silero_probabilities(self)

    @cached_property
    def suspect_spans(self) -> Mapping[Side, Spans]:
        """Spans of ticks, per side, in which its activity is echo of the other side."""
        return {side: self.health["suspect"][side] if self.health else [] for side in SIDES}

    @property
    def has_suspects(self) -> bool:
        """True if any speech may be echo."""
        return any(self.suspect_spans.values())

    @cached_property
    def events_with_suspects(self) -> Sequence[tuple[TurnEvent, bool]]:
        """All turn events in the order in which they became known, each with whether only echo makes it (suspect)."""
        spoken = with_suspects(self.dialogue.events, self.dialogue_with_echo.events if self.has_suspects else ())
        return sorted([*spoken, *((entry, False) for entry in self._keypad)], key=lambda each: each[0].known_tick)

    @property
    def _keypad(self) -> Iterator[TurnEvent]:
        """Entries of a side by its keypad, each an event; by input health."""
        for found in self.health["findings"] if self.health else ():
            if found["id"] == "dtmf" and found["side"] is not None:
                spans = np.array(found["spans"], np.int64).reshape(-1, 2)
                for start, end in joined(spans, LONGEST_WAIT_TICKS).tolist():
                    yield TurnEvent("keypad", found["side"], start, end, end)

    @cached_property
    def moments(self) -> Sequence[Moment]:
        """The moments to listen to first, the worst first."""
        return [moment for moment in self.moments_of_any_length if moment.severity > 1]

    @cached_property
    def moments_of_any_length(self) -> Sequence[Moment]:
        """The same with what is of their kinds, but no longer than it may be."""
        found = self.health["findings"] if self.health else ()
        sounds = {
            f"{SOUNDS[finding['id']]} on {finding['side']}": finding["spans"]
            for finding in found
            if finding["id"] in SOUNDS
        }
        return moments(self.dialogue, self.labels, sounds, of_any_length=True)
