"""`fdbcore dataset generate` makes records by a language model; `fdbcore dataset speak` makes clips of their users."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols.suite import Command, Console
from fdbcore.report import counted
from fdbcore.types import Option, Problem, clock_text

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.writing.generate import GenerationProgress, Price

MODEL_HELP: Final = (
    "gemini:NAME or openai:NAME; NAME?base_url=URL&key_variable=VARIABLE: at another server, with its own key."
)
PROMPTS_HELP: Final = "Prompt files that go before the shipped ones; paper: the definitions of the paper."
TTS_HELP: Final = (
    "Who speaks: open-jtalk (default for Japanese), hibari (default for English), exec:COMMAND (a text in UTF-8 on its "
    "standard input, a WAV on its standard output, a process a text, which is given 120 s; exec:timeout_s=N COMMAND: "
    "N s; exec:alive=true COMMAND: one process for all), dir:FOLDER (recordings that are there: ID.wav, ID.flac, ...)."
)


def _generate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore import clock
    from fdbcore.registry import model
    from fdbcore.runs import ends_soon
    from fdbcore.suites.dialogue_acts.models.prompts import Prompts, folder_of
    from fdbcore.suites.dialogue_acts.sets import RECORDS
    from fdbcore.suites.dialogue_acts.writing import generate as made

    told = Prompts(options["locale"], folder_of(options["prompts"]))
    plan = made.GenerationPlan(options["n"], told.topics(options["topics"]), told, options["seed"])
    price = None if options["price"] is None else _price(options["price"])
    out: Path = options["out"]
    with told_as("--model", "model"):
        writer = model(options["model"])
    for line in ends_soon(writer.services(), clock.utc_today()):
        console.complain(line)
    with console.interruptible():
        watch = partial(_watch, console)
        progress = made.generate(plan, writer, out, options["jobs"], price, watch)
    for item, reason in progress.left.items():
        console.complain(f"{item}: left, the same command asks again: {reason}")
    console.say(_summary(progress, price))
    if progress.records:
        console.say(str(out / RECORDS))
    if (n := len(progress.records)) < plan.n:
        console.complain(f"{n} of the {plan.n} records that were asked for")
    return n == plan.n


def _price(text: str) -> Price:
    try:
        price_in, price_out = map(float, text.split(","))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < 1e6 and 0 <= price_out < 1e6):
        raise SettingsError(f"--price {text}: expected IN,OUT, in USD per million tokens, such as 0.3,2.5")
    return price_in, price_out


def _watch(console: Console, progress: GenerationProgress) -> None:
    """Shows progress: one line that changes on a terminal; elsewhere a line per record."""
    so_far = f"{progress.ended} of {progress.plan.n}: {_counts(progress)}; of all answers so far {_tokens(progress)}"
    console.show(so_far)
    if progress.settled is not None:
        console.note(f"{progress.settled[0].id}: {so_far}")


def _counts(progress: GenerationProgress) -> str:
    left = f", {len(progress.left)} left" if progress.left else ""
    plural = "" if len(progress.records) == 1 else "s"
    return f"{len(progress.records)} record{plural}, {len(progress.dropped)} dropped{left}"


def _tokens(progress: GenerationProgress) -> str:
    return f"{progress.usage.tokens_in:,} tokens in, {progress.usage.tokens_out:,} out"


def _summary(progress: GenerationProgress, price: Price | None) -> str:
    from fdbcore.suites.dialogue_acts.writing.generate import cost_usd

    cost = "" if price is None else f", {cost_usd(progress.usage, price):.4f} USD"
    replies = f"{progress.usage.replies} answers: {_tokens(progress)}{cost}"
    reasons = [f"  dropped {dropped['id']}: {dropped['reason']}" for dropped in progress.dropped]
    return "\n".join([_counts(progress), *reasons, replies])


def _speak(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.recording import one_call, part_of
    from fdbcore.registry import speaker
    from fdbcore.suites.dialogue_acts.sets import locale_of, records_in
    from fdbcore.suites.dialogue_acts.writing.speak import ASSISTANT, default_speaker, speak_records

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what a speaker has started is ended
    folder: Path = options["dir"]
    records, problems = records_in(folder)
    with told_as("--tts", "tts"):
        voice = speaker(options["tts"] or default_speaker(locale_of(records)))
    if options["assistant"]:
        folder = part_of(folder, ASSISTANT)
        records = [replace(record, user_text=record.references[0].text) for record in records]
    problems += speak_records(records, folder, voice, console.show)
    for line in reasons(problems):
        console.complain(line)
    with one_call(folder):
        console.say(_what_is_there(folder))
    return not problems


def reasons(problems: Iterable[Problem]) -> list[str]:
    """A line for each reason, with the names of all items that it applies to."""
    found: dict[str, list[str]] = {}
    for where, reason in problems:
        found.setdefault(reason, []).append(where)
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]


def _what_is_there(folder: Path) -> str:
    from fdbcore.recording import read_json
    from fdbcore.suites.dialogue_acts.writing.speak import SPEAK

    notes = read_json(folder / SPEAK)
    done = [file for file in notes["files"].values() if file]
    length = clock_text(sum(file["length_s"] for file in done))
    lines = [f"{len(done)} of {len(notes['files'])} records spoken, {length}"]
    for name, speaker in notes["speakers"].items():
        count = sum(file["speaker"] == name for file in done)
        credit = f"; credit: {speaker['credit']}" if "credit" in speaker else ""
        lines.append(f"  {count} by {speaker['kind']}{credit}")
    return "\n".join([*lines, str(folder / SPEAK)])


def _validate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.dialogue_acts.tag_sets import checked, parsed

    content, faults = checked(options["file"])
    for fault in faults:
        console.complain(fault)
    if faults:
        return False
    tags = parsed(content)
    languages = ", ".join(tags.acts[0]["definition"])
    console.say(
        f"{tags.name}: {counted(len(tags.acts), 'act')}, {counted(len(tags.related), 'related pair')}, "
        f"defined in {languages}"
    )
    return True


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
        _generate,
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
        _speak,
    ),
    Command(
        "validate",
        """Check a file of acts: its names, colours, definitions, rules, and what swaps cost; a line for each fault.

        Such a file says which acts there are; as acts.toml in a folder of prompts, --prompts takes it.

        Example: fdbcore acts validate fdbcore/suites/dialogue_acts/data/iso-24617-2/acts.toml
        """,
        (Option("FILE", kind="path", required=True),),
        _validate,
        group="acts",
    ),
)
