"""The seam between an examiner's cues, which say when it speaks, and its actor, which says what.

scripted                               the sayings of the brief (`scripted_actor`), by default
llm:openai:NAME, llm:local:NAME        a chat model writes what a speaker says (`llm_actor`)
openai-realtime:MODEL, gemini-live...  a live party that takes instructions and tools (`live_actor`)
verbatim:grok:MODEL, ...               a live party that says the sayings of the brief (`verbatim_actor`)
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from fdbcore.endpoints.examiner.agenda import Agenda, Progress
from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.endpoints.examiner.cues import Cue
from fdbcore.endpoints.examiner.pacing import Pacing
from fdbcore.errors import FdbError, PartyError, SettingsError
from fdbcore.protocols import Clocking, Transcriber
from fdbcore.registry import endpoints, resolve
from fdbcore.types import Happening, Pcm, Side
from fdbcore.types.usage import Service

SCRIPTED: Final = "scripted"
WORDINGS: Final = 3
"""Attempts of a model at a goal until it is unmet, if nothing else is set."""
ACTORS: Final = {
    "llm": "fdbcore.endpoints.examiner.llm_actor:LlmActor",
    "verbatim": "fdbcore.endpoints.examiner.verbatim_actor:VerbatimActor",
    SCRIPTED: "fdbcore.endpoints.examiner.scripted_actor:ScriptedActor",
}
"""Each makes an actor from its whole address and an `ActorSettings`."""
LIVE: Final = "fdbcore.endpoints.examiner.live_actor:LiveActor"
"""Makes one of every other address, which is that of a party."""


@dataclass(frozen=True, slots=True)
class ActorSettings:
    """Settings that every actor is given.

    voice: the address of the speaker of all texts; None: by language. wordings: how often a goal is put until it is
    unmet, where a goal that is not met can be left; None: as the actor has it.
    """

    brief: Brief
    pacing: Pacing
    transcriber: Transcriber | None = None
    voice: str | None = None
    level_dbov: float = -26.0
    wordings: int | None = None


@dataclass(eq=False, slots=True)
class Speech:
    """Speech of an actor. The actor may append to it until it is whole; where nothing has come, the examiner is silent.

    text: "" where nobody knows it before it is said. frames: of int16 (480,). wording: of its goal, from 1.
    coming_ticks: how much more is known to come, or would have come if it had not been cut short elsewhere.
    """

    text: str
    frames: Sequence[Pcm]
    wording: int = 1
    is_whole: bool = True
    coming_ticks: int = 0


class ActorDecision(NamedTuple):
    """An actor's verdict on what the system did.

    heard: the system's words, None if nobody listened. left: the goal, if it is left now. reason, met: of a model that
    has judged the goal; None if none has.
    """

    heard: str | None
    left: Progress | None
    reason: str = ""
    met: bool | None = None


class ActorReport(NamedTuple):
    """A goal that an actor left without being asked. reason: why."""

    left: Progress
    reason: str


class Actor(Protocol):
    """Derive from this class, and write the abstract methods. All calls but `open` come on the thread of the ticks.

    The examiner asks for the words of the present goal of `agenda`, and for the closing statement once there is none.
    """

    name: str
    """Its address."""
    agenda: Agenda
    clocking: Clocking = "tick"
    """See `Endpoint.clocking`."""
    calls_at_once: int | None = None
    """See `Endpoint.calls_at_once`."""

    @property
    def error(self) -> PartyError | None:
        """The reason why the call must end. It is then invalid, which is not the system's fault."""
        return None

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return ()

    def probe(self) -> None:
        """See `Endpoint.probe`."""
        self.open("A")

    def open(self, side: Side) -> None:
        """See `Endpoint.open`."""
        return

    def start(self, origin_ns: int | None) -> None:
        """See `Endpoint.start`. On a clock that never waits, nothing that it is asked for comes later."""
        return

    def hear(self, tick: int, frame: Pcm) -> None:
        """Take the system's frame, int16 (480,)."""
        return

    def paused(self, tick: int) -> None:
        """The system seems to have stopped: a cue may follow."""
        return

    def resumed(self, tick: int) -> None:
        """The system seems to speak, or to go on: what was decided about what it said before does not hold."""
        return

    @abstractmethod
    def decide(self, tick: int, cue: Cue) -> ActorDecision | None:
        """The verdict on the system's answer, or on its silence, at a cue. None: not yet; it is asked again each tick.

        At the cue "pause" the answer may go on: only a decision that leaves the goal as met counts then.
        """

    def reported(self) -> Sequence[ActorReport]:
        """The goals that it left by itself since this was last asked. Called once a tick."""
        return ()

    def goes_on(self, tick: int) -> bool:
        """True if it has more to say, although the system has not said anything since its last words."""
        return False

    def look(self, tick: int, due: bool) -> ActorDecision | None:
        """While the system speaks, each tick: what it said, once the goal is met by it.

        due: a look is due by the pacing.
        """
        return None

    @abstractmethod
    def words(self, tick: int, item: str) -> Speech | None:
        """The speech for the present goal, from `tick` on; None: not yet. item: what events call it."""

    @abstractmethod
    def closing(self, tick: int, item: str) -> Speech | None:
        """The closing statement; None: not yet."""

    def backchannel(self, tick: int, number: int) -> Speech | None:
        """Backchannel `number`, from 0; None if it gives none."""
        return None

    def ended(self, tick: int, speech: Speech, said_share: float) -> None:
        """So much of what it has given is said; the rest will not be."""
        return

    def measured(self) -> Mapping[str, Any]:
        """See `Endpoint.measured`."""
        return {}

    def log(self, tick: int) -> Sequence[Happening]:
        """See `Endpoint.log`."""
        return ()

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Its settings beside the brief and the pacing; see `Endpoint.describe`."""

    def close(self) -> None:
        """See `Endpoint.close`."""
        return


def known_actor(address: str) -> Callable[[str, ActorSettings], Actor]:
    """The maker of the actor at an address: it takes this and the settings. SettingsError if it is unknown; that raises
    one, too, for an actor that cannot play the brief.
    """
    known = dict.fromkeys(endpoints(), LIVE) | ACTORS
    make: Callable[[str, ActorSettings], Actor] = resolve("actor", known, address.partition(":")[0])
    return make


def check_words(brief: Brief) -> None:
    """SettingsError for a goal without words, of an actor that says them as they are."""
    for number, goal in enumerate(brief.goals, 1):
        if not goal.sayings:
            raise SettingsError(f"{brief.id}: goal {number}: expected words to say, got none")


def fault(what: str, error: FdbError) -> PartyError:
    """An error of an actor: what it cannot do, and why."""
    return PartyError(f"{what}: {error}", isinstance(error, PartyError) and error.transient)
