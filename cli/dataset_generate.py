"""`fdbcore dataset generate`: records of the dialogue-act benchmark, by a language model."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from fdbcore.errors import SettingsError

from . import options
from .endings import one_line
from .options import DONE, FAILED, INTERRUPTED
from .status import status

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.generate import Price, Progress

NAME = "fdbcore dataset generate"
MODEL_HELP = "gemini:NAME or openai:NAME; NAME?base_url=URL&key_variable=VARIABLE: at another server, with its own key."


@click.command()
@click.option("--model", "address", required=True, metavar="VENDOR:NAME", help=MODEL_HELP)
@click.option("-n", "n", type=click.IntRange(1), required=True, help="How many records.")
@click.option(
    "--topics",
    type=options.FILE,
    help="A topic a line: name, tab, instruction, or the name alone. Default: the shipped ones.",
)
@click.option("--out", type=options.FILE, required=True, metavar="DIR", help="Folder of the set.")
@click.option("--seed", type=int, default=0, show_default=True, help="Record k is asked for with seed + k.")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Requests at a time.")
@click.option("--locale", default="ja-JP", show_default=True, help="Language of the set; its prompts must be there.")
@click.option("--prompts", type=options.FILE, metavar="DIR", help="Prompt files that go before the shipped ones.")
@click.option("--price", metavar="IN,OUT", help="USD per million tokens, in and out: says what the answers cost.")
@options.quiet
def generate(
    address: str,
    n: int,
    topics: Path | None,
    out: Path,
    seed: int,
    jobs: int,
    locale: str,
    prompts: Path | None,
    price: str | None,
    quiet: bool,
) -> None:
    """Let a language model write requests of users, good replies and their dialogue acts, to DIR/records.jsonl.

    Each is checked; what is wrong goes back to the model, and in the end to DIR/dropped.jsonl. The same command again
    goes on where an earlier one was stopped or killed, and with a greater -n it adds records.
    """
    from fdbcore.registry import model
    from fdbcore.suites.dialogue_acts import generate as made
    from fdbcore.suites.dialogue_acts.prompts import Prompts

    with one_line(NAME, "the same command goes on", "the same command goes on"):
        if prompts is not None and not prompts.is_dir():
            raise SettingsError(f"--prompts {prompts}: expected a folder of prompts")
        told = Prompts(locale, prompts)
        plan = made.Plan(n, told.topics(topics), told, seed)
        costs = None if price is None else _price(price)
        with status(quiet) as show, _interruptible():
            watch = partial(_watch, show, quiet)
            progress = made.generate(plan, model(address), out, jobs, costs, watch)
    for item, reason in progress.left.items():
        click.echo(f"{NAME}: {item}: left, the same command asks again: {reason}", err=True)
    if not quiet:
        click.echo(_summary(progress, costs))
        if out.exists():
            click.echo(out / made.RECORDS)
    sys.exit(DONE if progress.records and not progress.left else FAILED)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C once: no more requests, and those on their way are awaited; twice: leave at once. What came is kept."""
    pressed = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            os._exit(INTERRUPTED)  # threads that wait for an answer would be waited for
        click.echo("\nfinishing the requests on their way; Ctrl-C again leaves now", err=True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _price(text: str) -> Price:
    try:
        price_in, price_out = map(float, text.split(","))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < 1e6 and 0 <= price_out < 1e6):
        raise SettingsError(f"--price {text}: expected IN,OUT, in USD per million tokens, such as 0.3,2.5")
    return price_in, price_out


def _watch(show: Callable[[str], None], quiet: bool, progress: Progress) -> None:
    """A line on a terminal; elsewhere one for each record."""
    so_far = f"{progress.ended} of {progress.plan.n}: {_counts(progress)}; of all answers so far {_tokens(progress)}"
    show(so_far)
    if not (quiet or sys.stderr.isatty()) and progress.settled is not None:
        click.echo(f"{progress.settled[0].id}: {so_far}", err=True)


def _counts(progress: Progress) -> str:
    left = f", {len(progress.left)} left" if progress.left else ""
    plural = "" if len(progress.records) == 1 else "s"
    return f"{len(progress.records)} record{plural}, {len(progress.dropped)} dropped{left}"


def _tokens(progress: Progress) -> str:
    return f"{progress.usage.tokens_in:,} tokens in, {progress.usage.tokens_out:,} out"


def _summary(progress: Progress, price: Price | None) -> str:
    from fdbcore.suites.dialogue_acts.generate import cost_usd

    cost = "" if price is None else f", {cost_usd(progress.usage, price):.4f} USD"
    replies = f"{progress.usage.replies} answers: {_tokens(progress)}{cost}"
    reasons = [f"  dropped {dropped['id']}: {dropped['reason']}" for dropped in progress.dropped]
    return "\n".join([_counts(progress), *reasons, replies])
