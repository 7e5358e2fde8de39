"""Staged dialogues as a `Suite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols import UsesServers
from fdbcore.protocols.suite import Labels, Show, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, RUBRICS, TRANSCRIBER
from fdbcore.suites.staged.commands import COMMANDS
from fdbcore.suites.staged.users import NAME, OPTIONS
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import ExpectedUse

SCORE_OPTIONS: Final = (
    TRANSCRIBER,
    JUDGE,
    RUBRICS,
    REPEATS,
    MAX_COST,
    Option(
        "--passes",
        "Pass criterion [default: goals_met=1,task_score=4, where there is such a score]; repeat it to add one.",
        metavar="MEASURE=LEAST,...",
        several=True,
    ),
    PUBLISHED,
)
AGREE_OPTIONS: Final = (
    Option("--sample", "Dialogues: draw so many from scores, for people to rate.", kind="count", metavar="N"),
    Option("--sample-seed", "Of what --sample draws.", kind="integer", default=0, metavar="N"),
    Option("--out", "Folder of the sample [default: fdbcore-sample].", kind="path", metavar="DIR"),
    Option("--key", "Ratings: the folder of the sample, to compare them with judges.", kind="path", metavar="DIR"),
    Option("--published", "Ratings: show what Full-Duplex-Bench v2 published, too.", kind="flag"),
)


def _holds_labels(path: Path) -> bool:
    """Tables of ratings, by their header, and scores."""
    from fdbcore.suites.staged.rating.ratings import is_ratings, scores_in

    return is_ratings(path) or scores_in(path) is not None


def _agree(paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Show) -> tuple[Mapping[str, Any], str]:
    """Compares people and judges, or draws what people rate."""
    from fdbcore.suites.staged.rating.agreement import agree

    return agree(paths, options, width, show)


def _rate(sample: Path, out: Path, show: Show) -> str:
    """The page of a sample, for raters who do not know who is heard."""
    from fdbcore.suites.staged.rating.page import write_page

    size = write_page(sample, out, show)
    return (
        f"{out} ({size / 1e6:.0f} MB)\n"
        f"Give raters this file alone: {sample} holds the key. They send back what the page lets them download:\n"
        f"fdbcore agree RATINGS.csv RATINGS.csv"
    )


class StagedDialogues(Suite):
    """An examiner that pursues goals on side A; goals met and timing of the system."""

    name = NAME
    schema = "fdbcore.staged/2"
    commands = COMMANDS
    options = SuiteOptions(run=OPTIONS, score=SCORE_OPTIONS, agree=AGREE_OPTIONS)
    labels = Labels(
        "tables of ratings (CSV with a column dialogue), and scores of staged dialogues", _holds_labels, _agree, _rate
    )

    def ship(self, folder: Path, options: Mapping[str, Any], show: Show) -> None:
        """The briefs of the scenarios that the options ask for."""
        from fdbcore.suites.staged.users import ship

        ship(folder, options, show)

    def side_a(self, data: str) -> SideA:
        """The examiners in a folder beside a run."""
        from fdbcore.suites.staged.users import side_a

        return side_a(data)

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Scores the dialogues of runs."""
        from fdbcore.suites.staged.scoring import score

        return score(paths, options, jobs, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
    ) -> Sequence[ExpectedUse]:
        """Of transcribers, then of judges."""
        from fdbcore.suites.staged.scoring import expected

        return list(expected(paths, options, show))

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        """The transcribers and the judges."""
        from fdbcore.suites.staged.scoring import Scoring

        scoring = Scoring.of(options)
        return [*scoring.sources.values(), *scoring.judging.judges]

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a pacing of the examiner."""
        from fdbcore.suites.staged.card import card

        return card(document)


SUITE: Final = StagedDialogues()
