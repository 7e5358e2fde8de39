"""Full-Duplex-Bench v3 as a `Suite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from fdbcore.protocols.suite import Suite
from fdbcore.suites.fdb_v3.commands import COMMANDS
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored
from fdbcore.types.usage import Service

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Document


class ToolsUnderDisfluency(Suite):
    """Recorded users whose speech is disfluent, on side A; the system's calls of tools, and its timing."""

    name = "fdb-v3"
    schema = "fdbcore.fdb_v3/1"
    run_scores = True
    commands = COMMANDS
    score_options = (
        Option(
            "--transcriber",
            "Take words from here: whisper, openai:MODEL, told, ... The published measures of turns need them.",
            metavar="ADDRESS",
        ),
    )

    labels = "tables of disfluencies (CSV with the columns recording and disfluencies)"

    def ship(self, folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
        """The smoke set."""
        from fdbcore.suites.fdb_v3.playing import ship

        ship(folder)

    def side_a(self, data: str) -> SideA:
        """The recordings at a place, or the smoke set."""
        from fdbcore.suites.fdb_v3.playing import side_a

        return side_a(data)

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

        return score(paths, options, jobs, show)

    def check_keys(self, options: Mapping[str, Any]) -> None:
        """That of the recogniser."""
        from fdbcore.sources.word_files import KnownWords
        from fdbcore.suites.fdb_v3.scoring import V3Scoring

        source = V3Scoring.of(options).source
        if source is not None and not isinstance(source, KnownWords):
            source.check_key()

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        """Those of the recogniser."""
        from fdbcore.suites.fdb_v3.scoring import V3Scoring

        source = V3Scoring.of(options).source
        return () if source is None else source.services()

    def holds_labels(self, path: Path) -> bool:
        """Tables of disfluencies by their header, and files of recorded scenarios."""
        from fdbcore.suites.fdb_v3.tagging import holds_tags

        return holds_tags(path)

    def agree(
        self, paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
    ) -> tuple[Mapping[str, Any], str]:
        """Compares the disfluencies that raters found."""
        from fdbcore.suites.fdb_v3.tagging import tag_agreement
        from fdbcore.suites.fdb_v3.tagging_screen import screen

        content = tag_agreement(paths)
        return content, screen(content, width)

    def holds_scenarios(self, path: Path) -> bool:
        """Files of recorded scenarios (.json), and folders with recordings."""
        from fdbcore.suites.fdb_v3.reading import holds_scenarios

        return holds_scenarios(path)

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is how the tools behave."""
        from fdbcore.suites.fdb_v3.card import card

        return card(cast("V3Document", document))


SUITE: Final = ToolsUnderDisfluency()
