"""An examiner: a party that wants several things of the other side, one after the other, and paces the conversation.

    examiner:BRIEF.json?pacing=slow|fast|fdb2-slow|fdb2-fast&opens=either|examiner|system&transcriber=ADDRESS
        &actor=scripted|llm:CHAT

Cues say when it speaks (`fdbcore.endpoints.examiner.cues`), an actor says what, and when a goal is met
(`fdbcore.endpoints.examiner.actor`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import to_builtins

from fdbcore import registry
from fdbcore.audio.noise import ComfortNoise
from fdbcore.endpoints.examiner.actor import SCRIPTED, ActorDecision, ActorSettings, Speech, known_actor
from fdbcore.endpoints.examiner.agenda import Progress
from fdbcore.endpoints.examiner.brief import Brief, read_brief
from fdbcore.endpoints.examiner.cues import Cue, Cues
from fdbcore.endpoints.examiner.pacing import OPENS, PACINGS, Opens
from fdbcore.errors import SettingsError
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
from fdbcore.types.examiner_events import CUE_CONTRADICTED, ENDS, GOAL, JUDGED, SAID, SAYS, SPOKE_FIRST
from fdbcore.types.system_events import INTERRUPTED, TRANSCRIPT
from fdbcore.types.usage import Service

SETTINGS: Final = (
    Setting("pacing", "when it speaks, breaks in and yields", choices=tuple(PACINGS), default="slow"),
    Setting("opens", "the conversation", choices=OPENS, unset="by pacing"),
    Setting("actor", "says what it says", form="the address of an actor", default=SCRIPTED, fits=bool),
    Setting("transcriber", "hears the system's words during the call", form="the address of a transcriber", fits=bool),
    Setting("voice", "of all its texts", form="the address of a speaker", unset="by language", fits=bool),
    Setting("level_dbov", "active speech level", float, -26.0, least=-70, most=0),
    Setting("noise_dbov", "white comfort noise throughout", float, -65.0, least=-96, most=-30),
    Setting("wordings", "how often a goal is put", int, unset="each saying; 3 with a model", least=1, most=100),
    Setting("seed", "of the noise and of what varies in its pacing", int, 0, least=0, most=2**32),
    Setting("rule", "whether a call is invalid for faults of its own", choices=("on", "off"), default="on"),
)

GIVES_UP_S: Final = 30.0
"""It ends the conversation after so much silence of the system."""
TAIL_S: Final = 2.0
"""The silence after its closing statement."""
_FADE: Final = np.linspace(1.0, 0.0, FRAME_SAMPLES, dtype=np.float32)

What: TypeAlias = Literal["goal", "closing", "backchannel"]


def examiner(address: str) -> "Examiner":
    """The examiner at an address of the module. SettingsError for a wrong setting, brief or actor."""
    found = parsed(address, SETTINGS)
    if not found.place:
        raise SettingsError("examiner: expected a brief (examiner:FILE.json), got none")
    hears = found.settings.pop("transcriber")
    brief = read_brief(Path(found.place))
    return Examiner(brief, transcriber=hears and registry.live_transcriber(hears), **found.settings)


@dataclass(eq=False, slots=True)
class _Utterance:
    """The words being said from tick `start` on, up to `stop`. said_ticks: how many frames of the speech were said."""

    what: What
    speech: Speech
    start: int
    planted: str
    stop: float = math.inf
    said_ticks: int = 0

    def is_over(self, tick: int) -> bool:
        return tick >= self.stop or (self.speech.is_whole and self.said_ticks == len(self.speech.frames))

    def next_frame(self) -> Pcm:
        """Silence if nothing has come yet."""
        if self.said_ticks == len(self.speech.frames):
            return SILENT_FRAME
        self.said_ticks += 1
        return self.speech.frames[self.said_ticks - 1]

    @property
    def left_ticks(self) -> int:
        """Ticks of it that were not said, as far as that is known."""
        least_ticks = 0 if self.speech.is_whole else 1
        return len(self.speech.frames) - self.said_ticks + max(least_ticks, self.speech.coming_ticks)


class Examiner(Endpoint):
    """See the module. The actor gets ready in `open`; during the call the examiner only follows its cues."""

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
        actor: str = SCRIPTED,
        rule: str = "on",
        wordings: int | None = None,
        opens: Opens | None = None,
    ) -> None:
        self._brief, self._pacing_name, self._pacing = brief, pacing, PACINGS[pacing]
        if opens is not None:
            self._pacing = replace(self._pacing, opens=opens)
        self.mutes_ticks = self._pacing.mutes_ms // TICK_MS
        self._noise_dbov, self._seed, self._rule = noise_dbov, seed, rule
        self._noise = ComfortNoise(noise_dbov, seed)
        self._cues = Cues(self._pacing, Random(seed))
        given = ActorSettings(brief, self._pacing, transcriber, voice, level_dbov, wordings)
        self._actor = known_actor(actor)(actor, given)
        self._agenda = self._actor.agenda
        self.clocking, self.calls_at_once = self._actor.clocking, self._actor.calls_at_once
        self.speech_dbov = level_dbov if self._actor.clocking == "tick" else None  # a party has its own level
        self._tick = 0
        self._cue: Cue | None = None
        self._cue_tick = 0  # since which the present cue holds
        self._waits_for: tuple[What, Cue] | None = None  # speech that the actor has not got ready yet
        self._said: _Utterance | None = None
        self._sayings = 0
        self._turns = 0
        self._backchannels = 0
        self._closed_tick: int | None = None
        self._happened: list[Happening] = []
        self._planted: list[Planted] = []

    def services(self) -> Sequence[Service]:
        """The services of its actor."""
        return self._actor.services()

    def probe(self) -> None:
        """See `Endpoint.probe`."""
        self._actor.probe()

    def open(self, side: Side) -> None:
        """Let the actor get ready. InputError for what cannot be spoken, PartyError for a service that fails."""
        self._side = side
        self._actor.open(side)

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None on a clock that never waits, on which the actor waits for its models."""
        self._actor.start(origin_ns)

    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`, int16 (480,): of its words, or the noise between them."""
        self._tick = tick
        for report in self._actor.reported():
            self._log_goal(tick, report.left, report.reason)
        if self._said is not None and self._said.is_over(tick):
            self._end_saying(tick, self._said)
        if self._said is None:
            self._act(tick)
        if self.left is not None:
            return None
        frame = SILENT_FRAME
        if self._said is not None:
            frame = self._said.next_frame()
            if tick + 1 == self._said.stop:  # fade out in the last frame, so that breaking off does not click
                frame = (frame * _FADE).astype(np.int16)
        return self._noise.under(frame)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Let the actor hear the frame."""
        self._actor.hear(tick, frame)

    def sense(self, tick: int, active_a: bool, active_b: bool) -> None:
        """Take whether the system seems to speak; yield if it has spoken over the own words for long enough."""
        spoke_first = self._cues.spoke_first
        edge = self._cues.sense(tick, active_b if self._side == "A" else active_a)
        if edge is not None:
            (self._actor.resumed if edge == "start" else self._actor.paused)(tick)
        if edge == "start" and self._waits_for is not None and self._waits_for[0] == "goal" and self._is_overtaken:
            self._waits_for = None  # it is decided anew at the next cue
        if self._cues.spoke_first and not spoke_first:
            self._note(tick, SPOKE_FIRST)
        said = self._said
        if said is not None and said.what == "goal" and math.isinf(said.stop) and self._cues.must_yield(tick):
            said.stop = tick + 2
            self._cues.check.acted_on("start", self._cues.other_since)

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Take the final events of the system, which confirm the early edges or do not."""
        for event in events:
            if event.side == other_side(self._side):
                self._cues.check.notice(event)

    def planted(self) -> Sequence[Planted]:
        """Its interruptions and backchannels."""
        return self._planted

    # Actions

    def _act(self, tick: int) -> None:
        """Do what the cue of this tick asks for."""
        for wrong in self._cues.check.contradicted(tick):
            self._note(tick, CUE_CONTRADICTED, edge=wrong.edge, edge_tick=wrong.tick)
        if self._closed_tick is not None:
            if self._goes_on(tick):
                self._speak(tick, "closing", "goes on")
            elif tick >= self._closed_tick + TAIL_S * TICKS_PER_S:
                self.left = "finished"
        elif (error := self._actor.error) is not None:
            self.left, self.transient = " ".join(str(error).split()), error.transient
        elif self._agenda.present is not None and tick >= self._brief.most_s * TICKS_PER_S:
            self._close(tick, "time limit", "limit")
        elif self._waits_for is None:
            self._follow(tick, self._cues.now(tick, self._agenda.is_put_once))
        elif not (self._is_overtaken and self._cues.other.speaks):
            what, cue = self._waits_for
            if what == "goal" and self._agenda.present is None:
                self._close(tick, "all goals", cue)
            else:
                self._speak(tick, what, cue)

    @property
    def _is_overtaken(self) -> bool:
        """True if speech of the system takes away the cue of what the actor has not got ready yet."""
        return self._waits_for is not None and self._waits_for[1] not in ("breaks in", "goal met", "limit")

    def _goes_on(self, tick: int) -> bool:
        """True if the actor has more to say, and the system has not spoken since its last words."""
        return self._cues.has_the_floor and self._actor.goes_on(tick)

    def _follow(self, tick: int, cue: Cue | None) -> None:
        if cue != self._cue:
            self._cue, self._cue_tick = cue, tick
        if cue == "system speaks":
            self._give_backchannel(tick)
        elif cue == "opening":
            self._speak(tick, "goal", cue)
        elif cue == "pause":
            self._go_on(tick, "goal met", self._actor.decide(tick, cue))
        elif cue == "no answer" and tick - self._cues.other.since_tick >= GIVES_UP_S * TICKS_PER_S:
            self._close(tick, "silence", cue)
        elif cue is not None:
            self._go_on(tick, cue, self._actor.decide(tick, cue))
        elif self._pacing.looks_ms is not None and self._cues.other.speaks:
            self._go_on(tick, "goal met", self._actor.look(tick, self._cues.looks(tick)))
        elif self._goes_on(tick):
            self._go_on(tick, "goes on", self._actor.decide(tick, "goes on"))

    def _go_on(self, tick: int, cue: Cue, decision: ActorDecision | None) -> None:
        """The system has answered, has let its chance pass, or is interrupted: say what comes next."""
        if decision is None:
            return
        if decision.heard:
            self._note(tick, TRANSCRIPT, of="partner", text=decision.heard)
        if cue == "answered":
            self._cues.check.acted_on("end", self._cues.other.since_tick)
        if decision.met is not None:
            number = self._agenda.number - (decision.left is not None)
            self._note(tick, JUDGED, goal=number, met=decision.met, reason=decision.reason)
        if decision.left is not None:
            self._log_goal(tick, decision.left, decision.reason)
        if self._agenda.present is None:
            self._close(tick, "all goals", cue)
        elif self._turns >= self._brief.most_turns:
            self._close(tick, "turn limit", cue)
        else:
            self._speak(tick, "goal", cue)

    def _close(self, tick: int, reason: str, cue: Cue) -> None:
        for left in self._agenda.drop_the_rest():
            self._log_goal(tick, left)
        self._note(tick, ENDS, reason=reason)
        self._speak(tick, "closing", cue)

    def _speak(self, tick: int, what: What, cue: Cue) -> None:
        """Begin to say it, or as soon as the actor has it ready."""
        item, number = f"saying {self._sayings + 1}", self._agenda.number
        speech = (self._actor.words if what == "goal" else self._actor.closing)(tick, item)
        self._waits_for = (what, cue) if speech is None else None
        if speech is not None and what == "goal":
            self._turns += 1
            self._begin(tick, what, speech, cue, goal=number, saying=speech.wording)
        elif speech is not None:
            self._begin(tick, what, speech, cue)

    def _give_backchannel(self, tick: int) -> None:
        self._cues.gave_backchannel(tick)
        speech = self._actor.backchannel(tick, self._backchannels)
        if speech is not None:
            self._backchannels += 1
            self._begin(tick, "backchannel", speech, "system speaks")

    def _begin(self, tick: int, what: What, speech: Speech, cue: Cue, **fields: object) -> None:
        if what == "backchannel":
            planted = "backchannel"
        else:
            planted = "interruption" if self._cues.other.speaks and cue != "limit" else ""
            self._cues.begin(tick)
        self._said = _Utterance(what, speech, tick, planted)
        if cue == "answered":
            fields["reaction_ms"] = (tick - self._cues.other.since_tick) * TICK_MS
            fields["silence_ms"] = self._cues.over_ticks * TICK_MS
        if cue == self._cue and tick > self._cue_tick:
            fields["waited_ms"] = (tick - self._cue_tick) * TICK_MS
        self._note(tick, SAYS, what=what, cue=cue, **fields)
        self._sayings += 1
        if speech.text:
            self._note(tick, TRANSCRIPT, of="self", text=speech.text, item=self._saying, start_ms=tick * TICK_MS)

    @property
    def _saying(self) -> str:
        """The name of what it says, or has said last."""
        return f"saying {self._sayings}"

    def _end_saying(self, tick: int, said: _Utterance) -> None:
        said_ticks, of_ticks = tick - said.start, tick - said.start + said.left_ticks
        self._note(tick, SAID, said_ms=said_ticks * TICK_MS, of_ms=of_ticks * TICK_MS)
        if said_ticks < of_ticks:
            whole_ms, heard_ms = of_ticks * TICK_MS, said_ticks * TICK_MS
            self._note(tick, INTERRUPTED, item=self._saying, said_ms=whole_ms, heard_ms=heard_ms)
        if said.planted:
            self._planted.append(Planted(said.planted, said.start, tick))
        if said.what != "backchannel":
            self._cues.end(tick)
        if said.what == "goal":
            self._agenda.ended(is_heard=said_ticks >= of_ticks / 2)
        if said.what == "closing":
            self._closed_tick = tick
        self._actor.ended(tick, said.speech, said_ticks / max(of_ticks, 1))
        self._said = None

    def _log_goal(self, tick: int, left: Progress, reason: str = "") -> None:
        number = next(number for number, each in enumerate(self._agenda.progress, 1) if each is left)
        since = {} if left.since_tick is None else {"since_tick": left.since_tick}
        why = {"reason": reason} if reason else {}
        self._note(tick, GOAL, goal=number, verdict=left.verdict, sayings=left.sayings, **since, **why)

    def log(self) -> Sequence[Happening]:
        """Events: what it says and why, what becomes of each goal, and what it heard."""
        happened, self._happened = self._happened, []
        return [*happened, *self._actor.log(self._tick)]

    def measured(self) -> Mapping[str, Any]:
        """See `Endpoint.measured`."""
        return self._actor.measured()

    def describe(self) -> Mapping[str, Any]:
        """The brief, the profile with its times, and the actor with who speaks and hears for it, as JSON values."""
        return {
            "kind": "examiner",
            "actor": self._actor.name,
            "brief": to_builtins(self._brief),
            "pacing": {"name": self._pacing_name, **asdict(self._pacing), "mutes_ms": self._pacing.mutes_ms},
            **self._actor.describe(),
            "noise_dbov": self._noise_dbov,
            "seed": self._seed,
            "rule": self._rule,
        }

    def close(self) -> None:
        """Leave. A model at work ends by its own time-out."""
        self._actor.close()

    def _note(self, tick: int, kind: str, **fields: object) -> None:
        self._happened.append(Happening(tick, kind, fields))
