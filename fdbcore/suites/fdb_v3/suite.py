"""Full-Duplex-Bench v3 as a `Suite`."""

from dataclasses import replace
from typing import Final

from fdbcore.doors import Later
from fdbcore.protocols.suite import Command, Labels, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, TRANSCRIBER
from fdbcore.types import Option

HERE: Final = "fdbcore.suites.fdb_v3"
SCORE_OPTIONS: Final = (replace(TRANSCRIBER, several=False), JUDGE, REPEATS, MAX_COST, PUBLISHED)
COMMANDS: Final = (
    Command(
        "validate",
        """Check files of recorded scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a .json, or smoke for the set that ships.

        Example: fdbcore scenarios validate smoke
        """,
        (Option("FILE", several=True, required=True),),
        Later(f"{HERE}.commands:validate"),
        group="scenarios",
        reads=Later(f"{HERE}.scenarios:holds_scenarios"),
    ),
    Command(
        "import",
        """Import the released folder of Full-Duplex-Bench v3.

        It has recordings, with the calls that are expected, as released and repaired; results of systems that lie
        beside them are scored as published. Recordings stay where they are.

        Example (needs the released folder): fdbcore scenarios import fdb_v3_data_released --out fdb3.json
        """,
        (
            Option("PATH", kind="path", required=True),
            Option("--out", "The file to write.", kind="path", metavar="FILE", required=True),
        ),
        Later(f"{HERE}.commands:import_folder_of_release"),
        group="scenarios",
        reads=Later(f"{HERE}.scenarios:holds_scenarios"),
    ),
)


class ToolsUnderDisfluency(Suite):
    """Recorded users whose speech is disfluent, on side A; the system's calls of tools, and its timing."""

    name = "fdb-v3"
    schema = "fdbcore.fdb_v3/2"
    commands = COMMANDS
    options = SuiteOptions(score=SCORE_OPTIONS)
    labels = Labels(
        "tables of disfluencies (CSV with the columns recording and disfluencies), tables of verdicts (CSV with the "
        "columns recording, system and rater), and scores of recorded scenarios",
        Later(f"{HERE}.agreement:holds_labels"),
        Later(f"{HERE}.agreement:agree"),
    )
    ship = Later(f"{HERE}.playing:ship")
    side_a = Later(f"{HERE}.playing:side_a")
    score = Later(f"{HERE}.scoring:score")
    asked = Later(f"{HERE}.scoring:asked")
    expected = Later(f"{HERE}.scoring:expected")
    card = Later(f"{HERE}.card:card")


SUITE: Final = ToolsUnderDisfluency()
