"""Full-Duplex-Bench v3 as a `Suite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols import UsesServers
from fdbcore.protocols.suite import Labels, Show, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, TRANSCRIBER
from fdbcore.suites.fdb_v3.commands import COMMANDS
from fdbcore.types import SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import ExpectedUse

SCORE_OPTIONS: Final = (replace(TRANSCRIBER, several=False), JUDGE, REPEATS, MAX_COST, PUBLISHED)


def _holds_labels(path: Path) -> bool:
    """Tables of disfluencies or verdicts by their header, files of recorded scenarios, and scores."""
    from fdbcore.suites.fdb_v3.tag_agreement import holds_tags
    from fdbcore.suites.fdb_v3.verdict_agreement import holds_verdicts

    return holds_tags(path) or holds_verdicts(path)


def _agree(paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Show) -> tuple[Mapping[str, Any], str]:
    """Compares the disfluencies that raters found, or verdicts of people with those of scores."""
    from msgspec import to_builtins

    from fdbcore.suites.fdb_v3.tag_agreement import tag_agreement, tags_screen
    from fdbcore.suites.fdb_v3.verdict_agreement import holds_verdicts, verdict_agreement, verdicts_screen

    if any(map(holds_verdicts, paths)):
        verdicts = to_builtins(verdict_agreement(paths))
        return verdicts, verdicts_screen(verdicts, width)
    tags = to_builtins(tag_agreement(paths))
    return tags, tags_screen(tags, width)


class ToolsUnderDisfluency(Suite):
    """Recorded users whose speech is disfluent, on side A; the system's calls of tools, and its timing."""

    name = "fdb-v3"
    schema = "fdbcore.fdb_v3/2"
    commands = COMMANDS
    options = SuiteOptions(score=SCORE_OPTIONS)
    labels = Labels(
        "tables of disfluencies (CSV with the columns recording and disfluencies), tables of verdicts (CSV with the "
        "columns recording, system and rater), and scores of recorded scenarios",
        _holds_labels,
        _agree,
    )

    def ship(self, folder: Path, options: Mapping[str, Any], show: Show) -> None:
        """The smoke set."""
        from fdbcore.suites.fdb_v3.playing import ship

        ship(folder)

    def side_a(self, data: str) -> SideA:
        """The recordings at a place, or the smoke set; a person may play them, who is shown what to ask for."""
        from fdbcore.suites.fdb_v3.playing import played_by, side_a

        users = side_a(data)
        return replace(users, played_by=partial(played_by, users))

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Scores runs, and released folders with results of systems."""
        from fdbcore.suites.fdb_v3.scoring import score

        return score(paths, options, jobs, out, show)

    def expected(
        self, paths: Sequence[Path], options: Mapping[str, Any], out: Path, show: Show
    ) -> Sequence[ExpectedUse]:
        """Of the transcriber, then of judges."""
        from fdbcore.suites.fdb_v3.scoring import expected

        return list(expected(paths, options, out, show))

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        """The transcriber and the judges."""
        from fdbcore.suites.fdb_v3.scoring import V3Scoring

        scoring = V3Scoring.of(options)
        return [*scoring.sources, *scoring.judges.judges]

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is how the tools behave."""
        from fdbcore.suites.fdb_v3.card import card

        return card(document)


SUITE: Final = ToolsUnderDisfluency()
