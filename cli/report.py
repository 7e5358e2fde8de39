"""`fdbcore report`: writes tables and pages of a run from its recordings."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.errors import AudioError

from . import options
from .endings import one_line
from .options import DONE, FAILED, FILE, UNMEASURED
from .report_options import ReportOptions
from .suites import given

_OF_TRENDS: Final = ("runs", "cluster", "different_settings", "as_json", "quiet")
"""The options that several runs take."""
_OF_FOLDERS: Final = ("runs", "quiet")


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
@options.since
@options.agent_log
@options.as_json
@options.quiet
@click.pass_context
def report(context: click.Context, /, **given_options: Any) -> None:  # noqa: ANN401 - see ReportOptions
    """Write the tables and pages of a run, or compare runs.

    RUN is a folder made by `fdbcore replay` or `fdbcore run`; by default the newest one in the current folder. Its
    tables, index.html and the pages of its calls, RUN/NAME/report.html, are written again. --call writes the pages of
    single calls. --baseline and --gate compare, and write RUN/compare.html. All pages show the comparison and the
    gates that the run was last given, until its scores change. `fdbcore score RUN --by COLUMN` compares the groups of
    one run. Several runs, such as one per version or day, make a trend: trend.html in the folder of the latest. A
    folder of runs gets a page that lists them all, RUNS/index.html.

    With --gate the exit code is 0 if all gates passed, 1 if one failed, and 3 if one could not be measured or has too
    few calls to be decided.

    Example: fdbcore report RUN --baseline OLD
    """
    from fdbcore.recording.run import is_recorded, runs_in

    asked = ReportOptions(**given_options)
    if len(asked.runs) > 1:
        for option in given(context, [name for name in context.params if name not in _OF_TRENDS]):
            raise click.UsageError(f"{option}: expected one RUN, got {len(asked.runs)}, which make a trend")
        with _one_line(FAILED):
            from .compare import trend

            sys.exit(trend(asked))
    asked.check()
    path = asked.runs[0] if asked.runs else options.newest()
    if not is_recorded(path) and runs_in(path):
        for option in given(context, [name for name in context.params if name not in _OF_FOLDERS]):
            raise click.UsageError(f"{option}: expected one RUN, got {path}, which holds several: name one of them")
        with _one_line(FAILED):
            from .compare import start

            sys.exit(start(path, asked.quiet))
    with _one_line(UNMEASURED if asked.gate else FAILED):
        sys.exit(_report(path, asked))


@contextmanager
def _one_line(code: int) -> Iterator[None]:
    """As `one_line`. code: the exit code for an error that is neither of the arguments nor of the audio."""
    with one_line("fdbcore report", code=code):
        try:
            yield
        except AudioError as error:
            click.echo(f"fdbcore report: {error}", err=True)
            sys.exit(FAILED)


def _report(path: Path, asked: ReportOptions) -> int:
    """Compare the run if that is asked for, write its pages or those of the calls that are named; the exit code."""
    from fdbcore.recording.others import keep_others
    from fdbcore.report.comparison import comment, junit
    from fdbcore.report.html.values import PageParts
    from fdbcore.runs.single_pages import write_single_pages
    from fdbcore.sources.names import refuse_names_of_runs

    from .compare import compare, error_also_in_files
    from .report_pages import calls_named, lay_log, log_of, write_run
    from .status import Status, Teller

    shown = PageParts(audio=not asked.no_audio, words=not asked.no_words)
    to_send = replace(shown, embed=asked.embed)
    quiet = asked.quiet or asked.as_json
    compared = done = DONE
    for written, form in ((asked.junit, junit.FORM), (asked.comment, comment.FORM)):
        if written is not None:
            refuse_names_of_runs(written)
            keep_others(written, form=form)
    with error_also_in_files(asked):
        run = options.read_run(path, asked.since)
        calls, log = calls_named(run, asked.names), log_of(asked)
        if asked.compares:
            compared = compare(run, asked, shown)
    if calls:
        done = lay_log(calls[0], log, quiet) if log else DONE
        told = (lambda page: None) if quiet else click.echo
        write_single_pages(run, calls, Teller("fdbcore report", Status(quiet)), to_send, told)
    elif asked.embed or not asked.compares:
        done = write_run(run, to_send, quiet)
    return compared or done
