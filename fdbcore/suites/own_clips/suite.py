"""A benchmark of one's own as a `Suite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fdbcore.protocols.suite import Show, Suite, SuiteOptions
from fdbcore.types import Option, SideA
from fdbcore.types.scorecard import Scorecard, Scored


class OwnClips(Suite):
    """Recorded users of the user's own on side A; all measures of turn-taking, also by labels, in slices."""

    name = "clips"
    schema = "fdbcore.clips/2"
    options = SuiteOptions(
        data=(
            Option(
                "--labels",
                "Labels of the clips: a table (CSV) with a row per clip or per label, whose other columns make slices; "
                "or a TextGrid, RTTM or Audacity file, or a folder of them.",
                metavar="FILE",
            ),
        )
    )

    def side_a(self, data: str) -> SideA:
        """The clips in "DIR?labels=FILE&SETTINGS"; the other settings are those of the clip endpoint."""
        from fdbcore.suites.own_clips.scoring import side_a

        return side_a(data)

    def score(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, out: Path, show: Show
    ) -> Scored:
        """Pools the measures of the calls of runs."""
        from fdbcore.suites.own_clips.scoring import score

        return score(paths, show)

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        """The scorecard; a condition is a line, a subset a value of a column."""
        from fdbcore.suites.own_clips.scoring import card

        return card(document)


SUITE: Final = OwnClips()
