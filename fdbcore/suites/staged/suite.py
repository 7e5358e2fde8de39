"""Staged dialogues as a `Suite`."""

from typing import Final

from fdbcore.doors import Later
from fdbcore.protocols.suite import Command, Labels, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, RUBRICS, TRANSCRIBER
from fdbcore.suites.staged.users import NAME, OPTIONS
from fdbcore.types import Option

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

HERE: Final = "fdbcore.suites.staged"

SCENARIOS: Final = Option(
    "--scenarios",
    "builtin (English), builtin-ja, a file, or a folder of files. Default: builtin; with --language, all that come "
    "with fdbcore.",
    several=True,
    metavar="SET",
)
LANGUAGE: Final = Option("--language", "Those in this language alone: en, ja, ...", metavar="CODE")
AS_JSON: Final = Option("--json", "Print JSON of the form of the files.", kind="flag")

COMMANDS: Final = (
    Command(
        "list",
        """List scenarios by family and class, with their ids and titles.

        Example: fdbcore scenarios list --family correction
        """,
        (SCENARIOS, Option("--family", "Those of this family alone.", metavar="ID"), LANGUAGE, AS_JSON),
        Later(f"{HERE}.commands:list_scenarios"),
        group="scenarios",
    ),
    Command(
        "show",
        """Show a scenario: who side A is, what it wants, what it says, and how one tells that it got it.

        Example: fdbcore scenarios show correction.next-turn.01
        """,
        (Option("ID", required=True), SCENARIOS, LANGUAGE, AS_JSON),
        Later(f"{HERE}.commands:show_scenario"),
        group="scenarios",
    ),
    Command(
        "validate",
        """Check files of scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a file, a folder of files, builtin or builtin-ja. Warnings name scenarios that are much alike, and what
        scenarios lack that not everybody needs.

        Example: fdbcore scenarios validate builtin
        """,
        (Option("FILE", several=True, required=True),),
        Later(f"{HERE}.commands:validate"),
        group="scenarios",
        reads=Later(f"{HERE}.scenario_files:holds_scenarios"),
    ),
    Command(
        "import",
        """Import the released scenarios of Full-Duplex-Bench v2, prompts_staged_200.json.

        They have goals, and no words: an examiner with a language model can play them, a keyless one cannot.

        Example (needs the released file): fdbcore scenarios import prompts_staged_200.json --out fdb2.toml
        """,
        (
            Option("PATH", kind="path", required=True),
            Option("--out", "The file to write.", kind="path", metavar="FILE", required=True),
        ),
        Later(f"{HERE}.commands:import_file"),
        group="scenarios",
        reads=Later(f"{HERE}.scenario_files:holds_scenarios"),
    ),
)


class StagedDialogues(Suite):
    """An examiner that pursues goals on side A; goals met and timing of the system."""

    name = NAME
    schema = "fdbcore.staged/2"
    commands = COMMANDS
    options = SuiteOptions(run=OPTIONS, score=SCORE_OPTIONS, agree=AGREE_OPTIONS)
    labels = Labels(
        "tables of ratings (CSV with a column dialogue), and scores of staged dialogues",
        Later(f"{HERE}.rating.agreement:holds_labels"),
        Later(f"{HERE}.rating.agreement:agree"),
        Later(f"{HERE}.rating.page:rate"),
    )
    ship = Later(f"{HERE}.users:ship")
    side_a = Later(f"{HERE}.users:side_a")
    score = Later(f"{HERE}.scoring:score")
    asked = Later(f"{HERE}.scoring:asked")
    expected = Later(f"{HERE}.scoring:expected")
    card = Later(f"{HERE}.card:card")


SUITE: Final = StagedDialogues()
