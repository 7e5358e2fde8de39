"""What `fdbcore replay` does with several sessions: progress, tables, page and screen of all of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import FdbError

from .options import DONE, FAILED, INTERRUPTED, screen_columns

if TYPE_CHECKING:
    from fdbcore.corpus_inputs import PlannedCall
    from fdbcore.corpus_jobs import How, Replayed
    from fdbcore.corpus_replay import Progress
    from fdbcore.names import Oddities
    from fdbcore.report.survey import Survey

TOLD: Final = 20
"""How many failures are printed, and up to how many sessions each has a line of its own."""
NAMED: Final = 5
_LINE_EVERY_S: Final = 60.0  # where there is no terminal to draw on


def replay_calls(
    calls: Sequence[PlannedCall], how: How, jobs: int | None, oddities: Oddities, as_json: bool, quiet: bool
) -> int:
    """Replay several calls, write what there is of all of them, and print it; the exit code."""
    from fdbcore.corpus_replay import replay_corpus
    from fdbcore.report.index import write_index

    display = _Display(show=not (quiet or as_json))
    for call in calls:
        if call.error is not None:
            display.failed(f"{call.session.name}: {call.error}")
    try:
        entries = replay_corpus(calls, how, jobs or len(os.sched_getaffinity(0)), oddities, display)
        display.clear()
        say_oddities(oddities)
        run = write_tables(how.run_path, show=display.redraws)
        write_index(run)
        _write_summary(run, entries)
        _print(run, entries, as_json, quiet)
    except FdbError as error:
        display.clear()
        click.echo(f"fdbcore replay: {error}", err=True)
        return FAILED
    except KeyboardInterrupt:
        display.clear()
        click.echo(f"fdbcore replay: interrupted{display.so_far()}; the same command goes on", err=True)
        return INTERRUPTED
    return FAILED if display.failures else DONE


def write_tables(path: Path, show: bool) -> Survey:
    """Write the tables of a run; what they are made of. show: the progress, on the terminal."""
    from fdbcore.corpus import Corpus
    from fdbcore.report.corpus_tables import EventTable, write_calls
    from fdbcore.report.survey import survey

    corpus = Corpus.of(path)

    def on_call(number: int) -> None:
        if show and number % 100 == 0:
            click.echo(f"\r\x1b[Ktables: {number:,} of {len(corpus.calls):,} calls", nl=False, err=True)

    with EventTable(path) as events:
        run = survey(corpus, events.add, on_call)
    if show:
        click.echo("\r\x1b[K", nl=False, err=True)
    write_calls(path, run.rows)
    return run


class _Display:
    """One line on a terminal that says how far the replay is, elsewhere a line a minute; and a line a failure."""

    def __init__(self, show: bool) -> None:
        self.failures = 0
        self.redraws = show and sys.stderr.isatty()
        self._show = show
        self._progress: Progress | None = None
        self._next_line_s = _LINE_EVERY_S

    def __call__(self, progress: Progress, ended: Replayed | None) -> None:
        self._progress = progress
        if ended is not None and ended.status in ("failed", "damaged"):
            scored = "; scored what is there" if ended.status == "damaged" else ""
            self.failed(f"{ended.reason}{scored}")
        if self.redraws:
            columns = shutil.get_terminal_size().columns
            click.echo(f"\r\x1b[K{self._line(progress)[: columns - 1]}", nl=False, err=True)
        elif self._show and progress.elapsed_s > self._next_line_s:
            self._next_line_s += _LINE_EVERY_S
            click.echo(self._line(progress), err=True)

    def failed(self, text: str) -> None:
        """Print the line of a failure, unless there were many."""
        self.failures += 1
        self.clear()
        if self.failures <= TOLD:
            click.echo(f"fdbcore replay: {text}", err=True)
        elif self.failures == TOLD + 1:
            click.echo("fdbcore replay: more failed; calls.csv names them all", err=True)

    def clear(self) -> None:
        """Take the line of the progress away."""
        if self.redraws:
            click.echo("\r\x1b[K", nl=False, err=True)

    def so_far(self) -> str:
        """How many calls have ended, in a few words."""
        return f", {self._progress.ended:,} of {self._progress.calls:,} calls ended" if self._progress else ""

    def _line(self, progress: Progress) -> str:
        from fdbcore.report.words import clock_text

        left = "" if progress.left_s is None else f" | {clock_text(progress.left_s)} left"
        failed = f" | {self.failures:,} failed" if self.failures else ""
        kept = f" | {progress.skipped:,} kept" if progress.skipped else ""
        rate = f"{progress.calls_per_s:.1f} calls/s, {progress.times_real_time:,.0f}x real time"
        return f"{progress.ended:,} of {progress.calls:,} calls{left}{failed}{kept} | {rate}"


def say_oddities(oddities: Oddities) -> None:
    """A line for what did not fit, of each sort."""
    for what, names in oddities.found.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        click.echo(f"fdbcore replay: {what}: {len(names):,}: {', '.join(names[:NAMED])}{more}", err=True)


def _write_summary(run: Survey, entries: Sequence[dict[str, Any]]) -> None:
    from fdbcore.recording import write_json

    write_json(run.corpus.path / "summary.json", summary_of(run, entries))


def summary_of(run: Survey, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All measures pooled, which calls are in them, and which have what must be known before any number."""
    from fdbcore.score import SUMMARY_SCHEMA

    read = [entry for entry in entries if entry["status"] not in ("failed", "waiting")]
    return {
        "schema": SUMMARY_SCHEMA,
        "recordings": [entry["name"] for entry in read],
        "unscored": {entry["name"]: entry["unscored"] for entry in read if entry["unscored"]},
        "findings": {name: [call.name for call, _ in calls] for name, calls in run.amiss().items()},
        "warnings": run.warned(),
        "measures": run.measures,
        "failed": [entry["reason"] for entry in entries if entry["status"] in ("failed", "damaged")],
    }


def _print(run: Survey, entries: Sequence[dict[str, Any]], as_json: bool, quiet: bool) -> None:
    if as_json:
        _print_json(run, summary_of(run, entries))
    elif not quiet:
        print_run(run)


def print_run(run: Survey) -> None:
    """A line a session where there are few of one system, else what they have in common; and where the page is."""
    from fdbcore.report.corpus_screen import corpus_screen
    from fdbcore.report.index import INDEX
    from fdbcore.report.screen import run_screen
    from fdbcore.report.systems import several

    few = len(run.rows) <= TOLD and not several(run)
    recordings = [row.call.recording for row in run.rows if row.length_s is not None] if few else []
    if recordings:
        columns = screen_columns()
        click.echo(run_screen(recordings, run.measures, columns))
        for row in run.rows:
            if row.length_s is None:
                click.echo(fill(f"not scored: {row.call.name}: {row.call.unscored}", columns, break_on_hyphens=False))
    else:
        click.echo(corpus_screen(run, shutil.get_terminal_size().columns))
    click.echo(run.corpus.path / INDEX)


def _print_json(run: Survey, summary: dict[str, Any]) -> None:
    """One document, written call by call: the documents of thousands of calls are not in memory at once."""
    from fdbcore.report.document import document
    from fdbcore.score import read_scores

    head = json.dumps(summary, ensure_ascii=False)
    click.echo(f'{head[:-1]}, "sessions": [', nl=False)
    calls = {call.name: call for call in run.corpus.calls}
    for number, name in enumerate(summary["recordings"]):
        recording = calls[name].recording
        text = json.dumps(document(recording, read_scores(recording)), ensure_ascii=False)
        click.echo(f"{', ' if number else ''}{text}", nl=False)
    click.echo("]}")
