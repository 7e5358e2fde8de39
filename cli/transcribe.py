"""`fdbcore transcribe`: what both sides of recordings said, each word with its time."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fdbcore.clock import now_ns
from fdbcore.errors import FdbError, SettingsError, told_as
from fdbcore.report.format import counted
from fdbcore.types import TICKS_PER_S, clock_text

from . import options
from .endings import one_line
from .folders import newest
from .options import DONE, FAILED, FILE
from .status import SparseLines, Status

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.analysis.transcripts import SideHeard
    from fdbcore.sources.word_source import WordSource
    from fdbcore.types import Side


class _Place(NamedTuple):
    """A call to transcribe, and the run that it belongs to."""

    run: Run
    call: Call


@click.command(short_help="Write what both sides said, each word with its time.")
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN]...")
@click.option("--transcriber", "address", required=True, metavar="ADDRESS",
              help="whisper (on this machine), openai:MODEL or a server with its interface, or words: files that "
              "are there already.")  # fmt: skip
@click.option("--language", default="", metavar="CODE", help="Language of the calls, as ISO 639-1 such as en "
              "(default: the transcriber finds it out).")  # fmt: skip
@options.quiet
def transcribe(runs: Sequence[Path], address: str, language: str, quiet: bool) -> None:
    """Write what both sides of each call said into its recording: each word with its time.

    RUN is a run or one of its recordings; by default the newest run in the current folder. The words stand in
    derived/words_A.json and words_B.json of each recording, and on its page. Words where the side was silent are kept
    but flagged. No side is transcribed twice while its audio, the transcriber and the language are the same.

    --transcriber words takes the A.json and B.json of Full-Duplex-Bench v2 that lie beside A.wav and B.wav, and
    words:FOLDER takes FOLDER/CALL/A.json and B.json. A server has to give word times: whisper-1 does,
    gpt-4o-transcribe does not.

    Example: fdbcore transcribe RUN --transcriber whisper --language en
    """
    from fdbcore.sources.word_source import word_source

    with one_line("fdbcore transcribe", "the sides that were done are kept; the same command goes on"):
        with told_as("--transcriber", "asr"):
            source = word_source(address)
        places = [_Place(run, call) for run in map(options.read_run, runs or [newest()]) for call in run.calls]
        sys.exit(_transcribe_all(places, source, language, quiet))


def _transcribe_all(places: Sequence[_Place], source: WordSource, language: str, quiet: bool) -> int:
    """Transcribe the calls one after the other, and return the exit code."""
    from fdbcore.analysis.transcripts import transcribe as transcribed

    began_ns, lines = now_ns(), SparseLines(quiet)
    counts = Counter[str]()
    with Status(quiet) as status:
        for number, (run, call) in enumerate(places):

            def show(side: Side, tick: int, number: int = number, name: str = call.name) -> None:
                at = clock_text(tick // TICKS_PER_S)
                text = f"{number:,} of {len(places):,} calls transcribed; {name}: {side} from {at}"
                status(text, number, len(places))
                lines(text, (now_ns() - began_ns) / 1e9)

            try:
                heard = transcribed(call.recording, source, language, show)
            except SettingsError:  # it would be the same for every call
                raise
            except FdbError as error:
                counts["failed"] += 1
                status.clear()
                click.echo(f"fdbcore transcribe: {call.name}: {error}", err=True)
                continue
            if any(each.is_new for each in heard):
                _renew_page(run, call)
            counts["done"] += 1
            counts["words"] += sum(len(each.transcript.words) for each in heard)
            counts["silent"] += sum(each.transcript.words_in_silence for each in heard)
            status.clear()
            if not quiet:
                click.echo(f"{call.name}: {'; '.join(map(_side_in_words, heard))}")
    if not quiet and counts["done"] > 1:
        silent = _silent(counts["silent"])
        click.echo(f"{counted(counts['done'], 'call')}: {counted(counts['words'], 'word')}{silent}")
    return FAILED if counts["failed"] else DONE


def _side_in_words(heard: SideHeard) -> str:
    """What came of a side, such as "A 132 words, 2 of them where it was silent"."""
    found = heard.transcript
    untimed = f", {found.untimed:,} more without times" if found.untimed else ""
    before = "" if heard.is_new else " (transcribed before)"
    return f"{found.side} {counted(len(found.words), 'word')}{_silent(found.words_in_silence)}{untimed}{before}"


def _silent(words: int) -> str:
    return f", {words:,} of them where the side was silent" if words else ""


def _renew_page(run: Run, call: Call) -> None:
    """Write the page of a call again, if it has one, with the words on it."""
    from fdbcore.recording.files import REPORT
    from fdbcore.report.html.values import WHOLE

    from .report_pages import write_pages

    if (call.path / REPORT).is_file():
        write_pages(run, [call], WHOLE, quiet=True)
