"""v1 and v1.5 as `Suite`s: recorded users on side A, and how systems take and yield the turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.protocols import UsesServers
from fdbcore.protocols.suite import Show, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, RUBRICS, TRANSCRIBER, VADS
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import ExpectedUse

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.calls import Version

HUMAN: Final = Option(
    "--human", "When people gave backchannels, as JSON {ID: [COUNT, ...]}: for the JSD.", kind="path", metavar="FILE"
)
UTMOS: Final = Option("--utmos", "This command prints the quality of the WAV file that it is given.", metavar="COMMAND")


class RecordedUsers(Suite):
    """Recorded users of one version, and folders of outputs that exist already."""

    schema = "fdbcore.fdb_v1/2"

    def __init__(self, name: Version, options: Sequence[Option]) -> None:
        self.name = name
        self._version = name
        self.options = SuiteOptions(score=(TRANSCRIBER, VADS, JUDGE, REPEATS, MAX_COST, *options))

    def side_a(self, data: str) -> SideA:
        """The samples in a folder."""
        from fdbcore.suites.fdb_v1.calls import side_a

        return side_a(self._version, data)

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Scores runs, and folders of outputs, whose recordings it keeps in `out`."""
        from fdbcore.suites.fdb_v1.scoring import score

        return score(self._version, paths, options, jobs, out, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
    ) -> Sequence[ExpectedUse]:
        """Of transcribers, then of judges."""
        from fdbcore.suites.fdb_v1.judging import expected

        return list(expected(self._version, paths, options, show))

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        """The transcribers and the judges."""
        from fdbcore.suites.fdb_v1.judging import ScoringWith

        scoring = ScoringWith.of(options)
        return [*scoring.sources.values(), *scoring.judging.judges]

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a task."""
        from fdbcore.suites.fdb_v1.card import card

        return card(document)


V1: Final = RecordedUsers("fdb-v1", (HUMAN, PUBLISHED))
V15: Final = RecordedUsers("fdb-v1.5", (RUBRICS, UTMOS))
