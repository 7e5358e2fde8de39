"""v1 and v1.5 as `Suite`s: recorded users on side A, and how systems take and yield the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.protocols.suite import Suite
from fdbcore.recording.form import converted
from fdbcore.runs.judge_flags import MAX_COST, REPEATS, RUBRICS
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored, ScoredCase
from fdbcore.types.usage import ExpectedUse, Service

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.samples import Version
    from fdbcore.suites.fdb_v1.scoring import V1Document

TRANSCRIBER: Final = Option(
    "--transcriber",
    "Take the words of the system from here: whisper, openai:MODEL, nemo, ... Default: output.json beside output.wav, "
    "and of the user input.json. Another one gives the range.",
    metavar="ADDRESS",
    several=True,
)
DETECTOR: Final = Option(
    "--detector",
    "Also measure by this voice activity detector; the range is shown.",
    metavar="NAME",
    several=True,
)
JUDGE: Final = Option(
    "--judge", "Let judges rate replies and name behaviours, beside each other.", metavar="JUDGE:NAME", several=True
)
HUMAN: Final = Option(
    "--human", "When people gave backchannels, as JSON {ID: [COUNT, ...]}: for the JSD.", kind="path", metavar="FILE"
)
PUBLISHED: Final = Option("--published", "Show the published table, too; nothing is tested against it.", kind="flag")
UTMOS: Final = Option("--utmos", "This command prints the quality of the WAV file that it is given.", metavar="COMMAND")


class RecordedUsers(Suite):
    """Recorded users of one version, and folders of outputs that exist already."""

    schema = "fdbcore.fdb_v1/2"
    run_scores = True
    kept = ("recordings",)

    def __init__(self, name: Version, options: Sequence[Option]) -> None:
        self.name = name
        self._version = name
        self.score_options = (TRANSCRIBER, DETECTOR, JUDGE, REPEATS, MAX_COST, *options)

    def side_a(self, data: str) -> SideA:
        """The samples in a folder."""
        from fdbcore.suites.fdb_v1.calls import side_a

        return side_a(self._version, data)

    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        """Scores runs, and folders of outputs, whose recordings it keeps in `out`."""
        from fdbcore.suites.fdb_v1.scoring import score

        return score(self._version, paths, options, jobs, out, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
    ) -> Sequence[ExpectedUse]:
        """Those of recognisers, then of the judge."""
        from fdbcore.suites.fdb_v1.options import expected

        return list(expected(self._version, paths, options, show))

    def check_keys(self, options: Mapping[str, Any]) -> None:
        """Those of recognisers and of the judge."""
        from fdbcore.suites.fdb_v1.options import ScoringWith

        scoring = ScoringWith.of(options)
        scoring.judging.check_keys(scoring.sources.values())

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        """Those of recognisers and of the judge."""
        from fdbcore.suites.fdb_v1.options import ScoringWith

        scoring = ScoringWith.of(options)
        return scoring.judging.services(scoring.sources.values())

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a task."""
        from fdbcore.suites.fdb_v1.card import card

        return card(document, _read(document))

    def details(self, document: Mapping[str, Any], width: int) -> Sequence[Sequence[str]]:
        """The ranges over recognisers and detectors, and the tests before and after."""
        from fdbcore.suites.fdb_v1.card import details

        found = _read(document)
        return details(found.ranges, found.tests, width)

    def section(self, document: Mapping[str, Any]) -> str:
        """The same on the page."""
        from fdbcore.suites.fdb_v1.card import section

        found = _read(document)
        return section(found.ranges, found.tests)

    def style(self) -> str:
        """The style of the pictures."""
        from fdbcore.report.html.templates import static

        return static("sample.css", __package__)

    def picture(self, case: ScoredCase) -> str:
        """Both sides of a sample on one axis, with its labels."""
        from fdbcore.suites.fdb_v1.card import picture
        from fdbcore.suites.fdb_v1.scoring import V1Item

        return picture(converted(case.item, V1Item))


def _read(document: Mapping[str, Any]) -> V1Document:
    from fdbcore.suites.fdb_v1.scoring import V1Document

    found: V1Document = converted(document, V1Document)
    return found


V1: Final = RecordedUsers("fdb-v1", (HUMAN, PUBLISHED))
V15: Final = RecordedUsers("fdb-v1.5", (RUBRICS, UTMOS))
