"""The dialogue-act benchmark as a `Suite`."""

from dataclasses import replace
from typing import Final

from fdbcore.doors import Later
from fdbcore.protocols.suite import Command, Labels, Suite, SuiteOptions
from fdbcore.runs import JUDGE, MAX_COST, PUBLISHED, REPEATS, TRANSCRIBER
from fdbcore.types import Option

ENGLISH: Final = "en"
LOCALE: Final = Option("--locale", "Stop if the set has another locale; with --turns: of the calls.", metavar="LOCALE")
DATA_OPTIONS: Final = (
    Option("--prompts", "Ask the systems by the prompts in this folder [default: those of the set].", metavar="DIR"),
    LOCALE,
)
SCORE_OPTIONS: Final = (
    Option("--references", "Records with good replies, a set each [default: of the run].", "path", None, "FILE", True),
    Option("--annotator", "Label replies and references with this model.", "text", None, "[SET=]VENDOR:NAME", True),
    replace(TRANSCRIBER, several=False, was="--asr"),
    Option("--turns", "Annotate every turn of any calls; --references is then a table of turns.", "flag"),
    Option("--whole-call", "Take all that a live party said in its call for the reply.", "flag"),
    replace(REPEATS, help="Annotations of each reply, and verdicts of the judge on it."),
    JUDGE,
    MAX_COST,
    Option("--prompts", "Annotate by the prompts in this folder; paper: by the paper's.", "path", metavar="DIR"),
    LOCALE,
    Option("--as-given", "Take importances as they are, whatever they sum to.", "flag"),
    Option("--unmerged", "Leave neighbouring steps of one act apart, as the paper does.", "flag"),
    Option("--first-reference", "Score against the first good reply of a record alone.", "flag"),
    Option("--partial-credit", "Let swaps of related acts cost less, as the tag set says.", "flag"),
    Option("--page-language", "The language of the page: en or ja.", default=ENGLISH, metavar="LANGUAGE"),
    PUBLISHED,
)
AGREE_OPTIONS: Final = (
    Option("--a", "Acts: whose in FIRST, where it has those of several.", metavar="NAME"),
    Option("--b", "Acts: whose in SECOND.", metavar="NAME"),
    Option("--prompts", "Acts: the folder with their tag set [default: that of FIRST].", kind="path", metavar="DIR"),
    Option("--as-given", "Acts: take importances as they are, whatever they sum to.", kind="flag"),
)

HERE: Final = "fdbcore.suites.dialogue_acts"

MODEL_HELP: Final = (
    "gemini:NAME or openai:NAME; NAME?base_url=URL&key_variable=VARIABLE: at another server, with its own key."
)
PROMPTS_HELP: Final = "Prompt files that go before the shipped ones; paper: the definitions of the paper."
TTS_HELP: Final = (
    "Who speaks: open-jtalk (default for Japanese), hibari (default for English), exec:COMMAND (a text in UTF-8 on its "
    "standard input, a WAV on its standard output, a process a text, which is given 120 s; exec:timeout_s=N COMMAND: "
    "N s; exec:alive=true COMMAND: one process for all), dir:FOLDER (recordings that are there: ID.wav, ID.flac, ...)."
)
COMMANDS: Final = (
    Command(
        "generate",
        """Let a language model write requests of users, good replies and their dialogue acts, to DIR/records.jsonl.

        Each is checked; what is wrong goes back to the model, and in the end to DIR/dropped.jsonl. The same command
        again goes on where an earlier one was stopped or killed, and with a greater -n it adds records.

        Example (needs a key): fdbcore dataset generate --model gemini:gemini-2.5-flash -n 20 --out SET
        """,
        (
            Option("--model", MODEL_HELP, metavar="VENDOR:NAME", required=True),
            Option("-n", "How many records.", kind="count", required=True),
            Option(
                "--topics",
                "A topic a line: name, tab, instruction, or the name alone. Default: the shipped ones.",
                kind="path",
            ),
            Option("--out", "Folder of the set.", kind="path", metavar="DIR", required=True),
            Option("--seed", "Record k is asked for with seed + k.", kind="integer", default=0),
            Option("--jobs", "Requests at a time.", kind="count", default=4),
            Option(
                "--locale", "Language of the set: ja-JP, en-US, or one that --prompts has files of.", default="ja-JP"
            ),
            Option("--prompts", PROMPTS_HELP, kind="path", metavar="DIR"),
            Option("--price", "USD per million tokens, in and out: says what the answers cost.", metavar="IN,OUT"),
        ),
        Later(f"{HERE}.commands:generate_records"),
        failed="run the same command again to continue",
    ),
    Command(
        "speak",
        """Speak the user of each record in DIR/records.jsonl, to DIR/ID.wav.

        24 kHz, 16 bit, mono, with 120 ms of digital silence before and after; DIR/speak.json says who spoke. The same
        command again goes on where an earlier one was stopped; another speaker speaks everything anew.

        Example: fdbcore dataset speak SET
        """,
        (
            Option("DIR", kind="path", required=True),
            Option("--tts", TTS_HELP, metavar="SPEAKER"),
            Option(
                "--assistant",
                "Speak the first good reply of each record, to DIR/assistant/ID.wav instead.",
                kind="flag",
            ),
        ),
        Later(f"{HERE}.commands:speak"),
    ),
    Command(
        "validate",
        """Check a file of acts: its names, colours, definitions, rules, and what swaps cost; a line for each fault.

        Such a file says which acts there are; as acts.toml in a folder of prompts, --prompts takes it.

        Example: fdbcore acts validate fdbcore/suites/dialogue_acts/data/iso-24617-2/acts.toml
        """,
        (Option("FILE", kind="path", required=True),),
        Later(f"{HERE}.commands:validate"),
        group="acts",
    ),
)


class DialogueActs(Suite):
    """Records with reference replies; recorded users on side A; replies as sequences of weighted dialogue acts."""

    name = "dialogue-acts"
    schema = "fdbcore.dialogue_acts/2"
    scores_runs = False
    commands = COMMANDS
    options = SuiteOptions(data=DATA_OPTIONS, score=SCORE_OPTIONS, agree=AGREE_OPTIONS)
    labels = Labels(
        "files of dialogue acts, which end in .jsonl, and tables with ratings of replies",
        Later(f"{HERE}.agreement:holds_labels"),
        Later(f"{HERE}.agreement:agree"),
    )
    ship = Later(f"{HERE}.writing.speak:shipped")
    side_a = Later(f"{HERE}.writing.speak:side_a")
    score = Later(f"{HERE}.inputs:score")
    asked = Later(f"{HERE}.inputs:asked")
    expected = Later(f"{HERE}.inputs:expected")
    card = Later(f"{HERE}.page.section:card")


SUITE: Final = DialogueActs()
