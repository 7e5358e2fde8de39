"""Writes the pages that `fdbcore report` is asked for: of a run, or of single calls."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import click

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.kept import kept
from fdbcore.analysis.survey import survey
from fdbcore.errors import InputError, SettingsError, nearest
from fdbcore.report.agent_logs import refusal, screen_lines
from fdbcore.report.html.templates import INDEX
from fdbcore.report.html.values import PageParts
from fdbcore.report.listening import ClipCounts
from fdbcore.report.run.page import write_index
from fdbcore.report.run.screen import corpus_screen
from fdbcore.runs.amend import keep_log
from fdbcore.runs.pages import write_results
from fdbcore.sources.agent_logs import LogFile, read_log

from . import options
from .corpus import on_written
from .options import DONE, FAILED
from .report_options import ReportOptions
from .status import Status


def calls_named(corpus: Run, names: Iterable[str]) -> list[Call]:
    """The calls with these names. Raises InputError for an unknown name, with similar names."""
    calls = {call.name: call for call in corpus.calls}
    for name in names:
        if name not in calls:
            expected = f"one of the {len(calls):,} calls of {corpus.path}"
            raise InputError(f"--call {name}: expected {expected}{nearest(name, calls)}")
    return [calls[name] for name in names]


def log_of(asked: ReportOptions) -> LogFile | None:
    """The log that the options name, None without one. Raises InputError if it is unusable or is of several calls."""
    path, offset_ms, calls = asked.marks, asked.marks_offset_ms, len(asked.names)
    if path is None:
        return None
    if calls != 1:
        raise SettingsError(f"--agent-log {path}: expected one call, got {calls}; fdbcore replay takes folders of logs")
    read_log(path, asked.marks_session)
    return LogFile(path, offset_ms, asked.marks_session)


def lay_log(call: Call, log: LogFile, quiet: bool) -> int:
    """Store an agent's log with a recording, on its timeline; the exit code."""
    laid = keep_log(call.recording, log)
    if (why_not := refusal(laid)) is not None:
        click.echo(f"fdbcore report: {log.path}: {why_not}", err=True)
        return FAILED
    if not quiet:
        click.echo("\n".join(screen_lines(laid, options.screen_columns())))
    return DONE


def write_run(run: Run, shown: PageParts, quiet: bool) -> int:
    """Write the tables and pages of a run, or the one page that can be sent alone; the exit code."""
    heard = ClipCounts()
    with Status(quiet) as status:
        on_call = on_written(status)
        if shown.embed:
            given, n_calls = kept(run), len(run.calls)
            found = survey(run, on_call=lambda number: on_call("tables", number + 1, n_calls), gated=given.gated(run))
            index = write_index(found, shown, heard, comparison=given.comparison)
        else:
            found, index = write_results(run, shown, heard, on_call=on_call), run.path / INDEX
    for name in list(heard.silent)[: options.MOST_LINES]:
        click.echo(f"fdbcore report: {name}: no audio: {heard.silent[name]}", err=True)
    if len(heard.silent) > options.MOST_LINES:
        click.echo(f"fdbcore report: {len(heard.silent) - options.MOST_LINES:,} more calls have no audio", err=True)
    if not quiet:
        click.echo(corpus_screen(found, shutil.get_terminal_size().columns))
        click.echo(f"{index}{_size_with_clips(index, heard) if shown.embed else ''}")
    return options.tell_damaged("fdbcore report", [row.call for row in found.rows])


def _size_with_clips(index: Path, heard: ClipCounts) -> str:
    """The size of a page with embedded clips, and how many clips are missing."""
    missing = heard.moments - heard.audible
    without = f"; {missing:,} of {heard.moments:,} clips are missing" if missing else ""
    return f" ({index.stat().st_size / 1e6:.1f} MB with its clips{without})"
