"""The seams: what a part must offer to take its place in the loop. Each is small enough for a stranger to implement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from fdbcore.errors import SettingsError
from fdbcore.types import Happening, Option, Pcm, Reply, Request, Rubric, Side, SideA, TurnEvent
from fdbcore.types.scorecard import Scorecard, Scored, ScoredCase

Clocking = Literal["tick", "input", "burst", "realtime"]
"""What an endpoint's output follows: the tick (replay, scripted), its input (Moshi), bursts of a vendor's server, or
real time (WebRTC). A virtual clock refuses the last two."""


class Clock(Protocol):
    """Paces the loop. `realtime` is False for a clock that never waits."""

    realtime: bool

    @property
    def origin_ns(self) -> int | None:
        """When tick 0 was, on the clock of time.monotonic_ns; None before it, and on a clock that never waits."""

    def wait(self, tick: int) -> int:
        """Return at the deadline of `tick` (0, 1, 2, ... in order); by how many whole ticks it is overdue."""

    def certificate(self) -> Mapping[str, Any]:
        """What was measured about the timing so far, as JSON values."""


class Endpoint(Protocol):
    """One side of a conversation. Each tick: `say`, `hear`, `notice`; so what it says at n rests on what was up to n-1.

    Derive from this class and write `say` and `hear`; the rest has defaults for a party that needs no connection. What
    a party does wrong is no error of `say` or `hear`: its side ends, and `left` says why.
    """

    clocking: Clocking = "tick"
    calls_at_once: int | None = None
    """How many conversations the party can hold at a time; None: any number."""
    left: str | None = None
    """Once `say` has given None: why this side will never speak again ("finished", "closed by the server", ...).

    After `close` also what it did wrong in parting, where the other side ended the conversation."""
    waits: bool = False
    """While it opens: whether it can now be joined, and waits for somebody who does."""
    transient: bool = False
    """Whether another conversation may fare better than one that was `left` (the party is busy, overloaded)."""

    def open(self, side: Side) -> None:
        """Get ready, within time-outs of its own; PartyError if the party cannot be had. Both sides open at once."""
        return

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now: at `origin_ns` of the monotonic clock, None on a clock that never waits (lockstep).

        What the party said before it is dropped and counted.
        """
        return

    @abstractmethod
    def say(self, tick: int) -> Pcm | None:
        """The frame of `tick`: int16 (480,), valid until the next call; None once this side will never speak again."""

    @abstractmethod
    def hear(self, tick: int, frame: Pcm) -> None:
        """The partner's frame of `tick`; it is only lent.

        Ticks that a side which does not follow the tick is not asked for were missed: they were silent on both sides.
        """

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """The turn events of both sides that became known in `tick`, if there are any; after `hear`."""
        return

    def log(self) -> Sequence[Happening]:
        """What happened on this side since the last call, for events.jsonl: arrivals, flushes, delay changes.

        Asked for in each tick, and once more after the last one.
        """
        return ()

    def measured(self) -> Mapping[str, Any]:
        """What was measured on this side, as JSON values, for the timing certificate."""
        return {}

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """Every setting and version of this party, as JSON values, for meta.json; "kind" is its registered name.

        Before `open` it is the same for the same address: a run that goes on is recognised by it.
        """

    def close(self) -> None:
        """Release everything: no thread, task or socket is left. Called once, also after an error, also unopened.

        Where it is called while `open` waits for something, `open` fails.
        """
        return


class Vad(Protocol):
    """Voice activity of one side. Streaming, and the decision of tick n is final at tick n + delay_ticks."""

    name: str
    delay_ticks: int

    def push(self, frame: Pcm) -> bool:
        """Take the frame of tick n; return whether tick n - delay_ticks is active (False while that is below 0)."""

    def finish(self) -> list[bool]:
        """The activity of the last delay_ticks ticks (fewer if fewer were pushed)."""

    def evidence(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """What the decisions so far were made from, to be kept beside them, e.g. a model's probabilities."""

    def describe(self) -> Mapping[str, Any]:
        """Name, version, settings and measured bias (ms), as JSON values."""


class Model(Protocol):
    """A language model that answers one request at a time: it generates, annotates, judges, or hears and replies.

    Threads may share one; making one contacts nobody.
    """

    name: str
    """Its address: "gemini:gemini-2.5-flash"."""

    def ask(self, request: Request) -> Reply:
        """Its answer; retries what is known to pass. PartyError if it cannot be had, RefusalError if it declines."""

    def describe(self) -> Mapping[str, Any]:
        """Name, SDK and its version, address of the server, as JSON values without secrets."""


class Transcriber(Protocol):
    """Hears speech, and writes it down."""

    name: str
    """Its address: "openai:gpt-4o-transcribe"."""

    def transcribe(self, wav: bytes, language: str) -> str:
        """The words in a WAV file, "" where there are none; language: as ISO 639-1 has it. PartyError."""


class Speaker(Protocol):
    """Speaks texts: a synthesiser, or recordings that are there already."""

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """Mono speech int16 (n,) and its rate in Hz; `name` is that of the item. InputError where it cannot."""

    def describe(self) -> Mapping[str, Any]:
        """Name, version, voice and its credit, as JSON values."""


class Judge(Protocol):
    """Marks a conversation, or one reply in it, by a rubric. Threads may share one; making one contacts nobody.

    `fdbcore.registry.judge` finds one by its address.
    """

    name: str
    """Its address: "openai:gpt-4o"."""

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The marks, as the rubric's schema has them; evidence: what it reads, as JSON values (goals, transcripts).

        PartyError if the judge cannot be had, RefusalError if it declines, InputError if its answer cannot be used.
        """

    def describe(self) -> Mapping[str, Any]:
        """Who judges, with versions, as JSON values without secrets."""


class Console(Protocol):
    """Where a command of a suite tells what it does."""

    def show(self, text: str) -> None:
        """What is going on, in place of what was shown before; on a terminal alone."""

    def note(self, text: str) -> None:
        """A line of progress where there is no terminal."""

    def complain(self, text: str) -> None:
        """A line on what could not be done."""

    def say(self, text: str) -> None:
        """A line of the result."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Ctrl-C once is a KeyboardInterrupt, within which what was begun may be awaited; twice leaves at once."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a suite adds to `fdbcore dataset`.

    do: is called with the values of the options by name; whether all was done. failed: what is said after an error, of
    how to go on.
    """

    name: str
    help: str
    options: Sequence[Option]
    do: Callable[[Mapping[str, Any], Console], bool]
    failed: str = ""


class Suite(Protocol):
    """A benchmark: who talks to the systems, and what their recordings or replies are worth.

    Derive from this class, and register one object of it (`fdbcore.registry.SUITES`, or the entry points
    `fdbcore.suites` of another package). Its module is imported to list its options: leave heavy imports to methods.
    """

    name: str
    """As in `--suite NAME`."""
    schema: str
    """Of the documents of `score`. A folder that holds one of another schema is not written over."""
    score_options: Sequence[Option] = ()
    """Of `fdbcore score --suite NAME`, beside those of every suite."""
    commands: Sequence[Command] = ()
    """Of `fdbcore dataset`."""
    kept: Collection[str] = ()
    """Files that `score` leaves in the folder of the results before it is done, so as to go on."""
    labels: str = ""
    """The suffix of files of labels that `agree` compares (".jsonl"); empty: it compares none."""
    agree_options: Sequence[Option] = ()
    """Of `fdbcore agree`, where it compares such files."""

    def ship(self, folder: Path, show: Callable[[str], None]) -> None:
        """Put the data that ship with the suite into `folder`, ready for `side_a`; what is there already may stay."""
        raise SettingsError(f"{self.name}: expected --data DIR: it ships no data")

    @abstractmethod
    def side_a(self, data: str) -> SideA:
        """Who talks to the systems, from the data in "DIR" or "DIR?SETTINGS". InputError where they cannot be used."""

    @abstractmethod
    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        """What runs, or files of replies, are worth; no paths: what ships with the suite.

        options: values of `score_options` by name. jobs: requests at a time. out: the folder of the results, for
        `kept` alone. What cannot be used is a problem of the document, and stops nothing else. InputError where there
        is nothing to score.
        """

    def agree(self, paths: Sequence[Path], options: Mapping[str, Any], width: int) -> tuple[Mapping[str, Any], str]:
        """How far annotators agree, as a document with "problems", and as text of at most `width` columns."""
        raise SettingsError(f"{self.name}: it has no labels to compare")

    @abstractmethod
    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """A document of `score` as the rows that its screen, its page, its tables and its JSON show."""

    def details(self, document: Mapping[str, Any], width: int) -> Sequence[Sequence[str]]:
        """What the screen shows beside the scorecard: blocks of lines of at most `width` columns (60 or more)."""
        return ()

    def style(self) -> str:
        """The style sheet (CSS) of what the suite draws on the page, for light and dark."""
        return ""

    def legend(self) -> str:
        """What stands once above its pictures: how to read them, as HTML; and what they refer to, such as patterns."""
        return ""

    def picture(self, case: ScoredCase) -> str:
        """A case's own view on the page, as HTML with every text escaped."""
        return ""

    def section(self, document: Mapping[str, Any]) -> str:
        """What the page shows beside the scorecard, as HTML with every text escaped, beginning with an h2."""
        return ""

    def figures(self, document: Mapping[str, Any]) -> Mapping[str, str]:
        """Figures for a paper, beside those of the scorecard, as SVG by the names of their files."""
        return {}
