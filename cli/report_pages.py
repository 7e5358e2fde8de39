"""Writes the pages that `fdbcore report` is asked for: of a run, or of single calls."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.kept import kept
from fdbcore.analysis.score import check, read_scores
from fdbcore.analysis.survey import survey
from fdbcore.errors import AudioError, InputError, SettingsError, nearest
from fdbcore.measures.reading import Reading
from fdbcore.report.agent_logs import refusal, screen_lines
from fdbcore.report.call.document import Document, page_document
from fdbcore.report.call.page import BIT_RATES, MOST_BYTES, CallPage, write_alone, write_report
from fdbcore.report.html.templates import INDEX
from fdbcore.report.html.values import PageParts
from fdbcore.report.listening import ClipCounts
from fdbcore.report.run.page import write_index
from fdbcore.report.run.screen import corpus_screen
from fdbcore.runs.amend import keep_log, make_playable
from fdbcore.runs.pages import write_results
from fdbcore.sources.agent_logs import LogFile, read_log
from fdbcore.sources.recorded import changed_source

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
        raise SettingsError(f"--marks {path}: expected one call, got {calls}; fdbcore replay takes folders of logs")
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


def write_pages(run: Run, calls: Sequence[Call], shown: PageParts, quiet: bool) -> None:
    """Write the page of each of these calls, with the verdict of the gates that the run was last given.

    With --embed, AudioError for one that would be too long, or whose audio is gone.
    """
    gated = kept(run).gated(Run(run.path, calls))
    verdicts = gated.calls if gated else {}
    for call in calls:
        reading, verdict, why_no_audio = call.recording, verdicts.get(call.name), None
        check(reading)
        if shown.embed:
            told = _write_alone(reading, page_document(reading, read_scores(reading)), verdict, shown.words)
        else:
            if shown.audio:
                try:
                    make_playable(reading)
                except AudioError as error:
                    why_no_audio = str(error)
                    click.echo(f"fdbcore report: {call.name}: a page without audio: {why_no_audio}", err=True)
            content = page_document(reading, read_scores(reading))
            told = str(
                write_report(reading, content, CallPage(shown.audio, shown.words, why_no_audio, verdict=verdict))
            )
        if not quiet:
            click.echo(told)


def _write_alone(reading: Reading, content: Document, verdict: CallVerdict | None, words: bool) -> str:
    """Write the page of a call that can be sent alone; its path, its size, and how its audio sounds."""
    if (changed := changed_source(reading)) is not None:
        raise AudioError(f"{reading.name}: {changed}")
    path, bit_rate = write_alone(reading, content, verdict, words)
    lower = f", to stay below {MOST_BYTES / 1e6:g} MB" if bit_rate < BIT_RATES[0] else ""
    return f"{path} ({path.stat().st_size / 1e6:.1f} MB, audio at {bit_rate / 1000:g} kb/s{lower})"


def write_run(run: Run, shown: PageParts, quiet: bool) -> int:
    """Write the tables and pages of a run, or the one page that can be sent alone; the exit code."""
    heard, on_call = ClipCounts(), on_written(Status(quiet))
    if shown.embed:
        given = kept(run)
        found = survey(run, on_call=lambda number: on_call("calls", number + 1, len(run.calls)), gated=given.gated(run))
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
