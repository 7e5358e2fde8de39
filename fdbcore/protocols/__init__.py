"""The seams: what a part must implement to take its place in the loop. Each protocol is small.

`fdbcore.protocols.suite` has those of a benchmark.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import Happening, Pcm, Planted, Reply, Request, Rubric, Side, TurnEvent
from fdbcore.types.chat import ChatMessage, ChatPart
from fdbcore.types.tools import Tool, ToolCall, ToolResult
from fdbcore.types.usage import ModelUsage, Service
from fdbcore.types.words import TimedWord

if TYPE_CHECKING:
    from fdbcore.types.timing import TimingCertificate

Clocking = Literal["tick", "input", "burst", "realtime"]
"""The driver of an endpoint's output: the tick (replay, scripted), its own input (Moshi), the bursts of a vendor's
server, or real time (WebRTC). A virtual clock can only drive the first two."""


class Clock(Protocol):
    """Paces the loop. `realtime` is False for a clock that never waits."""

    realtime: bool

    @property
    def origin_ns(self) -> int | None:
        """The due time of tick 0, in ns of time.monotonic_ns; None before tick 0, and on a clock that never waits."""

    def wait(self, tick: int) -> int:
        """Sleep until `tick` is due, and return by how many whole ticks it is overdue. Ticks come in order from 0."""

    def certificate(self) -> TimingCertificate:
        """Measurements of the timing so far, as JSON values."""


class Endpoint(Protocol):
    """One side of a conversation. The loop calls `say`, `hear` and `notice` once a tick, in this order.

    So what a side says in tick n can depend on what it heard up to tick n - 1. Derive from this class and write `say`
    and `hear`; the other methods have defaults that suit a party without a connection. `say` and `hear` do not raise
    when the party misbehaves: `say` returns None from then on, and `left` says why.
    """

    clocking: Clocking = "tick"
    calls_at_once: int | None = None
    """Conversations that the party can hold at a time; None: any number."""
    left: str | None = None
    """The reason this side will never speak again ("finished", "closed by the server", ...), set once `say` gives None.

    If the other side ended the conversation, it may be set by `close`: what this side did wrong while leaving."""
    gone_tick: int | None = None
    """Once it has `left`: the tick since which nothing came from it, as far as it knows. It may still have said what
    came before."""
    waits: bool = False
    """True if the party now waits for somebody to join; read while `open` runs."""
    transient: bool = False
    """True if another conversation may succeed although this side `left` (it was busy or overloaded)."""
    follows_activity: bool = False
    """True if the loop calls `sense`."""
    mutes_ticks: int = 0
    """Ticks from tick 0 on in which this side is alone to be heard: what the other side says then is lost, and the
    recording holds silence in its place. Read once, before tick 0."""
    knows_what_is_heard: bool = False
    """True if `hush` tells its model what was heard, so that this says again what was not."""
    recites: bool = False
    """True if it can `recite`."""
    speech_dbov: float | None = None
    """The active level of its speech (ITU-T P.56), if that is known once it is open."""
    plays: Path | None = None
    """The file that it says from tick 0, once it is open; None if it plays none, or plays it otherwise than it is."""

    def open(self, side: Side) -> None:
        """Get ready, within its own time-outs. PartyError if the party is not available.

        Both sides are opened at the same time, each on a thread of its own.
        """
        return

    def services(self) -> Sequence[Service]:
        """The servers that this party will send audio or words to, those on this machine too; asked before `open`."""
        return ()

    def probe(self) -> None:
        """Find out whether a call could be held, at the least cost: for `fdbcore doctor`, in place of `open`.

        PartyError, which names what is wrong: the key, the model, the quota, the region, the network. `close` follows.
        The default suits a party that costs nothing until it is spoken to.
        """
        self.open("B")

    def take_recording(self, path: Path) -> None:
        """Take the file that the partner `plays`. Called once both are open, before `start`, if there is one."""
        return

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. What the party said before now is dropped and counted.

        origin_ns: when tick 0 was due, in ns of time.monotonic_ns; None on a clock that never waits (lockstep).
        """
        return

    @abstractmethod
    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`: int16 (480,), valid until the next call; None if this side will never speak again."""

    @abstractmethod
    def hear(self, tick: int, frame: Pcm) -> None:
        """Take the partner's frame of `tick`, int16 (480,); the frame is valid only during the call.

        The loop skips missed ticks for a side whose `clocking` is not "tick". Both sides were silent in them.
        """

    def sense(self, tick: int, active_a: bool, active_b: bool) -> None:
        """Take whether each side seems to speak in `tick`: early, and perhaps wrong (see `Vad.seems_active`).

        Called once a tick after `hear`, if `follows_activity`.
        """
        return

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Take the turn events of both sides that became known in `tick`. Called after `hear` if there are any."""
        return

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Take the tools that this party may call, before `open`; it declares them in its own dialect.

        Called only if the conversation has tools. SettingsError if this party cannot call any.
        """
        raise SettingsError("it cannot call tools")

    def tool_calls(self) -> Sequence[ToolCall]:
        """The steps of this party in calls of tools since this was last asked. Called once a tick, after `notice`."""
        return ()

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Take the result of one of its calls, and pass it on. Called in `tick`, after `tool_calls`."""
        return

    def take_part(self, instructions: str) -> None:
        """Take the part that it plays, before `open`: what it is told, after what its address tells it.

        Another party directs it: that one calls `ask` and `hush`, and does not call `say` while it holds back what this
        one has to say. So this one is a party of bursts, and its partner's speech does not interrupt it, as far as its
        settings allow that. SettingsError if it cannot be directed.
        """
        raise SettingsError("it cannot be told during a call when to speak, and when to stop")

    def ask(self, tick: int, text: str) -> None:
        """Let a party that plays a part speak now. text: what its model is told for that."""
        return

    def recite(self, tick: int, text: str) -> None:
        """Let a party that plays a part say this text now, word for word."""
        return

    def hush(self, tick: int) -> None:
        """Let a party that plays a part stop: what `say` has not given by `tick` is not heard."""
        return

    def waiting_ms(self) -> int:
        """Audio of a party that plays a part that `say` has not given yet, in ms."""
        return 0

    def log(self) -> Sequence[Happening]:
        """Events of this side since the last call, for events.jsonl: arrivals, flushes, delay changes.

        Called once in each tick, and once more after the last one.
        """
        return ()

    def planted(self) -> Sequence[Planted]:
        """The stimuli that it planted, with their times. Asked once, after the last tick."""
        return ()

    def measured(self) -> Mapping[str, Any]:
        """Measurements of this side, as JSON values for the timing certificate."""
        return {}

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Every setting and version of this party, as JSON values for meta.json; "kind" is its registered name.

        Before `open` the same address always gives the same values: a run that is resumed compares them.
        """

    def close(self) -> None:
        """Release everything: leave no thread, task or socket behind.

        Called exactly once, also after an error and when `open` was never called. If `open` still waits for
        something, this makes it fail.
        """
        return


CLEAN: Final = "clean"
"""The name, in options and tables, of a call over no line: each side hears what the other says."""


class CallLine(Protocol):
    """The line between the sides of a conversation, which changes what each hears of the other.

    The recording, the detectors and the tables take what each side said.
    """

    def open(self, a_dbov: float | None, b_dbov: float | None) -> None:
        """Get ready, after both sides and before tick 0. a_dbov, b_dbov: the levels of their speech, where known."""
        return

    @abstractmethod
    def carry(self, frame_a: Pcm, frame_b: Pcm) -> tuple[Pcm, Pcm]:
        """The frames that A and B hear in a tick, of what both say in it, int16 (480,) each. Called once a tick."""

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Every setting, as JSON values for meta.json: name; to_b and perhaps to_a, each with its delay_samples."""


class Vad(Protocol):
    """Voice activity detection for one side. It streams: the decision on tick n is final at tick n + delay_ticks.

    Derive from this class, and write `push` and `finish`; `fdbcore.session.windows.WindowVad` is a base for one that
    judges windows. A class is made with source_rate_hz, the rate at which its side was recorded; what it hears has
    48 kHz. `fdbcore.session.conformance.vad_faults` says whether one holds to what detectors are held to.
    """

    name: str
    """The name by which `fdbcore.registry.vad` finds it: "energy", "my_package:MyVad"."""
    delay_ticks: int

    @abstractmethod
    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n, int16 (480,), and return whether tick n - delay_ticks is active.

        False while that tick is below 0. The frame is only lent.
        """

    @property
    @abstractmethod
    def seems_active(self) -> bool:
        """True if the newest tick seems active, long before that is decided. For who must act at once; never stored."""

    @abstractmethod
    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """The basis of the decisions so far, e.g. a model's probabilities. It is stored beside the activity."""
        return {}

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Name, version and settings, as JSON values. Equal ones decide equally."""


class UsesServers(Protocol):
    """A model or another helper that may be at work on servers."""

    def services(self) -> Sequence[Service]:
        """See `Endpoint.services`."""
        return ()

    def check_key(self) -> None:
        """SettingsError if a key that it needs is missing."""
        return


class LanguageModel(UsesServers, Protocol):
    """The shared part of all language models. Threads may share one. Making one contacts no server."""

    name: str
    """Its address: "gemini:gemini-2.5-flash"."""

    def describe(self) -> Mapping[str, Any]:
        """Name, SDK and its version, and address of the server, as JSON values without secrets."""

    def probe(self) -> None:
        """Find out whether the model would answer, without a request that costs anything; see `Endpoint.probe`."""
        return


class Model(LanguageModel, Protocol):
    """A language model that answers one request at a time: it generates, annotates, judges, or hears and replies."""

    def ask(self, request: Request) -> Reply:
        """The model's answer; errors that are known to pass are retried.

        PartyError if the model is not available, RefusalError if it declines.
        """


class Chat(LanguageModel, Protocol):
    """A language model that answers a conversation, and may call tools."""

    calls_tools: bool = True

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        most_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[ChatPart]:
        """The pieces of the next answer, as they come; complete calls of tools come last.

        schema: the JSON schema of the answer's text. A server may not keep to it: check what comes.
        Closing the iterator ends the answer. PartyError if the model is not available, RefusalError if it declines.
        """


class Transcriber(UsesServers, Protocol):
    """A speech transcriber."""

    name: str
    """Its address: "openai:gpt-4o-transcribe"."""

    at_once: int = 1
    """Threads that should ask it at the same time."""

    processors: int = 1
    gpus: int = 0
    """GPUs that it takes of a machine while it hears: only nodes of a cluster that have so many free are asked."""

    beside_calls: bool = True
    """True if it leaves a live call on the same machine the cores that this needs."""

    def transcribe(self, wav: bytes, language: str) -> str:
        """The words in a WAV file; "" if it holds none.

        wav: the bytes of the file. language: its ISO 639-1 code. PartyError if the transcriber is not available.
        """

    def words(self, wav: bytes, language: str) -> Sequence[TimedWord]:
        """The words in a WAV file with their times from its start, in order; empty if it holds none.

        wav, language: as for `transcribe`; language "" finds it out. PartyError if the transcriber is not available,
        SettingsError if it gives no word times.
        """
        raise SettingsError(f"{self.name} gives no word times")

    def describe(self) -> Mapping[str, Any]:
        """Settings that decide its words, as JSON values without secrets: stored words are used again by it."""
        return {"name": self.name}

    def close(self) -> None:
        """End what it has started; who still waits for words gets a PartyError. It may be asked again."""
        return


class Speaker(UsesServers, Protocol):
    """Speaks texts: a synthesiser, or a folder of recordings."""

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """Speech as mono int16 (n,), and its rate in Hz.

        name: the id of the item that the text belongs to. InputError if the text cannot be spoken, PartyError if the
        speaker is not available.
        """

    def describe(self) -> Mapping[str, Any]:
        """Name, version, voice and its credit, as JSON values."""


class Judge(UsesServers, Protocol):
    """Scores a conversation, or one reply in it, by a rubric. Threads may share one; making one contacts no server.

    `fdbcore.registry.judge` finds one by its address.
    """

    name: str
    """Its address without settings, with its server unless that is the vendor's: no other judge has the same."""
    gives_probabilities: bool = False
    """True if it answers yes or no by the probability of yes. Of others a number is no such answer."""

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**options)
        if "mark" in vars(cls) and "score" not in vars(cls):
            warnings.warn(f"{cls.__name__}.mark is called score now", FutureWarning, stacklevel=2)
            setattr(cls, "score", vars(cls)["mark"])  # noqa: B010

    def score(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The scores, in the form of the rubric's schema.

        evidence: what the judge reads, as JSON values (goals, transcripts). PartyError if the judge is not available,
        RefusalError if it declines, InputError if its answer cannot be used.
        """

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The scores; `score` by its earlier name, for one release."""
        warnings.warn(f"{type(self).__name__}.mark is called score now", FutureWarning, stacklevel=2)
        return self.score(rubric, evidence)

    def describe(self) -> Mapping[str, Any]:
        """Settings that decide its scores (name, server, ...), as JSON values without secrets; kept answers need it."""

    def counted(self) -> Sequence[ModelUsage]:
        """Usage of `score` that the vendor has counted in this thread since the last call; nothing if nobody counts.

        Answers that were refused, were cut or cannot be used are among it.
        """
        return ()


class World(Protocol):
    """The world of the tools that a system may call. Each conversation has one of its own, which may keep a state.

    `fdbcore.registry.world` makes one from its address. Derive from this class, and write `do` and `describe`.
    """

    tools: Sequence[Tool] = ()
    """The tools, known once it is open."""
    timeout_s: float = 30.0
    """A call that takes longer than this has failed."""

    def open(self) -> None:
        """Get ready, within a time-out of its own. SettingsError if the tools cannot be used."""
        return

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        """The delay of the result of a call; it reaches the system in the next tick at the earliest.

        name: of the tool; perhaps unknown. earlier: how many calls of the conversation were complete before this one.
        random: to draw from; it is seeded by the run's seed, the user and the trial, so all systems meet the same.
        """
        return 0

    @abstractmethod
    async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The result of the tool, as a JSON value. The system is told of an exception, without secrets.

        TimeoutError if the tool will never answer: the call then fails after `timeout_s`, in ticks.
        The arguments fit the tool's schema. Calls begin in their order, on the loop of `fdbcore.runtime.network`, and
        each runs until it first awaits something: work that takes longer than a millisecond belongs into
        `asyncio.to_thread` or a process. It is cancelled if its result is no longer wanted.
        """

    def state(self) -> Any:  # noqa: ANN401
        """The changes that the calls have made, as a JSON value for meta.json; None if there is nothing to keep.

        Called once, after the last tick.
        """
        return None

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Every setting and version, and the tools as "functions", as JSON values without secrets.

        Called once it is open. A run that is resumed compares them; "kind" is its registered name.
        """

    def close(self) -> None:
        """Release everything: leave no thread, task or process behind. Called once, also if `open` failed."""
        return
