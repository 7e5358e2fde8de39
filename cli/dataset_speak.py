"""`fdbcore dataset speak`: the users of a data set, as clips."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import options
from .endings import one_line
from .options import DONE, FAILED
from .status import status

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.records import Problem

TTS_HELP = (
    "Who speaks: open-jtalk; exec:COMMAND (a text in UTF-8 on its standard input, a WAV on its standard output, a "
    "process a text, which is given 120 s; exec:timeout_s=N COMMAND: N s); dir:FOLDER (recordings that are there: "
    "ID.wav, ID.flac, ...)."
)


@click.command()
@click.argument("folder", type=options.FILE, metavar="DIR")
@click.option("--tts", default="open-jtalk", show_default=True, metavar="SPEAKER", help=TTS_HELP)
@options.quiet
def speak(folder: Path, tts: str, quiet: bool) -> None:
    """Speak the user of each record in DIR/records.jsonl, to DIR/ID.wav.

    24 kHz, 16 bit, mono, with 120 ms of digital silence before and after; DIR/speak.json says who spoke. The same
    command again goes on where an earlier one was stopped; another speaker speaks everything anew.
    """
    from fdbcore.registry import speaker
    from fdbcore.suites.dialogue_acts.records import read_records
    from fdbcore.suites.dialogue_acts.speak import RECORDS, speak_records

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what a speaker has started is ended
    with one_line("fdbcore dataset speak", "the same command goes on"):
        records, problems = read_records(folder / RECORDS)
        with status(quiet) as show:
            problems += speak_records(records, folder, speaker(tts), show)
    for line in reasons(problems):
        click.echo(f"fdbcore dataset speak: {line}", err=True)
    if not quiet:
        _say_what_is_there(folder)
    sys.exit(FAILED if problems else DONE)


def reasons(problems: Iterable[Problem]) -> list[str]:
    """A line for each reason, which names all that it holds for."""
    found: dict[str, list[str]] = {}
    for where, reason in problems:
        found.setdefault(reason, []).append(where)
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]


def _say_what_is_there(folder: Path) -> None:
    from fdbcore.recording import read_json
    from fdbcore.report.words import clock_text
    from fdbcore.suites.dialogue_acts.speak import SPEAK

    notes = read_json(folder / SPEAK)
    done = [file for file in notes["files"].values() if file]
    length = clock_text(sum(file["length_s"] for file in done))
    click.echo(f"{len(done)} of {len(notes['files'])} records spoken, {length}")
    for name, speaker in notes["speakers"].items():
        count = sum(file["speaker"] == name for file in done)
        credit = f"; credit: {speaker['credit']}" if "credit" in speaker else ""
        click.echo(f"  {count} by {speaker['kind']}{credit}")
    click.echo(folder / SPEAK)
