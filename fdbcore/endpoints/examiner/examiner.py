"""An examiner: a party that wants several things of the other side, one after the other, and paces the conversation.

    examiner:BRIEF.json?pacing=slow|fast|fdb2-slow|fdb2-fast&transcriber=ADDRESS

Cues say when it speaks (`fdbcore.endpoints.examiner.cues`), the agenda says what. With a recogniser it judges by words
whether a goal is met, says it another way if not, and leaves it as unmet after its last wording. Without one it goes on
once the system has answered, and each goal is logged "not heard".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.noise import ComfortNoise
from fdbcore.endpoints.examiner.agenda import Agenda, Progress
from fdbcore.endpoints.examiner.brief import Brief, read_brief
from fdbcore.endpoints.examiner.cues import Cue, Cues
from fdbcore.endpoints.examiner.ears import Ears
from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.endpoints.examiner.voice import spoken, voice_of
from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols import Endpoint, Transcriber
from fdbcore.runtime.address import Setting, parsed
from fdbcore.types import (
    FRAME_SAMPLES,
    SILENT_FRAME,
    TICK_MS,
    TICKS_PER_S,
    Happening,
    Pcm,
    Planted,
    Side,
    TurnEvent,
    other_side,
)
from fdbcore.types.examiner_events import CUE_CONTRADICTED, ENDS, GOAL, SAID, SAYS, SPOKE_FIRST
from fdbcore.types.system_events import INTERRUPTED, TRANSCRIPT
from fdbcore.types.usage import ModelUsage, Service

SETTINGS: Final = (
    Setting("pacing", "when it speaks, breaks in and yields", choices=tuple(PACINGS), default="slow"),
    Setting("transcriber", "hears the system's words during the call", form="the address of a recogniser", fits=bool),
    Setting("voice", "of all its texts", form="the address of a speaker", unset="by language", fits=bool),
    Setting("level_dbov", "active speech level", float, -26.0, least=-70, most=0),
    Setting("noise_dbov", "white comfort noise throughout", float, -65.0, least=-96, most=-30),
    Setting("seed", "of the noise and of what varies in its pacing", int, 0, least=0, most=2**32),
)

GIVES_UP_S: Final = 30.0
"""It ends the conversation after so much silence of the system."""
TAIL_S: Final = 2.0
"""How long it stays silent after its closing statement."""
BACKCHANNELS: Final = {"en": ("Okay.", "I see.", "Right."), "ja": ("はい。", "ええ。", "そうですか。")}
"""By language; in others it gives none."""
CLOSE_S: Final = 1.0
_FADE: Final = np.linspace(1.0, 0.0, FRAME_SAMPLES, dtype=np.float32)


def examiner(address: str) -> Examiner:
    """The examiner at an address of the module. SettingsError for a wrong setting or brief, or a missing voice."""
    found = parsed(address, SETTINGS)
    if not found.place:
        raise SettingsError("examiner: expected a brief (examiner:FILE.json), got none")
    brief = read_brief(Path(found.place))
    hears = found.settings.pop("transcriber")
    made = Examiner(brief, transcriber=hears and registry.transcriber(hears), **found.settings)
    for number, goal in enumerate(brief.goals, 1):
        if not goal.sayings:
            raise SettingsError(f"{found.place}: goal {number}: expected words to say, got none")
    for voice in made.voices:
        with told_as(f"examiner: voice of {brief.id}", "tts"):
            registry.speaker(voice)
    return made


@dataclass(eq=False, slots=True)
class _Utterance:
    """What is being said: frames from tick `start` on, up to `stop`."""

    what: str
    frames: Sequence[Pcm]
    start: int
    stop: float = math.inf
    planted: str = ""

    def ends_at(self) -> float:
        return min(self.stop, self.start + len(self.frames))


class Examiner(Endpoint):
    """See the module. `open` synthesises all speech; during the call it only follows its cues."""

    follows_activity = True

    def __init__(
        self,
        brief: Brief,
        pacing: str = "slow",
        transcriber: Transcriber | None = None,
        voice: str | None = None,
        level_dbov: float = -26.0,
        noise_dbov: float = -65.0,
        seed: int = 0,
    ) -> None:
        self._brief, self._pacing_name, self._pacing = brief, pacing, PACINGS[pacing]
        self._voice, self._level_dbov, self._noise_dbov, self._seed = voice, level_dbov, noise_dbov, seed
        self._transcriber = transcriber
        self._ears = None if transcriber is None else Ears(transcriber)
        self._noise = ComfortNoise(noise_dbov, seed)
        self._cues = Cues(self._pacing, Random(seed))
        self._agenda = Agenda(brief, self._pacing.insists and self._ears is not None)
        self._said: _Utterance | None = None
        self._sayings = 0
        self._turns = 0
        self._backchannels = 0
        self._closed_tick: int | None = None
        self._listened = False  # to all of the present answer
        self._happened: list[Happening] = []
        self._planted: list[Planted] = []

    @property
    def voices(self) -> Sequence[str]:
        """The addresses of its speakers."""
        languages = [self._brief.language, *(goal.language for goal in self._brief.goals)]
        return [self._voice] if self._voice else list(dict.fromkeys(map(voice_of, languages)))

    def services(self) -> Sequence[Service]:
        """Those of its speakers, which get its texts, and of the recogniser."""
        heard = [] if self._transcriber is None else self._transcriber.services()
        spoken_by = [service for voice in self.voices for service in registry.speaker(voice).services()]
        return [*spoken_by, *(service._replace(takes="audio") for service in heard)]

    def open(self, side: Side) -> None:
        """Synthesise all that it may say. InputError for what cannot be spoken, PartyError if a speaker fails."""
        self._side = side
        for goal in self._brief.goals:
            for text in goal.sayings:
                self._frames(text, goal.language)
        self._frames(self._brief.closing, self._brief.language)
        if self._pacing.backchannels_ms is not None:
            for text in BACKCHANNELS.get(self._brief.language, ()):
                self._frames(text, self._brief.language)

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None on a clock that never waits, for which it waits for its recogniser."""
        if self._ears is not None:
            self._ears.waits = origin_ns is None

    def _frames(self, text: str, language: str) -> Sequence[Pcm]:
        return spoken(self._voice or voice_of(language), text, self._level_dbov)

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`, int16 (480,): of its words, or the noise between them."""
        if self._said is not None and tick >= self._said.ends_at():
            self._end_saying(tick, self._said)
        if self._said is None:
            self._act(tick)
        if self.left is not None:
            return None
        frame = SILENT_FRAME
        if self._said is not None:
            frame = self._said.frames[tick - self._said.start]
            if tick + 1 == self._said.stop:  # fade out in the last frame, so that breaking off does not click
                frame = (frame * _FADE).astype(np.int16)
        return self._noise.under(frame)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Keep the frame for the recogniser."""
        if self._ears is not None:
            self._ears.hear(frame)

    def sense(self, tick: int, active_a: bool, active_b: bool) -> None:
        """Take whether the system seems to speak; yield if it has spoken over the own words for long enough."""
        spoke_first = self._cues.spoke_first
        self._cues.sense(tick, active_b if self._side == "A" else active_a)
        if self._cues.spoke_first and not spoke_first:
            self._note(tick, SPOKE_FIRST)
        said = self._said
        if said is not None and said.what == "goal" and math.isinf(said.stop) and self._cues.must_yield(tick):
            said.stop = min(tick + 2, said.ends_at())
            self._cues.check.acted_on("start", self._cues.other.since_tick)

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Take the final events of the system, which confirm the early edges or do not."""
        for event in events:
            if event.side == other_side(self._side):
                self._cues.check.notice(event)

    def planted(self) -> Sequence[Planted]:
        """Its interruptions and backchannels."""
        return self._planted

    # What it does

    def _act(self, tick: int) -> None:
        """Do what the cue of this tick asks for."""
        for wrong in self._cues.check.contradicted(tick):
            self._note(tick, CUE_CONTRADICTED, edge=wrong.edge, edge_tick=wrong.tick)
        if self._closed_tick is not None:
            if tick >= self._closed_tick + TAIL_S * TICKS_PER_S:
                self.left = "finished"
            return
        if tick >= self._brief.most_s * TICKS_PER_S:
            self._close(tick, "time limit", "limit")
            return
        if self._ears is not None and self._ears.error is not None:
            self.left = f"the examiner cannot hear: {self._ears.error}"
            return
        cue = self._cues.now(tick)
        if self._cues.other.speaks:
            self._listened = False
        if cue == "system speaks":
            self._give_backchannel(tick)
        elif cue == "opening":
            self._say_goal(tick, cue)
        elif cue is not None:
            self._go_on(tick, cue)
        elif self._ears is not None:
            self._look(tick, self._ears)

    def _look(self, tick: int, ears: Ears) -> None:
        """While the system speaks: break in once the goal is met, if the pacing looks for that."""
        if self._cues.looks(tick):
            ears.listen()
        present = self._agenda.present
        met = present is not None and self._cues.other.speaks and self._pacing.looks_ms is not None
        if present is not None and met and not ears.is_busy and present.goal.is_met_by(ears.words):
            self._after_answer(tick, "goal met", ears.words)

    def _go_on(self, tick: int, cue: Cue) -> None:
        """The system has answered, has let its chance pass, or is interrupted: say what comes next."""
        silent_ticks = tick - self._cues.other.since_tick
        if cue == "no answer" and silent_ticks >= GIVES_UP_S * TICKS_PER_S:
            self._close(tick, "silence", cue)
        elif cue == "no answer":
            self._log_goal(tick, self._agenda.unanswered())
            self._say_next(tick, cue)
        elif self._ears is None:
            self._after_answer(tick, cue, None)
        elif not self._ears.is_busy:  # it may be at work on what came before the end of the answer
            if not self._listened:
                self._ears.listen()
                self._listened = True
            if not self._ears.is_busy:
                self._after_answer(tick, cue, self._ears.words)

    def _after_answer(self, tick: int, cue: Cue, words: str | None) -> None:
        if words:
            self._note(tick, TRANSCRIPT, of="partner", text=words)
        if cue == "answered":
            self._cues.check.acted_on("end", self._cues.other.since_tick)
        self._log_goal(tick, self._agenda.answered(words))
        self._say_next(tick, cue)

    def _say_next(self, tick: int, cue: Cue) -> None:
        if self._agenda.present is None:
            self._close(tick, "all goals", cue)
        elif self._turns >= self._brief.most_turns:
            self._close(tick, "turn limit", cue)
        else:
            self._say_goal(tick, cue)

    def _say_goal(self, tick: int, cue: Cue) -> None:
        number, present = self._agenda.number, self._agenda.present
        assert present is not None
        if self._ears is not None and not present.sayings:
            self._ears.begin(present.goal.language)
        saying = self._agenda.say(tick)
        text = present.goal.sayings[saying]
        self._begin(tick, "goal", text, present.goal.language, cue, goal=number, saying=saying + 1)
        self._turns += 1

    def _close(self, tick: int, reason: str, cue: Cue) -> None:
        first = self._agenda.number
        for number, left in enumerate(self._agenda.drop_the_rest(), first):
            self._log_goal(tick, left, number)
        self._note(tick, ENDS, reason=reason)
        self._begin(tick, "closing", self._brief.closing, self._brief.language, cue)

    def _give_backchannel(self, tick: int) -> None:
        self._cues.gave_backchannel(tick)
        texts = BACKCHANNELS.get(self._brief.language, ())
        if texts:
            text = texts[self._backchannels % len(texts)]
            self._backchannels += 1
            self._begin(tick, "backchannel", text, self._brief.language, "system speaks")

    def _begin(self, tick: int, what: str, text: str, language: str, cue: Cue, **fields: object) -> None:
        self._said = _Utterance(what, self._frames(text, language), tick)
        if what == "backchannel":
            self._said.planted = "backchannel"
        else:
            self._said.planted = "interruption" if self._cues.other.speaks else ""
            self._cues.begin(tick)
        if cue == "answered":
            fields["reaction_ms"] = (tick - self._cues.other.since_tick) * TICK_MS
        self._listened = False
        self._note(tick, SAYS, what=what, cue=cue, **fields)
        self._sayings += 1
        self._note(tick, TRANSCRIPT, of="self", text=text, item=self._saying, start_ms=tick * TICK_MS)

    @property
    def _saying(self) -> str:
        """The name of what it says, or has said last."""
        return f"saying {self._sayings}"

    def _end_saying(self, tick: int, said: _Utterance) -> None:
        of_ticks, said_ticks = len(said.frames), tick - said.start
        self._note(tick, SAID, said_ms=said_ticks * TICK_MS, of_ms=of_ticks * TICK_MS)
        if said_ticks < of_ticks:
            whole_ms, heard_ms = of_ticks * TICK_MS, said_ticks * TICK_MS
            self._note(tick, INTERRUPTED, item=self._saying, said_ms=whole_ms, heard_ms=heard_ms)
        if said.planted:
            self._planted.append(Planted(said.planted, said.start, tick))
        if said.what != "backchannel":
            self._cues.end(tick)
        if said.what == "goal" and said_ticks < of_ticks / 2:
            self._agenda.cut()
        if said.what == "closing":
            self._closed_tick = tick
        self._said = None

    def _log_goal(self, tick: int, left: Progress | None, number: int | None = None) -> None:
        if left is not None:
            number = number or self._agenda.number - 1
            since = {} if left.since_tick is None else {"since_tick": left.since_tick}
            self._note(tick, GOAL, goal=number, verdict=left.verdict, sayings=left.sayings, **since)

    def log(self) -> Sequence[Happening]:
        """What it says and why, what becomes of each goal, and what it heard."""
        happened, self._happened = self._happened, []
        while self._ears is not None and self._ears.usage:
            usage: ModelUsage = self._ears.usage.popleft()
            happened.append(usage.happening(happened[-1].tick if happened else 0))
        return happened

    def describe(self) -> Mapping[str, Any]:
        """The brief, the profile with its times, the voices and the recogniser, as JSON values."""
        asr = self._transcriber
        return {
            "kind": "examiner",
            "actor": "scripted",
            "brief": self._brief.to_json(),
            "pacing": {"name": self._pacing_name, **asdict(self._pacing)},
            "transcriber": None if asr is None else dict(getattr(asr, "describe", lambda: {"name": asr.name})()),
            "voices": {voice: dict(registry.speaker(voice).describe()) for voice in self.voices},
            "level_dbov": self._level_dbov,
            "noise_dbov": self._noise_dbov,
            "seed": self._seed,
        }

    def close(self) -> None:
        """Leave. A recogniser at work ends by its own time-out."""
        if self._ears is not None:
            self._ears.join(CLOSE_S)

    def _note(self, tick: int, kind: str, **fields: object) -> None:
        self._happened.append(Happening(tick, kind, fields))
