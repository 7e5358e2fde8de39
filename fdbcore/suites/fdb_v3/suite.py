"""Full-Duplex-Bench v3 as a `Suite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols.suite import Suite
from fdbcore.runs.judge_flags import MAX_COST, REPEATS
from fdbcore.suites.fdb_v3.commands import COMMANDS
from fdbcore.types import Option, SideA
from fdbcore.types.remarks import CallRemarks
from fdbcore.types.scorecard import Scorecard, Scored, ScoredCase
from fdbcore.types.usage import ExpectedUse, Service


class ToolsUnderDisfluency(Suite):
    """Recorded users whose speech is disfluent, on side A; the system's calls of tools, and its timing."""

    name = "fdb-v3"
    schema = "fdbcore.fdb_v3/2"
    run_scores = True
    commands = COMMANDS
    takes_side_a = True
    score_options = (
        Option(
            "--transcriber",
            "Take words from here: whisper, openai:MODEL, told, ... The published measures of turns need them.",
            metavar="ADDRESS",
        ),
        Option(
            "--judge",
            "Let this judge decide on arguments, in place of the exact matcher, on responses, and on filler and key "
            "information. Another one is compared with the first.",
            metavar="JUDGE:NAME",
            several=True,
        ),
        REPEATS,
        MAX_COST,
        Option("--published", "Show what the paper published, too; nothing is tested against it.", kind="flag"),
    )
    kept = ("judged.json", "recordings")

    labels = (
        "tables of disfluencies (CSV with the columns recording and disfluencies), tables of verdicts (CSV with the "
        "columns recording, system and rater), and scores of recorded scenarios"
    )

    def ship(self, folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
        """The smoke set."""
        from fdbcore.suites.fdb_v3.playing import ship

        ship(folder)

    def side_a(self, data: str) -> SideA:
        """The recordings at a place, or the smoke set."""
        from fdbcore.suites.fdb_v3.playing import side_a

        return side_a(data)

    def played_by(self, side_a: SideA, address: str) -> SideA:
        """A person, who is shown what to ask for."""
        from fdbcore.suites.fdb_v3.people import played_by

        return played_by(side_a, address)

    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        """Scores runs, and released folders with results of systems."""
        from fdbcore.suites.fdb_v3.scoring import score

        return score(paths, options, jobs, out, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Callable[[str], None]
    ) -> Sequence[ExpectedUse]:
        """Those of the recogniser, then of judges."""
        from fdbcore.suites.fdb_v3.expected import expected

        return list(expected(paths, options, out, show))

    def check_keys(self, options: Mapping[str, Any]) -> None:
        """Those of the recogniser and of judges."""
        from fdbcore.suites.fdb_v3.scoring import V3Scoring

        scoring = V3Scoring.of(options)
        scoring.judges.check_keys(scoring.sources)

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        """Those of the recogniser and of judges."""
        from fdbcore.suites.fdb_v3.scoring import V3Scoring

        scoring = V3Scoring.of(options)
        return scoring.judges.services(scoring.sources)

    def holds_labels(self, path: Path) -> bool:
        """Tables of disfluencies or verdicts by their header, files of recorded scenarios, and scores."""
        from fdbcore.suites.fdb_v3.tagging import holds_tags
        from fdbcore.suites.fdb_v3.verdicts import holds_verdicts

        return holds_tags(path) or holds_verdicts(path)

    def agree(
        self, paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
    ) -> tuple[Mapping[str, Any], str]:
        """Compares the disfluencies that raters found, or verdicts of people with those of scores."""
        from msgspec import to_builtins

        from fdbcore.suites.fdb_v3.tagging import tag_agreement, tags_screen
        from fdbcore.suites.fdb_v3.verdicts import holds_verdicts, verdict_agreement, verdicts_screen

        if any(map(holds_verdicts, paths)):
            verdicts = verdict_agreement(paths)
            return to_builtins(verdicts), verdicts_screen(verdicts, width)
        tags = tag_agreement(paths)
        return to_builtins(tags), tags_screen(tags, width)

    def holds_scenarios(self, path: Path) -> bool:
        """Files of recorded scenarios (.json), and folders with recordings."""
        from fdbcore.suites.fdb_v3.reading import holds_scenarios

        return holds_scenarios(path)

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is how the tools behave."""
        from fdbcore.suites.fdb_v3.card import card

        return card(document)

    def details(self, document: Mapping[str, Any], width: int) -> Sequence[Sequence[str]]:
        """Known defects of the published measures, how far judges agree, and the paper's case studies."""
        from fdbcore.suites.fdb_v3.card import scores_of
        from fdbcore.suites.fdb_v3.shown import details

        return details(scores_of(document), width)

    def section(self, document: Mapping[str, Any]) -> str:
        """How far judges agree, and the paper's case studies."""
        from fdbcore.suites.fdb_v3.card import scores_of
        from fdbcore.suites.fdb_v3.shown import section

        return section(scores_of(document))

    def style(self) -> str:
        """The style of the drawings of recordings."""
        from fdbcore.report.html.templates import static

        return static("case.css", __package__)

    def legend(self, document: Mapping[str, Any]) -> str:
        """How to read them."""
        return (
            '<p class="v3-key">Bars are speech and calls, from their arguments to their results; a call without a '
            "result has a dashed outline. The dashed line is the user&#x27;s end.</p>"
        )

    def picture(self, case: ScoredCase) -> str:
        """Who spoke when, the calls, and what was expected."""
        from fdbcore.suites.fdb_v3.view import picture

        return picture(case)

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The calls."""
        from fdbcore.suites.fdb_v3.view import remarks

        return remarks(case)


SUITE: Final = ToolsUnderDisfluency()
