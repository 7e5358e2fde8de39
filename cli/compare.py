"""`fdbcore report` with a baseline, gates, figures or several runs: writes what compares, and decides the exit code."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from fdbcore.analysis.comparison import RunComparison, Sides, read
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.gate_file import read_gates
from fdbcore.analysis.gates import decided
from fdbcore.analysis.groups import groups
from fdbcore.analysis.kept import keep, kept
from fdbcore.analysis.trends import trend as over_runs
from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.recording.files import write_text
from fdbcore.recording.others import keep_others
from fdbcore.report.comparison import comment, junit
from fdbcore.report.comparison.page import replace_line, write_comparison
from fdbcore.report.comparison.phrases import listed_moments
from fdbcore.report.comparison.screen import comparison_screen
from fdbcore.report.evidence import of_making
from fdbcore.report.groups.trend import screen, write_trend
from fdbcore.report.html.templates import COMPARE, INDEX
from fdbcore.report.html.values import PageParts
from fdbcore.report.paper.bundle import strips_of, write_paper
from fdbcore.runs.pages import write_results
from fdbcore.runs.single_pages import write_missing_pages

from . import options
from .corpus import on_written
from .lazy import TYPED
from .options import DONE, read_run
from .report_options import ReportOptions
from .status import Status, Teller


@contextmanager
def error_also_in_files(asked: ReportOptions) -> Iterator[None]:
    """Write an error into the JUnit file and the comment too: a CI system would take a missing file, or that of an
    earlier run, for a success."""
    try:
        yield
    except FdbError as error:
        for path, form, text in (
            (asked.junit, junit.FORM, junit.junit_of_error(asked.gate, str(error))),
            (asked.comment, comment.FORM, comment.comment_of_error(str(error))),
        ):
            if path is not None:
                with suppress(SettingsError):  # the file there now is none such
                    _write_own(path, form, text)
        raise


def _write_own(path: Path, form: str, text: str) -> None:
    """Write a file. SettingsError if one of another form stands there, perhaps since this command itself wrote it."""
    keep_others(path, form=form)
    write_text(path, text)


def compare(run: Run, asked: ReportOptions, shown: PageParts) -> int:
    """Write compare.html and the other files that `asked` names, print the results, and return the exit code.

    Raises InputError for runs that cannot be compared, RecordingError for files that cannot be read.
    """
    gates = None if asked.gate is None else (asked.gate, read_gates(asked.gate))
    baseline = None if asked.baseline is None else _other_run(asked.baseline, run)
    sides = Sides.of(run, baseline, asked.different_settings)
    document = sides.compared(asked.by, asked.cluster)
    if gates is not None:
        document["gates"] = decided(*gates, sides, asked.cluster)
    pages = _write_pages(document, run, asked, shown) if baseline or gates else []
    figures = [] if asked.figures is None else _write_figures(asked.figures, sides, document, asked)
    if asked.junit is not None:
        _write_own(asked.junit, junit.FORM, junit.junit(document))
    if asked.comment is not None:
        _write_own(asked.comment, comment.FORM, comment.comment(document, run.path, asked.link, asked.comment.parent))
    _print(document, [*pages, *figures], asked)
    both = [sides.run, *([sides.baseline] if sides.baseline else [])]
    damaged = options.tell_damaged("fdbcore report", (call for each in both for call in each.calls))
    return (document["gates"]["exit_code"] if "gates" in document else DONE) or damaged


def trend(asked: ReportOptions) -> int:
    """Write trend.html into the folder of the latest of several runs, with the pages of calls that it links to, print
    the trend, and return the exit code."""
    runs = [read_run(path) for path in asked.runs]
    found = over_runs(runs, cluster=asked.cluster, different_settings=asked.different_settings)
    (latest,) = [run for run in runs if str(run.path) == found["runs"][-1]["path"]]
    write_missing_pages(latest, listed_moments([found["latest"]]), Teller("fdbcore report", Status(asked.quiet)))
    made = of_making(click.get_current_context().meta[TYPED], {str(run.path): run for run in runs})
    page = write_trend(found, latest, made)
    if asked.as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not asked.quiet:
        click.echo(f"{screen(found, options.screen_columns())}\n{page}")
    return options.tell_damaged("fdbcore report", [call for run in runs for call in run.calls])


def start(folder: Path, quiet: bool) -> int:
    """Write the page of all runs of a folder, print what changed last, and return the exit code."""
    from fdbcore.recording.run import runs_in
    from fdbcore.report.groups.trend import listed_runs, write_start

    found, unread = listed_runs(runs_in(folder))
    for name, why in unread.items():
        click.echo(f"fdbcore report: {name} is not listed: {why}", err=True)
    if found:
        page, told = write_start(folder, found, unread)
        click.echo("" if quiet else "\n".join(filter(None, [told, str(page)])), nl=not quiet)
    return options.FAILED if unread else DONE


def _other_run(path: Path, run: Run) -> Run:
    """The run in a folder. InputError if it is `run` itself: that would never differ."""
    if path.resolve() == run.path.resolve():
        raise InputError(f"--baseline {path}: expected another run, got the one to compare")
    return read_run(path, run.since)


def _write_pages(document: RunComparison, run: Run, asked: ReportOptions, shown: PageParts) -> list[Path]:
    """Keep a comparison or gates with the run, and write the pages that show them; the paths of the main ones.

    Gates are shown on all pages of the run. A comparison has its own, and a line on index.html.
    """
    keep(run, document)
    if "gates" in document:
        with Status(asked.quiet or asked.as_json) as status:
            write_results(run, shown, on_call=on_written(status))
        return [run.path / INDEX, run.path / COMPARE]
    told = Teller("fdbcore report", Status(asked.quiet))
    write_missing_pages(run, listed_moments(document["comparisons"]), told, shown)
    given = kept(run)
    if given.comparison is not None:
        replace_line(run.path, given.comparison)
    return [write_comparison(given, run, shown)]


def _write_figures(folder: Path, sides: Sides, document: RunComparison, asked: ReportOptions) -> list[Path]:

    of_run = sides.of_run
    found = {group.name: group for group in groups(of_run, asked.by)} if asked.by else {"run": of_run}
    if sides.of_baseline is not None:
        found["baseline"] = sides.of_baseline
    reference = None if asked.reference is None else read(read_run(asked.reference))[1]
    runs = {name: run for name, run in (("run", sides.run), ("baseline", sides.baseline)) if run}
    making = of_making(click.get_current_context().meta[TYPED], runs)
    return write_paper(folder, found, reference, document, making, strips_of(sides.run, asked.strips), asked.cluster)


def _print(document: RunComparison, written: Sequence[Path], asked: ReportOptions) -> None:

    if asked.as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif not asked.quiet:
        screen = comparison_screen(document, shutil.get_terminal_size().columns)
        click.echo("\n".join([screen, "", *map(str, written)]))
