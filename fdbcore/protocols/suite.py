"""What a benchmark must implement: the suite, and the commands that it adds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from fdbcore.errors import SettingsError
from fdbcore.types import Option, SideA
from fdbcore.types.remarks import NO_REMARKS, CallRemarks
from fdbcore.types.scorecard import PageWords, Scorecard, Scored, ScoredCase
from fdbcore.types.usage import ExpectedUse, Service


class Console(Protocol):
    """Where a command of a suite reports what it does."""

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
    error, to say how to go on.
    """

    name: str
    help: str
    options: Sequence[Option]
    do: Callable[[Mapping[str, Any], Console], bool]
    failed: str = ""
    group: Literal["acts", "dataset", "scenarios"] = "dataset"


class Suite(Protocol):
    """A benchmark: who talks to the systems, and how their recordings or replies are scored.

    Derive from this class, and register one object of it (in `fdbcore.registry.SUITES`, or by the entry points
    `fdbcore.suites` of another package). Listing the options imports its module: leave heavy imports to methods.
    """

    name: str
    """The name in `--suite NAME`."""
    schema: str
    """The schema of the documents that `score` makes. A folder with a document of another schema is never overwritten.
    """
    run_options: Sequence[Option] = ()
    """The options that the suite adds to `fdbcore run --suite NAME`: what `ship` shall make of the data that ship."""
    data_options: Sequence[Option] = ()
    """The options that the suite adds to `fdbcore run --suite NAME --data DIR`: another way to write the settings of
    the same names in "DIR?SETTINGS".
    """
    score_options: Sequence[Option] = ()
    """The options that the suite adds to `fdbcore score --suite NAME`."""
    takes_side_a: bool = False
    """Whether another party, such as a person, may play its users: `fdbcore run --suite NAME --a ADDRESS`."""
    run_scores: bool = False
    """Whether `fdbcore run --suite NAME` scores by the suite once all calls have ended. It then takes `score_options`
    too, without those that `run` has itself.
    """
    commands: Sequence[Command] = ()
    """The commands that it adds to `fdbcore dataset`, `fdbcore acts` and `fdbcore scenarios`."""
    kept: Collection[str] = ()
    """The files that `score` writes into the results folder before it is done, so that it can resume."""
    labels: str = ""
    """What `agree` compares, in words: "files that end in .jsonl"; empty if it compares nothing."""
    agree_options: Sequence[Option] = ()
    """The options of `fdbcore agree` for it."""

    def ship(self, folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
        """Put the data that ship with the suite into `folder`, ready for `side_a`; data already there may stay.

        options: values of `run_options` by name.
        """
        raise SettingsError(f"{self.name}: expected --data DIR: it ships no data")

    @abstractmethod
    def side_a(self, data: str) -> SideA:
        """Who talks to the systems. data: "DIR" or "DIR?SETTINGS". InputError if the data cannot be used."""

    def played_by(self, side_a: SideA, address: str) -> SideA:
        """Its users, played by the party at an address. Only called if it `takes_side_a`."""
        raise SettingsError(f"{self.name}: --a: nobody else can play its users")

    @abstractmethod
    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        """Score runs, or files of replies. Without paths it scores what ships with the suite.

        paths: none of them twice. options: values of `score_options` by name. jobs: requests at a time. out: the
        results folder; only files named in `kept` are written there. An item that cannot be used becomes a problem in
        the document, and the others are scored. InputError if there is nothing to score.
        """

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
    ) -> Sequence[ExpectedUse]:
        """About what `score` would ask of recognisers and models with these arguments; asks nobody, and writes no
        results. Empty if it would ask nobody, whatever the options are.
        """
        return ()

    def check_keys(self, options: Mapping[str, Any]) -> None:
        """SettingsError if a key is missing that `score` needs to ask anybody. options: as for `score`."""
        return

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        """The servers that `score` sends audio or words to; see `Endpoint.services`. options: as for `score`.

        InputError for options that `score` would refuse.
        """
        return ()

    def holds_scenarios(self, path: Path) -> bool:
        """Whether its commands of `fdbcore scenarios` read what the user names by `path`, where several suites have the
        same command. Decided by its name or its content; never raises.
        """
        return False

    def services_of(self, paths: Sequence[Path], options: Mapping[str, Any]) -> Sequence[Service]:
        """`services`, where who is asked also depends on what is scored. paths: as for `score`."""
        return self.services(options)

    def holds_labels(self, path: Path) -> bool:
        """Whether `agree` compares this file or folder, by its name or how it begins. Never raises for one that is not
        there, or that cannot be read.
        """
        return False

    def agree(
        self, paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
    ) -> tuple[Mapping[str, Any], str]:
        """How far annotators agree: a document with "problems", and a text of at most `width` columns.

        A suite whose conversations people rate also draws the sample that they rate, into a folder with a key.json
        whose field `suite` has the suite's name.
        """
        raise SettingsError(f"{self.name}: it has no labels to compare")

    def rate(self, sample: Path, out: Path, show: Callable[[str], None]) -> str:
        """Write the page on which people rate a sample that `agree` drew, and return what its user should know."""
        raise SettingsError(f"{self.name}: people do not rate it")

    @abstractmethod
    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The rows that the screen, the page, the tables and the JSON show of a document of `score`."""

    def details(self, document: Mapping[str, Any], width: int) -> Sequence[Sequence[str]]:
        """What the screen shows beside the scorecard: blocks of lines of at most `width` columns (60 or more)."""
        return ()

    def page_words(self, document: Mapping[str, Any]) -> PageWords | None:
        """What its page says in another language than English, if the user wants one; None for a page in English."""
        return None

    def style(self) -> str:
        """The style sheet (CSS) for what the suite draws on the page, in light and dark mode."""
        return ""

    def legend(self, document: Mapping[str, Any]) -> str:
        """HTML that stands once above the pictures: how to read them, and what they refer to, such as patterns."""
        return ""

    def picture(self, case: ScoredCase) -> str:
        """The view of one case on the page, as HTML with every text escaped."""
        return ""

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """What the page of a case's call shows beside the recording, if the case has a `recording`."""
        return NO_REMARKS

    def section(self, document: Mapping[str, Any]) -> str:
        """A section of the page beside the scorecard, as HTML with every text escaped. It begins with an h2."""
        return ""

    def figures(self, document: Mapping[str, Any]) -> Mapping[str, str]:
        """Figures for a paper, beside those of the scorecard: SVG by file name."""
        return {}
