"""`fdbcore report`: writes tables and pages of a run from its recordings."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fdbcore.errors import AudioError, FdbError, InputError, SettingsError, nearest

from . import options
from .folders import newest
from .options import DONE, FAILED, FILE, UNMEASURED
from .suites import given

if TYPE_CHECKING:
    from fdbcore.analysis.call_verdicts import GatedRun
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.measures.reading import Reading
    from fdbcore.report.call.document_types import Document
    from fdbcore.report.html.values import PageParts
    from fdbcore.report.run.page import ClipCounts
    from fdbcore.sources.agent_logs import LogFile

_OF_TRENDS: Final = ("runs", "cluster", "different_settings", "as_json", "quiet")
"""The options that several runs take."""


@click.command(short_help="Write the pages of a run, or compare runs.")
@click.argument("runs", nargs=-1, type=FILE, metavar="[RUN]...")
@click.option(
    "--call",
    "names",
    multiple=True,
    metavar="NAME",
    help="Write only the page of this call. May be repeated.",
)
@click.option("--embed", is_flag=True, help="Write a page that can be sent alone, with its audio inside: of --call the "
              "whole call, else index.html with 10 s of each worst moment.")  # fmt: skip
@click.option("--no-audio", is_flag=True, help="Write pages without audio and without links to it.")
@click.option("--no-words", is_flag=True, help="Write pages without what was said.")
@click.option("--baseline", type=FILE, metavar="RUN", help="Compare each measure with this run.")
@click.option("--by", metavar="COLUMN", help="With --baseline: compare each group of calls with the same group there. "
              "With --figures: draw the groups.")  # fmt: skip
@click.option("--cluster", metavar="COLUMN", help="Unit that confidence intervals resample and pair, such as the "
              "speaker (default: the call).")  # fmt: skip
@click.option("--different-settings", is_flag=True, help="Compare the runs even if their settings differ.")
@click.option("--gate", type=FILE, metavar="FILE", help="Decide the gates in this file, or the "
              "published limits that fdbcore ships (--gate defaults); they set the exit code.")  # fmt: skip
@click.option("--junit", type=FILE, metavar="FILE.xml", help="Write the results of the gates as JUnit XML for CI.")
@click.option("--comment", type=FILE, metavar="FILE.md", help="Write what changed as Markdown, for a comment on a pull "
              "request.")  # fmt: skip
@click.option("--link", default="", metavar="URL", help="With --comment: the address of RUN, ending in /, or of an "
              "archive that has it (default: links are relative to the comment).")  # fmt: skip
@click.option("--figures", type=FILE, metavar="DIR", help="Write figures (SVG) and tables for a paper to this folder.")
@click.option("--reference", type=FILE, metavar="RUN", help="With --figures: also show this run of conversations "
              "between people.")  # fmt: skip
@click.option("--strip", "strips", multiple=True, metavar="CALL@START-END", help="With --figures: also draw this part "
              "of a call, such as call@1:05-1:15.")  # fmt: skip
@options.marks
@options.as_json
@options.quiet
@click.pass_context
def report(
    context: click.Context,
    /,
    runs: tuple[Path, ...],
    names: tuple[str, ...],
    embed: bool,
    no_audio: bool,
    no_words: bool,
    baseline: Path | None,
    by: str | None,
    cluster: str | None,
    different_settings: bool,
    gate: Path | None,
    junit: Path | None,
    comment: Path | None,
    link: str,
    figures: Path | None,
    reference: Path | None,
    strips: tuple[str, ...],
    marks: Path | None,
    marks_offset_ms: float | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the tables and pages of a run, or compare runs.

    RUN is a folder made by `fdbcore replay` or `fdbcore run`; by default the newest one in the current folder. Its
    tables, index.html and the pages of its calls, RUN/NAME/report.html, are written again. --call writes the pages of
    single calls. --baseline and --gate compare, and write RUN/compare.html. `fdbcore score RUN --by COLUMN` compares
    the groups of one run. Several runs, such as one per version or day, make a trend: trend.html in the folder of the
    latest.

    With --gate the exit code is 0 if all gates passed, 1 if one failed, and 3 if one could not be measured or has too
    few calls to be decided.

    Example: fdbcore report RUN --baseline OLD
    """
    from fdbcore.report.html.values import PageParts

    from .compare import CompareOptions, Paper, compare

    if len(runs) > 1:
        sys.exit(_trend(context, runs, cluster, different_settings, as_json, quiet))
    if embed and no_audio:
        raise click.UsageError("--embed and --no-audio exclude each other")
    if junit is not None and gate is None:
        raise click.UsageError("--junit: expected --gate")
    if comment is not None and not (baseline or by or gate):
        raise click.UsageError("--comment: expected --baseline, --by or --gate")
    if link and comment is None:
        raise click.UsageError("--link: expected --comment")
    if figures is None and (reference is not None or strips):
        raise click.UsageError("--reference and --strip: expected --figures")
    if by is not None and baseline is None and figures is None:
        raise click.UsageError(
            "--by: expected --baseline or --figures; the groups of one run are compared by: "
            f"fdbcore score {runs[0] if runs else 'RUN'} --by {by}"
        )
    if marks is not None and not names:
        raise click.UsageError("--marks: expected --call, to say which call the log belongs to")
    compares = bool(baseline or gate or figures)
    if compares and (names or embed):
        raise click.UsageError("--call, --embed: expected none of --baseline, --gate, --figures")
    if as_json and not compares:
        raise click.UsageError("--json: expected --baseline, --gate or --figures")
    run = runs[0] if runs else newest()
    shown = PageParts(audio=not no_audio, words=not no_words, embed=embed)
    code = DONE
    try:
        if compares:
            paper = None if figures is None else Paper(figures, reference, strips)
            asked = CompareOptions(
                run=run,
                baseline=baseline,
                by=by,
                cluster=cluster,
                different_settings=different_settings,
                gate=gate,
                junit=junit,
                comment=comment,
                link=link,
                paper=paper,
                as_json=as_json,
                quiet=quiet,
            )
            code = compare(
                asked,
                lambda calls: write_pages(calls, shown, quiet=True),
                lambda of, gated: _write_gated(of, shown, gated, quiet or as_json),
            )
        elif names:
            log = _log(marks, marks_offset_ms, len(names))
            calls = _calls_named(options.read_run(run), names)
            code = DONE if log is None else _lay_log(calls[0], log, quiet)
            write_pages(calls, shown, quiet)
        else:
            code = _write_run(options.read_run(run), shown, quiet)
    except AudioError as error:
        click.echo(f"fdbcore report: {error}", err=True)
        sys.exit(FAILED)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    except FdbError as error:
        click.echo(f"fdbcore report: {error}", err=True)
        sys.exit(UNMEASURED if gate else FAILED)
    sys.exit(code)


def _trend(
    context: click.Context,
    runs: Sequence[Path],
    cluster: str | None,
    different_settings: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """The trend over several runs; the exit code."""
    from fdbcore.report.html.values import PageParts

    from .trend import trend

    others = [name for name in context.params if name not in _OF_TRENDS]
    for option in given(context, others):
        raise click.UsageError(f"{option}: expected one RUN, got {len(runs)}, which make a trend")
    try:
        return trend(
            runs,
            cluster,
            different_settings,
            lambda calls: write_pages(calls, PageParts(), quiet=True),
            as_json,
            quiet,
        )
    except InputError as error:
        raise click.UsageError(str(error)) from None
    except FdbError as error:
        click.echo(f"fdbcore report: {error}", err=True)
        return FAILED


def _calls_named(corpus: Run, names: Iterable[str]) -> list[Call]:
    """The calls with these names. Raises InputError for an unknown name, with similar names."""
    calls = {call.name: call for call in corpus.calls}
    for name in names:
        if name not in calls:
            expected = f"one of the {len(calls):,} calls of {corpus.path}"
            raise InputError(f"--call {name}: expected {expected}{nearest(name, calls)}")
    return [calls[name] for name in names]


def _log(path: Path | None, offset_ms: float | None, calls: int) -> LogFile | None:
    """The log that the options name, None without one. Raises InputError if it is unusable or `calls` is not 1."""
    from fdbcore.sources.agent_logs import LogFile, read_marks

    if path is None:
        if offset_ms is not None:
            raise SettingsError("--marks-offset-ms: expected --marks")
        return None
    if calls != 1:
        raise SettingsError(f"--marks {path}: expected one call, got {calls}; fdbcore replay takes folders of logs")
    if offset_ms is not None and not math.isfinite(offset_ms):
        raise SettingsError(f"--marks-offset-ms: expected milliseconds, got {offset_ms}")
    read_marks(path)
    return LogFile(path, offset_ms)


def _lay_log(call: Call, log: LogFile, quiet: bool) -> int:
    """Store an agent's log with a recording, on its timeline; the exit code."""
    from fdbcore.report.call.agent_log import refusal, screen_lines
    from fdbcore.runs.amend import keep_log

    laid = keep_log(call.recording, log)
    if (why_not := refusal(laid)) is not None:
        click.echo(f"fdbcore report: {log.path}: {why_not}", err=True)
        return FAILED
    if not quiet:
        click.echo("\n".join(screen_lines(laid, options.screen_columns())))
    return DONE


def write_pages(calls: Iterable[Call], shown: PageParts, quiet: bool) -> None:
    """Write the page of each call. With --embed, AudioError for one that would be too long, or whose audio is gone."""
    from fdbcore.analysis.score import read_scores
    from fdbcore.report.call.document import document
    from fdbcore.report.call.page import CallPage, write_report
    from fdbcore.runs.amend import make_playable

    for call in calls:
        reading, why_no_audio = call.recording, None
        if shown.embed:
            told = _write_alone(reading, document(reading, read_scores(reading)))
        else:
            if shown.audio:
                try:
                    make_playable(reading)
                except AudioError as error:
                    why_no_audio = str(error)
                    click.echo(f"fdbcore report: {call.name}: a page without audio: {why_no_audio}", err=True)
            content = document(reading, read_scores(reading))
            told = str(write_report(reading, content, CallPage(shown.audio, why_no_audio)))
        if not quiet:
            click.echo(told)


def _write_alone(reading: Reading, content: Document) -> str:
    """Write the page of a call that can be sent alone; its path, its size, and how its audio sounds."""
    from fdbcore.report.call.alone import BIT_RATES, MOST_BYTES, write_alone
    from fdbcore.sources.recorded import changed_source

    if (changed := changed_source(reading)) is not None:
        raise AudioError(f"{reading.name}: {changed}")
    path, bit_rate = write_alone(reading, content)
    lower = f", to stay below {MOST_BYTES / 1e6:g} MB" if bit_rate < BIT_RATES[0] else ""
    return f"{path} ({path.stat().st_size / 1e6:.1f} MB, audio at {bit_rate / 1000:g} kb/s{lower})"


def _write_run(run: Run, shown: PageParts, quiet: bool) -> int:
    """Write the tables and pages of a run, or the one page that can be sent alone; the exit code."""
    from fdbcore.analysis.survey import survey
    from fdbcore.report.html.templates import INDEX
    from fdbcore.report.run.page import ClipCounts, write_index
    from fdbcore.report.run.screen import corpus_screen
    from fdbcore.runs.pages import write_results

    from .corpus import MOST_LINES, on_written
    from .status import Status

    heard, on_call = ClipCounts(), on_written(Status(quiet))
    if shown.embed:
        found = survey(run, on_call=lambda number: on_call("calls", number + 1, len(run.calls)))
        index = write_index(found, shown, heard)
    else:
        found, index = write_results(run, shown, heard, on_call=on_call), run.path / INDEX
    for name in list(heard.silent)[:MOST_LINES]:
        click.echo(f"fdbcore report: {name}: no audio: {heard.silent[name]}", err=True)
    if len(heard.silent) > MOST_LINES:
        click.echo(f"fdbcore report: {len(heard.silent) - MOST_LINES:,} more calls have no audio", err=True)
    if not quiet:
        click.echo(corpus_screen(found, shutil.get_terminal_size().columns))
        click.echo(f"{index}{_size_with_clips(index, heard) if shown.embed else ''}")
    unreadable = [row.call for row in found.rows if row.call.is_unreadable]
    for call in unreadable[:MOST_LINES]:
        click.echo(f"fdbcore report: {call.reason}", err=True)
    return FAILED if unreadable else DONE


def _write_gated(run: Run, shown: PageParts, gated: GatedRun, quiet: bool) -> Path:
    """Write the tables and the pages of a run with what its gates say; the path of index.html."""
    from fdbcore.report.html.templates import INDEX
    from fdbcore.runs.pages import write_results

    from .corpus import on_written
    from .status import Status

    write_results(run, shown, on_call=on_written(Status(quiet)), gated=gated)
    return run.path / INDEX


def _size_with_clips(index: Path, heard: ClipCounts) -> str:
    """The size of a page with embedded clips, and how many clips are missing."""
    missing = heard.moments - heard.audible
    without = f"; {missing:,} of {heard.moments:,} clips are missing" if missing else ""
    return f" ({index.stat().st_size / 1e6:.1f} MB with its clips{without})"
