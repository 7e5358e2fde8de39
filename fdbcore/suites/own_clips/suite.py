"""A benchmark of one's own as a `Suite`."""

from typing import Final

from fdbcore.doors import Later
from fdbcore.protocols.suite import Suite, SuiteOptions
from fdbcore.types import Option


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
    side_a = Later("fdbcore.suites.own_clips.scoring:side_a")
    score = Later("fdbcore.suites.own_clips.scoring:score")
    card = Later("fdbcore.suites.own_clips.scoring:card")


SUITE: Final = OwnClips()
