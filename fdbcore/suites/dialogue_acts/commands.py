"""`fdbcore dataset generate` makes records by a language model; `fdbcore dataset speak` makes clips of their users."""

import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fdbcore import clock
from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols.suite import Console
from fdbcore.recording import one_call, part_of, read_json
from fdbcore.registry import model, speaker
from fdbcore.report import counted
from fdbcore.runs import ends_soon
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, folder_of
from fdbcore.suites.dialogue_acts.sets import RECORDS, locale_of, records_in
from fdbcore.suites.dialogue_acts.tag_sets import checked, parsed
from fdbcore.suites.dialogue_acts.writing.generate import GenerationPlan, GenerationProgress, Price, cost_usd, generate
from fdbcore.suites.dialogue_acts.writing.speak import ASSISTANT, SPEAK, default_speaker, speak_records
from fdbcore.types import Problem, clock_text


def generate_records(options: Mapping[str, Any], console: Console) -> bool:
    """Have a model write records; whether there are as many as were asked for."""
    told = Prompts(options["locale"], folder_of(options["prompts"]))
    plan = GenerationPlan(options["n"], told.topics(options["topics"]), told, options["seed"])
    price = None if options["price"] is None else _price(options["price"])
    out: Path = options["out"]
    with told_as("--model", "model"):
        writer = model(options["model"])
    for line in ends_soon(writer.services(), clock.utc_today()):
        console.complain(line)
    with console.interruptible():
        watch = partial(_watch, console)
        progress = generate(plan, writer, out, options["jobs"], price, watch)
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
    cost = "" if price is None else f", {cost_usd(progress.usage, price):.4f} USD"
    replies = f"{progress.usage.replies} answers: {_tokens(progress)}{cost}"
    reasons = [f"  dropped {dropped['id']}: {dropped['reason']}" for dropped in progress.dropped]
    return "\n".join([_counts(progress), *reasons, replies])


def speak(options: Mapping[str, Any], console: Console) -> bool:
    """Have the users of records spoken; whether all could be."""
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
    notes = read_json(folder / SPEAK)
    done = [file for file in notes["files"].values() if file]
    length = clock_text(sum(file["length_s"] for file in done))
    lines = [f"{len(done)} of {len(notes['files'])} records spoken, {length}"]
    for name, voice in notes["speakers"].items():
        count = sum(file["speaker"] == name for file in done)
        credit = f"; credit: {voice['credit']}" if "credit" in voice else ""
        lines.append(f"  {count} by {voice['kind']}{credit}")
    return "\n".join([*lines, str(folder / SPEAK)])


def validate(options: Mapping[str, Any], console: Console) -> bool:
    """A line for each fault of a file of acts; whether there is none."""
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
