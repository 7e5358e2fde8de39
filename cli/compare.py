"""`fdbcore report` with a baseline, gates or figures: writes compare.html and more, and decides the exit code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fdbcore.errors import FdbError

from .options import DONE, read_run

if TYPE_CHECKING:
    from fdbcore.analysis.call_verdicts import GatedRun
    from fdbcore.analysis.comparison import Sides
    from fdbcore.analysis.comparison_types import Comparison, GateMoment
    from fdbcore.analysis.corpus import Call, Run
    from fdbcore.analysis.gate_file import Gates


@dataclass(frozen=True, slots=True)
class Paper:
    """The figures to draw for a paper: into which folder, beside which reference run, and which strips of calls."""

    folder: Path
    reference: Path | None
    strips: Sequence[str]


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What to compare: the options of `fdbcore report`."""

    run: Path
    baseline: Path | None
    by: str | None
    cluster: str | None
    different_settings: bool
    gate: Path | None
    junit: Path | None
    comment: Path | None
    link: str
    paper: Paper | None
    as_json: bool
    quiet: bool


def compare(
    asked: CompareOptions, write_pages: Callable[[Iterable[Call]], None], write_run: Callable[[Run, GatedRun], Path]
) -> int:
    """Write compare.html and the other files that `asked` names, print the results, and return the exit code.

    write_pages: makes the pages of the calls that failed gates link to. write_run: writes the tables and index.html of
    the run, with what gates say, and returns the path of the page. Raises InputError for runs that cannot be
    compared, RecordingError for files that cannot be read. Then the JUnit file and the comment hold the error too: a CI
    system would take a missing file, or that of an earlier run, for a success.
    """
    try:
        return _compare(asked, write_pages, write_run)
    except FdbError as error:
        _write_error(asked, str(error))
        raise


def _write_error(asked: CompareOptions, message: str) -> None:
    from fdbcore.recording.files import write_text
    from fdbcore.report.comparison.comment import comment_of_error
    from fdbcore.report.comparison.junit import junit_of_error

    if asked.junit is not None:
        write_text(asked.junit, junit_of_error(asked.gate, message))
    if asked.comment is not None:
        write_text(asked.comment, comment_of_error(message))


def _compare(
    asked: CompareOptions, write_pages: Callable[[Iterable[Call]], None], write_run: Callable[[Run, GatedRun], Path]
) -> int:
    from fdbcore.analysis.comparison import Sides
    from fdbcore.analysis.gate_file import read_gates
    from fdbcore.recording.files import write_text
    from fdbcore.report.comparison.comment import comment
    from fdbcore.report.comparison.junit import junit
    from fdbcore.report.comparison.page import write_comparison
    from fdbcore.report.comparison.words import moments_of

    gates = None if asked.gate is None else read_gates(asked.gate)
    run, baseline = read_run(asked.run), None if asked.baseline is None else read_run(asked.baseline)
    sides = Sides.of(run, baseline, asked.different_settings)
    document = sides.compared(asked.by, asked.cluster)
    pages: list[Path] = []
    if gates is not None:
        gated = _decide_gates(gates, asked, sides, write_pages)
        document["gates"] = gated.gates
        pages.append(write_run(sides.run, gated))
    write_pages(without_page(sides.run.calls, moments_of(document)))
    if baseline or gates:
        pages.append(write_comparison(document, asked.run))
    figures = [] if asked.paper is None else _write_figures(asked.paper, sides, document, asked)
    if asked.junit is not None:
        write_text(asked.junit, junit(document))
    if asked.comment is not None:
        write_text(asked.comment, comment(document, asked.run, asked.link, asked.comment.parent))
    _print(document, [*pages, *figures], asked)
    return document["gates"]["exit_code"] if "gates" in document else DONE


def without_page(calls: Iterable[Call], moments: Iterable[GateMoment]) -> list[Call]:
    """Those of the calls that have any of these moments, and no page yet."""
    from fdbcore.recording.files import REPORT

    names = {moment["call"] for moment in moments}
    return [call for call in calls if call.name in names and not (call.path / REPORT).is_file()]


def _decide_gates(
    gates: Gates, asked: CompareOptions, sides: Sides, write_pages: Callable[[Iterable[Call]], None]
) -> GatedRun:
    from fdbcore.analysis.call_verdicts import GatedRun
    from fdbcore.analysis.gate_moments import calls_of
    from fdbcore.analysis.gates import decided, gates_json, moments_of

    assert asked.gate is not None
    decisions, verdicts = decided(asked.gate, gates, sides, asked.cluster)
    moments = moments_of(decisions)
    write_pages(calls_of(moments))
    return GatedRun(gates_json(asked.gate, gates, decisions, moments, verdicts), verdicts)


def _write_figures(paper: Paper, sides: Sides, document: Comparison, asked: CompareOptions) -> list[Path]:
    from fdbcore.analysis.comparison import read
    from fdbcore.analysis.groups import groups
    from fdbcore.report.paper.bundle import strips_of, write_paper

    of_run = sides.of_run
    found = {group.name: group for group in groups(of_run, asked.by)} if asked.by else {"run": of_run}
    if sides.of_baseline is not None:
        found["baseline"] = sides.of_baseline
    reference = None if paper.reference is None else read(read_run(paper.reference))[1]
    return write_paper(paper.folder, found, reference, document, strips_of(sides.run, paper.strips), asked.cluster)


def _print(document: Comparison, written: Sequence[Path], asked: CompareOptions) -> None:
    from fdbcore.report.comparison.screen import comparison_screen

    if asked.as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif not asked.quiet:
        screen = comparison_screen(document, shutil.get_terminal_size().columns)
        click.echo("\n".join([screen, "", *map(str, written)]))
