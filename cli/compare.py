"""What `fdbcore report` does with a baseline, groups and gates: tables, a page, an exit code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, InputError, SettingsError

from .options import DONE, read_run

if TYPE_CHECKING:
    from fdbcore.corpus import Call, Corpus
    from fdbcore.report.gate_file import Gates
    from fdbcore.statements import Group


@dataclass(frozen=True, slots=True)
class Paper:
    """What to draw for a paper."""

    folder: Path
    reference: Path | None
    strips: Sequence[str]


@dataclass(frozen=True, slots=True)
class Compared:
    """What to compare, as the options say it."""

    run: Path
    baseline: Path | None
    by: str | None
    cluster: str | None
    different_settings: bool
    gate: Path | None
    junit: Path | None
    paper: Paper | None
    as_json: bool
    quiet: bool


def compare(asked: Compared, write_pages: Callable[[Iterable[Call]], None]) -> int:
    """Write compare.html and what else is asked for, print it; the exit code. write_pages: makes the pages of calls.

    InputError for what cannot be compared, RecordingError for what cannot be read; the XML of gates says so, too, since
    a system that shows it takes none, or one from before, for a success.
    """
    try:
        return _compared(asked, write_pages)
    except FdbError as error:
        if asked.junit is not None:
            from fdbcore.recording import write_text
            from fdbcore.report.junit import junit_of_error

            write_text(asked.junit, junit_of_error(asked.gate, str(error)))
        raise


def _compared(asked: Compared, write_pages: Callable[[Iterable[Call]], None]) -> int:
    from fdbcore.recording import write_text
    from fdbcore.report.comparison import comparison, pairs, read
    from fdbcore.report.comparison_page import write_comparison
    from fdbcore.report.input_notes import input_notes
    from fdbcore.report.junit import junit

    gates = _gates(asked)
    given, other = read_run(asked.run), None if asked.baseline is None else read_run(asked.baseline)
    run, of_run = read(given)
    baseline, of_baseline = (None, None) if other is None else read(other)
    notes = [] if baseline is None else _differing(run, baseline, asked.different_settings)
    for name, group in (("run", of_run), ("baseline", of_baseline)):
        notes += [] if group is None else [f"{name}: {text}" for text in input_notes(group.calls)]
    compared, lonely = pairs(of_run, of_baseline, asked.by, asked.cluster) if baseline or asked.by else ([], [])
    document = comparison(run, baseline, compared, asked.by, notes + lonely)
    if gates is not None:
        document["gates"] = _decided(gates, asked, of_run, of_baseline, write_pages)
    page = write_comparison(document, asked.run) if compared or gates else None
    figures = [] if asked.paper is None else _drawn(asked.paper, run, of_run, of_baseline, document, asked)
    if asked.junit is not None:
        write_text(asked.junit, junit(document))
    _print(document, [*([page] if page else []), *figures], asked)
    return document["gates"]["exit_code"] if gates is not None else DONE


def _gates(asked: Compared) -> Gates | None:
    from fdbcore.report.gate_file import read_gates

    return None if asked.gate is None else read_gates(asked.gate)


def _differing(run: Corpus, baseline: Corpus, allowed: bool) -> list[str]:
    """What a reader must know of runs that were not made alike; SettingsError if it must not be."""
    from fdbcore.report.comparison import check_comparable

    found = check_comparable(run, baseline)
    if found and not allowed:
        raise SettingsError(
            f"{run.path} and {baseline.path}: expected the same settings, got {'; '.join(found)} "
            "(replay one of them again, or --different-settings compares them all the same)"
        )
    notes = [f"different settings: {text}" for text in found]
    versions = [", ".join(corpus.versions.get("fdbcore", ["unknown"])) for corpus in (run, baseline)]
    if versions[0] != versions[1]:
        notes.append(f"made by different versions of fdbcore: {versions[0]}, baseline {versions[1]}")
    return notes


def _decided(
    gates: Gates,
    asked: Compared,
    run: Group,
    baseline: Group | None,
    write_pages: Callable[[Iterable[Call]], None],
) -> dict[str, Any]:
    from fdbcore.report.gate_moments import calls_of, worst
    from fdbcore.report.gates import decide, gates_json

    assert asked.gate is not None
    try:
        decisions = decide(gates, run, baseline, asked.cluster)
    except InputError as error:
        raise InputError(f"{asked.gate}: {error}") from None
    moments = [
        worst(each.group, each.gate.measure, each.gate.at_most) if each.status == "failed" and each.group else []
        for each in decisions
    ]
    write_pages(calls_of(moments))
    return gates_json(asked.gate, gates, decisions, moments)


def _drawn(
    paper: Paper, run: Corpus, of_run: Group, of_baseline: Group | None, document: dict[str, Any], asked: Compared
) -> list[Path]:
    from fdbcore.report.comparison import read
    from fdbcore.report.paper import strips_of, write_paper
    from fdbcore.statements import groups

    found = {group.name: group for group in groups(of_run, asked.by)} if asked.by else {"run": of_run}
    if of_baseline is not None:
        found["baseline"] = of_baseline
    reference = None if paper.reference is None else read(read_run(paper.reference))[1]
    return write_paper(paper.folder, found, reference, document, strips_of(run, paper.strips), asked.cluster)


def _print(document: dict[str, Any], written: Sequence[Path], asked: Compared) -> None:
    from fdbcore.report.comparison_screen import comparison_screen

    if asked.as_json:
        click.echo(json.dumps(document, ensure_ascii=False))
    elif not asked.quiet:
        screen = comparison_screen(document, shutil.get_terminal_size().columns)
        click.echo("\n".join([screen, "", *map(str, written)]))
