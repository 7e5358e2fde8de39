"""`fdbcore report`: tables and pages of a run, made from its recordings."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError, InputError

from . import options
from .options import DONE, FAILED, FILE

if TYPE_CHECKING:
    from fdbcore.corpus import Call, Corpus
    from fdbcore.report.index import Shown


@click.command()
@click.argument("run", type=FILE)
@click.option("--call", "names", multiple=True, metavar="NAME", help="Make the page of this call, and nothing else.")
@click.option(
    "--worst",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Also make the pages of the N worst calls.",
)
@click.option("--embed-clips", is_flag=True, help="Put 10 s of audio of each worst moment into index.html, to send it.")
@click.option("--no-audio", is_flag=True, help="Pages without audio, and without links to it.")
@click.option("--no-words", is_flag=True, help="Pages without what was said.")
@options.quiet
def report(
    run: Path, names: tuple[str, ...], worst: int, embed_clips: bool, no_audio: bool, no_words: bool, quiet: bool
) -> None:
    """Write the tables and index.html of RUN, of `fdbcore replay` or of `fdbcore run`, anew; or pages of single calls.

    A call's own page is RUN/NAME/report.html.
    """
    from fdbcore.corpus import Corpus
    from fdbcore.report.index import Shown

    if embed_clips and no_audio:
        raise click.UsageError("--embed-clips and --no-audio exclude each other")
    shown = Shown(audio=not no_audio, words=not no_words, embed_clips=embed_clips)
    try:
        if names:
            _write_pages(_named(Corpus.of(run), names), shown, quiet)
        else:
            _write_run(run, shown, worst, quiet)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    except FdbError as error:
        click.echo(f"fdbcore report: {error}", err=True)
        sys.exit(FAILED)
    sys.exit(DONE)


def _named(corpus: Corpus, names: Iterable[str]) -> list[Call]:
    """The calls of these names; InputError for one that is not there, with those that are alike."""
    calls = {call.name: call for call in corpus.calls}
    for name in names:
        if name not in calls:
            near = get_close_matches(name, calls, 3)
            meant = f"; perhaps {' or '.join(near)}" if near else ""
            raise InputError(f"--call {name}: expected one of the {len(calls):,} calls of {corpus.path}{meant}")
    return [calls[name] for name in names]


def _write_pages(calls: Iterable[Call], shown: Shown, quiet: bool) -> None:
    from fdbcore.errors import AudioError
    from fdbcore.report.audio import make_playable
    from fdbcore.report.html import write_report
    from fdbcore.score import read_scores

    for call in calls:
        recording = call.recording
        if shown.audio:
            try:
                make_playable(recording)
            except AudioError as error:
                click.echo(f"fdbcore report: {call.name}: a page without audio: {error}", err=True)
        path = write_report(recording, read_scores(recording), audio=shown.audio)
        if not quiet:
            click.echo(path)


def _write_run(path: Path, shown: Shown, worst: int, quiet: bool) -> None:
    """Tables and index.html; before it the pages of the `worst` calls, so that it links them."""
    from fdbcore.report.corpus_screen import corpus_screen
    from fdbcore.report.index import write_index

    from .corpus import write_tables

    run = write_tables(path, show=not quiet and sys.stderr.isatty())
    rows = sorted((row for row in run.rows if row.worst), key=lambda row: -row.worst.severity if row.worst else 0.0)
    _write_pages([row.call for row in rows[:worst]], shown, quiet=True)
    index = write_index(run, shown)
    if not quiet:
        click.echo(corpus_screen(run, shutil.get_terminal_size().columns))
        size = f" ({index.stat().st_size / 1e6:.1f} MB with its clips)" if shown.embed_clips else ""
        click.echo(f"{index}{size}")
