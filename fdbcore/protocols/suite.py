"""The seams of a benchmark: the suite, and the commands that it adds."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from fdbcore.errors import SettingsError
from fdbcore.protocols import UsesServers
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import ExpectedUse

Show: TypeAlias = Callable[[str], None]
"""Called with the current step of long work."""


class Console(Protocol):
    """The place where a command of a suite reports what it does."""

    def show(self, text: str) -> None:
        """Show the current step in place of the one before. Does nothing without a terminal."""

    def note(self, text: str) -> None:
        """Print a line of progress. Does nothing on a terminal."""

    def complain(self, text: str) -> None:
        """Print a line about something that could not be done."""

    def say(self, text: str) -> None:
        """Print a line of the result."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Turn the first Ctrl-C into a KeyboardInterrupt, so that work in progress can be awaited.

        A second Ctrl-C ends the process at once.
        """


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a suite adds: `fdbcore GROUP NAME`.

    do: called with the values of the options by name; returns whether everything was done. failed: printed after an
    error, to say how to go on. reads: whether it reads what the user names by a path, where several suites have a
    command of the same name; decided by its name or its content, and never raises.
    """

    name: str
    help: str
    options: Sequence[Option]
    do: Callable[[Mapping[str, Any], Console], bool]
    failed: str = ""
    group: Literal["acts", "dataset", "scenarios"] = "dataset"
    reads: Callable[[Path], bool] = lambda path: False


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options that a suite adds to the commands that take `--suite`.

    run: of `fdbcore run`, what `Suite.ship` shall make of the data that ship. data: of `fdbcore run --data DIR`,
    another way to write the settings of the same names in "DIR?SETTINGS". score: of `fdbcore score`, and of a run that
    is scored, without those that `run` has itself. agree: of `fdbcore agree`.
    """

    run: Sequence[Option] = ()
    data: Sequence[Option] = ()
    score: Sequence[Option] = ()
    agree: Sequence[Option] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels, ratings or verdicts of people and models that `fdbcore agree` compares for a suite.

    about: what they are, in words: "files that end in .jsonl". holds: whether a file or folder holds such, by its name
    or how it begins; it never raises. agree: how far annotators agree, of (paths, values of the options, width, show):
    a document with "problems", and a text of at most `width` columns. A suite whose conversations people rate also
    draws the sample that they rate, into a folder with a key.json whose field `suite` has the suite's name. rate: of
    (sample, out, show), writes the page on which people rate such a sample, and returns what its user should know; None
    if people do not rate it.
    """

    about: str
    holds: Callable[[Path], bool]
    agree: Callable[[Sequence[Path], Mapping[str, Any], int, Show], tuple[Mapping[str, Any], str]]
    rate: Callable[[Path, Path, Show], str] | None = None


WRITTEN_EARLY: Final = ("annotator-replies.jsonl", "judged.json", "recordings")
"""Files that a scoring may write into the results folder before it is done, so that it can resume."""


class Suite(Protocol):
    """A benchmark: who talks to the systems, and how their recordings or replies are scored.

    Derive from this class, or from `fdbcore.results.suite.ItemSuite`, which pools and compares, and register one object
    of it (in `fdbcore.registry.SUITES`, or by the entry points `fdbcore.suites` of another package). Listing the
    options imports its module: leave heavy imports to methods.
    """

    name: str
    """The name in `--suite NAME`."""
    schema: str
    """The schema of the documents that `score` makes. A folder with another document is never overwritten, but for one
    of an earlier version.
    """
    options: SuiteOptions = SuiteOptions()
    scores_runs: bool = True
    """True if `fdbcore run --suite NAME` scores by the suite once all calls have ended."""
    commands: Sequence[Command] = ()
    """The commands that it adds to `fdbcore dataset`, `fdbcore acts` and `fdbcore scenarios`."""
    labels: Labels | None = None
    """The work of `agree` and `rate` for it."""

    def ship(self, folder: Path, options: Mapping[str, Any], show: Show) -> None:
        """Put the data that ship with the suite into `folder`, ready for `side_a`; data already there may stay.

        options: values of `options.run` by name.
        """
        raise SettingsError(f"{self.name}: expected --data DIR: it ships no data")

    @abstractmethod
    def side_a(self, data: str) -> SideA:
        """The users that talk to the systems. data: "DIR" or "DIR?SETTINGS". InputError if the data cannot be used."""

    @abstractmethod
    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Score runs, or files of replies. Without paths it scores what ships with the suite.

        paths: none of them twice. options: values of `options.score` by name. jobs: requests at a time. out: the
        results folder; only WRITTEN_EARLY is written there. An item that cannot be used becomes a problem in the
        document, and the others are scored. InputError if there is nothing to score.
        """

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        """The transcribers, judges and models that `score` asks with these options; of a run that is not held yet,
        without paths. InputError for options that `score` would refuse.
        """
        return ()

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
    ) -> Iterable[ExpectedUse]:
        """About what `score` would ask of those in `asked`, each; asks nobody, and writes no results."""
        return ()

    @abstractmethod
    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard of a document of `score`, for the screen, the page, the tables and the JSON."""
