"""v1 and v1.5 as `Suite`s: recorded users on side A, and how systems take and yield the turn."""

from typing import Final

from fdbcore.doors import Later
from fdbcore.protocols.suite import Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, RUBRICS, TRANSCRIBER, VADS
from fdbcore.types import Option

ASKED: Final = (TRANSCRIBER, VADS, JUDGE, REPEATS, MAX_COST)
HUMAN: Final = Option(
    "--human", "When people gave backchannels, as JSON {ID: [COUNT, ...]}: for the JSD.", kind="path", metavar="FILE"
)
UTMOS: Final = Option("--utmos", "This command prints the quality of the WAV file that it is given.", metavar="COMMAND")


class RecordedUsers(Suite):
    """Recorded users of v1, and folders of outputs that exist already."""

    name = "fdb-v1"
    schema = "fdbcore.fdb_v1/2"
    options = SuiteOptions(score=(*ASKED, HUMAN, PUBLISHED))
    asked = Later("fdbcore.suites.fdb_v1.judging:asked")
    card = Later("fdbcore.suites.fdb_v1.card:card")
    side_a = Later("fdbcore.suites.fdb_v1.samples:side_a", name)
    score = Later("fdbcore.suites.fdb_v1.scoring:score", name)
    expected = Later("fdbcore.suites.fdb_v1.judging:expected", name)


class OverlappedUsers(RecordedUsers):
    """The same of v1.5."""

    name = "fdb-v1.5"
    options = SuiteOptions(score=(*ASKED, RUBRICS, UTMOS))
    side_a = Later("fdbcore.suites.fdb_v1.samples:side_a", name)
    score = Later("fdbcore.suites.fdb_v1.scoring:score", name)
    expected = Later("fdbcore.suites.fdb_v1.judging:expected", name)


V1: Final = RecordedUsers()
V15: Final = OverlappedUsers()
