"""Staged dialogues as a `Suite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols.suite import Suite
from fdbcore.runs.judge_flags import MAX_COST, REPEATS, RUBRICS
from fdbcore.suites.staged.commands import COMMANDS
from fdbcore.suites.staged.users import NAME, OPTIONS
from fdbcore.types import Option, SideA
from fdbcore.types.remarks import CallRemarks
from fdbcore.types.scorecard import Scorecard, Scored, ScoredCase
from fdbcore.types.usage import ExpectedUse, Service


class StagedDialogues(Suite):
    """An examiner that pursues goals on side A; goals met and timing of the system."""

    name = NAME
    schema = "fdbcore.staged/2"
    run_options = OPTIONS
    run_scores = True
    commands = COMMANDS
    score_options = (
        Option(
            "--transcriber",
            "Take words from here: whisper, openai:MODEL, known-text, ... They decide goals that nobody heard during "
            "the call, and a judge reads them. Another one is compared with the first.",
            metavar="ADDRESS",
            several=True,
        ),
        Option(
            "--judge",
            "Let this judge mark turn-taking and instruction following of every event, and the family's score. Another "
            "one is compared with the first.",
            metavar="JUDGE:NAME",
            several=True,
        ),
        RUBRICS,
        REPEATS,
        MAX_COST,
        Option(
            "--passes",
            "What a dialogue needs to pass, at least; given again, that too. Default: goals_met=1,task_score=4, where "
            "there is such a score.",
            metavar="MEASURE=LEAST,...",
            several=True,
        ),
        Option(
            "--published", "Show what Full-Duplex-Bench v2 published, too; nothing is tested against it.", kind="flag"
        ),
    )

    labels = "tables of ratings (CSV with a column dialogue), and scores of staged dialogues"
    agree_options = (
        Option("--sample", "Dialogues: draw so many from scores, for people to rate.", kind="count", metavar="N"),
        Option("--sample-seed", "Of what --sample draws.", kind="integer", default=0, metavar="N"),
        Option("--out", "Folder of the sample [default: fdbcore-sample].", kind="path", metavar="DIR"),
        Option("--key", "Ratings: the folder of the sample, to compare them with judges.", kind="path", metavar="DIR"),
        Option("--published", "Ratings: show what Full-Duplex-Bench v2 published, too.", kind="flag"),
    )

    def ship(self, folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
        """The briefs of the scenarios that the options ask for."""
        from fdbcore.suites.staged.users import ship

        ship(folder, options, show)

    def side_a(self, data: str) -> SideA:
        """The examiners in a folder beside a run."""
        from fdbcore.suites.staged.users import side_a

        return side_a(data)

    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        """Scores the dialogues of runs."""
        from fdbcore.suites.staged.scoring import score

        return score(paths, options, jobs, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
    ) -> Sequence[ExpectedUse]:
        """Those of recognisers, then of judges."""
        from fdbcore.suites.staged.scoring import expected

        return list(expected(paths, options, show))

    def check_keys(self, options: Mapping[str, Any]) -> None:
        """Those of recognisers and of judges."""
        from fdbcore.suites.staged.scoring import Scoring

        scoring = Scoring.of(options)
        scoring.judging.check_keys(scoring.sources.values())

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        """Those of recognisers and of judges."""
        from fdbcore.suites.staged.scoring import Scoring

        scoring = Scoring.of(options)
        return scoring.judging.services(scoring.sources.values())

    def holds_scenarios(self, path: Path) -> bool:
        """Files of scenarios (.toml), folders of them, sets that come with fdbcore, and the released file."""
        from fdbcore.suites.staged.reading import holds_scenarios

        return holds_scenarios(path)

    def holds_labels(self, path: Path) -> bool:
        """Tables of ratings, by their header, and scores."""
        from fdbcore.suites.staged.rating.ratings import is_ratings, scores_in

        return is_ratings(path) or scores_in(path) is not None

    def agree(
        self, paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
    ) -> tuple[Mapping[str, Any], str]:
        """Compares people and judges, or draws what people rate."""
        from fdbcore.suites.staged.rating.agreement import agree

        return agree(paths, options, width, show)

    def rate(self, sample: Path, out: Path, show: Callable[[str], None]) -> str:
        """The page of a sample, for raters who do not know who is heard."""
        from fdbcore.suites.staged.rating.page import write_page

        size = write_page(sample, out, show)
        return (
            f"{out} ({size / 1e6:.0f} MB)\n"
            f"Give raters this file alone: {sample} holds the key. They send back what the page lets them download:\n"
            f"fdbcore agree RATINGS.csv RATINGS.csv"
        )

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a pacing of the examiner."""
        from fdbcore.suites.staged.card import card

        return card(document)

    def details(self, document: Mapping[str, Any], width: int) -> Sequence[Sequence[str]]:
        """Means of families, passing, what other transcribers, judges and wordings say, and the examiners."""
        from fdbcore.suites.staged.results_view import details

        return details(document, width)

    def picture(self, case: ScoredCase) -> str:
        """The goals, and what became of each; the scores."""
        from fdbcore.suites.staged.card import picture

        return picture(case)

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The goals and the judged events."""
        from fdbcore.suites.staged.card import remarks

        return remarks(case)

    def style(self) -> str:
        """The style of curves."""
        from fdbcore.report.html.templates import static

        return static("results.css", __package__)

    def section(self, document: Mapping[str, Any]) -> str:
        """How often systems pass, curves over time and by goal, what other setups say; the examiners themselves."""
        from fdbcore.suites.staged.results_view import section

        return section(document)


SUITE: Final = StagedDialogues()
