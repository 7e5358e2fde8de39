"""An actor that is a live party: it hears the system, speaks by itself, and reports its goals by calls of a tool.

    examiner:BRIEF.json?actor=openai-realtime:gpt-realtime-2.1

The party gets the goals as instructions (`fdbcore.endpoints.examiner.part`). What it says is held back until a cue lets
it speak, and then heard from its beginning. If the system goes on before any of it was heard, a party that can be told
so takes it back, and answers anew. It is asked to speak where it does not by itself.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fdbcore import registry
from fdbcore.endpoints.examiner import part
from fdbcore.endpoints.examiner.actor import WORDINGS, Actor, ActorDecision, ActorReport, ActorSettings, Speech
from fdbcore.endpoints.examiner.agenda import Agenda
from fdbcore.endpoints.examiner.cues import Cue
from fdbcore.errors import PartyError, told_as
from fdbcore.runtime.redaction import redacted
from fdbcore.types import TICK_MS, TICKS_PER_S, Happening, Pcm, Side
from fdbcore.types.examiner_events import ASKS, TAKES_BACK
from fdbcore.types.system_events import INTERRUPTED, ITEM, TRANSCRIPT
from fdbcore.types.tools import ResultStatus, ToolCall, ToolResult
from fdbcore.types.usage import Service

ASKS_AFTER_S: Final = 2.0
"""It is asked for an answer that does not come by itself for so long."""
ASKS_AGAIN_S: Final = 8.0
GIVES_UP_S: Final = 30.0
"""If nothing comes for so long after a cue, the call is over."""
SETTLES_TICKS: Final = 10
"""The longest that a party takes to drop what is not heard: until then, nothing of it is looked at."""
STALE_TICKS: Final = 30
"""If the system still speaks so long after an answer came, the answer came too early; an early end is known by then."""

_DIRECTIONS: Final[Mapping[Cue, str]] = {
    "opening": part.OPENING,
    "no answer": part.NO_ANSWER,
    "breaks in": part.BREAK_IN,
}
"""Directions to speak at once, by cue; every other answer comes by itself."""


class LiveActor(Actor):
    """See the module. The examiner asks for words; they are a `Speech` that grows by a frame in each tick."""

    def __init__(self, address: str, settings: ActorSettings) -> None:
        self.name = redacted(address)
        self.agenda = Agenda(settings.brief, settings.pacing.insists)
        self._brief, self._insists = settings.brief, settings.pacing.insists
        self._wordings = settings.wordings or WORDINGS
        self._party = registry.endpoint(address)
        with told_as(f"--examiner {self.name}", ""):
            self._party.take_part(part.instructions_of(settings.brief, self._wordings))
            self._party.take_tools([part.REPORT])
        self.clocking, self.calls_at_once = self._party.clocking, self._party.calls_at_once
        self._happened: list[Happening] = []
        self._left: deque[ActorReport] = deque()
        self._cue: Cue = "opening"
        self._has_opened = False
        self._wanted_tick: int | None = None  # since when words are asked for
        self._asked_tick: int | None = None
        self._has_reported = False  # a goal, since it was last heard
        self._knows_end = False  # it was told to say the closing statement
        self._first: Pcm | None = None  # of what waits to be heard
        self._first_tick = 0
        self._system_speaks = False
        self._settled_tick = 0
        self._speech: Speech | None = None  # heard now
        self._frames: list[Pcm] = []  # of it
        self._own_words = OwnWords()
        self._error: PartyError | None = None

    # Called by the examiner before and after the conversation, and in each tick

    @property
    def error(self) -> PartyError | None:
        """The failure of the party: why it left, or that it said nothing."""
        return self._error

    def services(self) -> Sequence[Service]:
        """The services of the party."""
        return self._party.services()

    def probe(self) -> None:
        """See `Endpoint.probe`."""
        self._party.probe()

    def open(self, side: Side) -> None:
        """Let the party join. PartyError if it is not available."""
        self._party.open(side)

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now."""
        self._party.start(origin_ns)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Pass the system's frame on; take the party's calls, and what it says next."""
        self._party.hear(tick, frame)
        for call in self._party.tool_calls():
            if call.stage == "complete":
                self._party.take_result(tick, ToolResult(call.id, call.name, *self._answer(call)))
        if self._speech is None:
            self._look(tick)
        elif not self._speech.is_whole:
            self._hear_party(tick, self._speech)

    def resumed(self, tick: int) -> None:
        """The system speaks: what waits answers something that was not over."""
        self._system_speaks = True
        self._wanted_tick, self._cue = None, "answered"
        self._take_back_if_it_knows(tick)

    def paused(self, tick: int) -> None:
        """The system has stopped."""
        self._system_speaks = False

    def measured(self) -> Mapping[str, Any]:
        """See `Endpoint.measured`."""
        return self._party.measured()

    def describe(self) -> Mapping[str, Any]:
        """The party, and how often it is told to put a goal, as JSON values."""
        return {"party": dict(self._party.describe()), "wordings": self._wordings}

    def close(self) -> None:
        """Let the party leave."""
        self._party.close()

    def log(self, tick: int) -> Sequence[Happening]:
        """The party's events; its own words and items by what was heard of them."""
        happened, self._happened = self._happened, []
        rest = self._own_words.take(self._party.log())
        if self._speech is not None and self._own_words.are_over and not self._party.waiting_ms():
            self._speech.is_whole = True  # nothing comes any more, also where its own server cut it short
            self._speech.coming_ticks = self._own_words.unheard_ms // TICK_MS
        return [*happened, *rest, *self._own_words.told(tick)]

    # Decisions

    def reported(self) -> Sequence[ActorReport]:
        """The goals that the party has reported."""
        return [self._left.popleft() for _ in range(len(self._left))]

    def decide(self, tick: int, cue: Cue) -> ActorDecision | None:
        """The party judges by itself; the cue only lets it speak."""
        if cue == "pause" and not self._has_reported:
            return None
        self._cue = cue
        return ActorDecision(None, None)

    def goes_on(self, tick: int) -> bool:
        """True if something waits to be heard."""
        return self._first is not None

    def _answer(self, call: ToolCall) -> tuple[ResultStatus, Any]:
        """Take a report; what the party is told."""
        given, present = call.arguments, self.agenda.present
        if call.name != part.REPORT.name:
            return "unknown", f"expected {part.REPORT.name}, got {call.name!r}"
        if not isinstance(given, Mapping) or type(given.get("goal")) is not int or type(given.get("met")) is not bool:
            return "malformed", f"expected goal, a number, and met, true or false, got {given!r:.100}"
        if present is None:
            return "error", part.after_report(self._brief, self.agenda.number)
        if given["goal"] != self.agenda.number:
            return "error", f"Goal {self.agenda.number} is not over yet. Report it first."
        if self.agenda.is_cut:
            return "error", "Less than half of your last words was heard. Say them again."
        if self._insists and not given["met"]:
            return "error", "Only a goal that is met leads on. Say it in other words."
        self._left.append(ActorReport(self.agenda.judge(given["met"]), str(given.get("reason") or "")))
        self._has_reported = True
        self._knows_end = self.agenda.present is None
        return "ok", {"next": part.after_report(self._brief, self.agenda.number)}

    # Speech

    def words(self, tick: int, item: str) -> Speech | None:
        """The speech that waits, for the present goal; if none does, the party is asked for it."""
        if self._first is None:
            cue = self._cue if self._has_opened else "opening"
            self._ask(tick, _DIRECTIONS.get(cue, part.ANSWER), cue in _DIRECTIONS)
            return None
        return self._begin_goal(tick, item, self._first)

    def closing(self, tick: int, item: str) -> Speech | None:
        """The closing statement. A party that did not end its goals by itself is told to say it, and nothing else."""
        if not self._knows_end:
            self._knows_end = True
            self._take_back(tick)
            self._ask(tick, part.ending(self._brief), at_once=True)
        elif self._first is not None:
            return self._begin(tick, item, self._first, 1)
        else:
            self._ask(tick, part.ending(self._brief), at_once=False)
        return None

    def ended(self, tick: int, speech: Speech, said_share: float) -> None:
        """It was heard to its end, or was cut short."""
        self._own_words.end(tick)
        self._speech = None
        if not speech.is_whole:
            self._silence(tick)

    def _begin_goal(self, tick: int, item: str, first: Pcm) -> Speech:
        present = self.agenda.present
        assert present is not None
        if self._cue != "goes on" or self.agenda.is_cut or not present.sayings:
            self.agenda.say(tick)
        return self._begin(tick, item, first, present.sayings)

    def _begin(self, tick: int, item: str, first: Pcm, wording: int) -> Speech:
        self._own_words.begin(item, tick)
        self._has_opened, self._has_reported = True, False
        self._frames = [first]
        self._speech = Speech("", self._frames, wording, is_whole=False)
        self._first = self._wanted_tick = self._asked_tick = None
        return self._speech

    def _hear_party(self, tick: int, speech: Speech) -> None:
        """Take what is to be heard in the next tick."""
        frame = self._party.say(tick)
        if frame is None:
            self._note_that_it_left()
            speech.is_whole = True
        else:
            self._frames.append(frame.copy())
            speech.coming_ticks = self._party.waiting_ms() // TICK_MS

    def _look(self, tick: int) -> None:
        """Find out whether the party has something to say, and whether it came too early."""
        if self._first is None:
            frame = None if tick < self._settled_tick else self._party.say(tick)
            if frame is not None and frame.any():
                self._first, self._first_tick = frame.copy(), tick
            self._note_that_it_left()
        elif self._system_speaks and self._cue != "breaks in" and tick - self._first_tick >= STALE_TICKS:
            self._take_back_if_it_knows(tick)

    def _note_that_it_left(self) -> None:
        if self._error is None and self._party.left is not None:
            self._error = PartyError(self._party.left, self._party.transient)

    def _take_back_if_it_knows(self, tick: int) -> None:
        """Drop what waits, if the party is told that it was not heard: it will say it anew."""
        if self._first is not None and self._party.knows_what_is_heard:
            self._take_back(tick)

    def _take_back(self, tick: int) -> None:
        """Drop what waits, and what the party is about to say, and note it."""
        if self._first is not None:
            self._happened.append(Happening(tick, TAKES_BACK, {}))
        self._drop(tick)

    def _drop(self, tick: int) -> None:
        self._own_words.take_back()
        self._silence(tick)

    def _silence(self, tick: int) -> None:
        self._first = None
        self._settled_tick = tick + SETTLES_TICKS
        self._party.hush(tick)

    def _ask(self, tick: int, text: str, at_once: bool) -> None:
        """Ask the party to speak, if it is time to. at_once: otherwise it is given time to do so by itself."""
        if self._wanted_tick is None:
            self._wanted_tick, self._asked_tick = tick, None
        waited_s = (tick - self._wanted_tick) / TICKS_PER_S
        if waited_s >= GIVES_UP_S:
            self._error = PartyError(f"{self.name}: said nothing for {GIVES_UP_S:g} s")
        elif self._asked_tick is None:
            is_due = at_once or waited_s >= ASKS_AFTER_S
        else:
            is_due = (tick - self._asked_tick) / TICKS_PER_S >= ASKS_AGAIN_S
        if self._error is None and is_due:
            self._asked_tick = tick
            self._party.ask(tick, text)
            self._happened.append(Happening(tick, ASKS, {"text": text}))


LATE_S: Final = 2.0
"""A transcript may come so long after its words were heard."""


class OwnWords:
    """Gathers what a party tells of its own words, item by item, and gives them out by sayings, in their order.

    unheard_ms: of the present saying, what had come and was cut short.
    """

    def __init__(self) -> None:
        self.unheard_ms = 0
        self._texts: list[tuple[str, str]] = []  # by item, until they are told
        self._heard: list[str] = []  # items, since the present saying began
        self._dropped: set[str] = set()
        self._takes_back = False
        self._saying = ""  # the saying not told yet
        self._start_tick = 0
        self._end_tick: int | None = None
        self._happened: list[Happening] = []

    @property
    def are_over(self) -> bool:
        """True if an item of the present saying was heard to its end, or was cut short."""
        return bool(self._heard)

    def begin(self, saying: str, tick: int) -> None:
        """Begin this saying: all that is heard from now on."""
        self._tell(tick)
        self._saying, self._start_tick, self._end_tick = saying, tick, None
        self._heard, self._takes_back, self.unheard_ms = [], False, 0

    def end(self, tick: int) -> None:
        """The saying is over."""
        self._end_tick = tick

    def take_back(self) -> None:
        """Count as not heard at all what is cut short before the next saying begins."""
        self._takes_back = True

    def take(self, happened: Iterable[Happening]) -> list[Happening]:
        """Take the words, and what was heard of them, out of a party's log; return the rest."""
        rest = []
        for each in happened:
            item = str(each.fields.get("item"))
            if each.kind == TRANSCRIPT and each.fields.get("of") == "self":
                if item not in self._dropped:
                    self._texts.append((item, str(each.fields["text"])))
            elif each.kind == INTERRUPTED and self._takes_back:
                self._dropped.add(item)
                self._texts = [told for told in self._texts if told[0] != item]
            elif each.kind in (ITEM, INTERRUPTED):
                self._heard.append(item)
                if each.kind == INTERRUPTED:
                    self.unheard_ms += int(each.fields["said_ms"]) - int(each.fields["heard_ms"])
            else:
                rest.append(each)
        return rest

    def told(self, tick: int) -> Sequence[Happening]:
        """The words of the saying before `tick`, once they are known."""
        if self._saying and self._end_tick is not None:
            known = {item for item, _ in self._texts}
            are_all_known = bool(self._heard) and known.issuperset(self._heard)
            if are_all_known or tick >= self._end_tick + LATE_S * TICKS_PER_S:
                self._tell(tick)
        happened, self._happened = self._happened, []
        return happened

    def _tell(self, tick: int) -> None:
        """Tell the words of the saying, as far as they are known: there is one text for each."""
        if not self._saying:
            return
        text = " ".join(text.strip() for item, text in self._texts if item in self._heard)
        self._texts = [told for told in self._texts if told[0] not in self._heard]
        end_ms = (tick if self._end_tick is None else self._end_tick) * TICK_MS
        times = {"start_ms": self._start_tick * TICK_MS, "end_ms": end_ms}
        fields = {"of": "self", "text": text, "item": self._saying, **times}
        self._happened.append(Happening(tick, TRANSCRIPT, fields))
        self._saying = ""
