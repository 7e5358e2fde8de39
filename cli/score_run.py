"""What `fdbcore score RUN` does: the pooled measures of a run, with what can be said of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fdbcore.errors import SettingsError

from . import options
from .endings import one_line
from .options import DONE, FAILED
from .status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.statement_types import Statements
    from fdbcore.recording.meta_types import Settings

REFERENCE: Final = "reference"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a run: see the options of `fdbcore score`."""

    cluster: str | None
    by: str | None
    sensitivity: bool
    reference: Path | None
    jobs: int | None


def score_run(path: Path, asked: Asked, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Score a run anew, write scores.json and scores.html into it (or `out`), and print it; the exit code."""
    from fdbcore.report.groups.page import write_statements

    with one_line("fdbcore score", "the calls that were scored anew are kept"):
        content = _content(path, asked, out or path, quiet or as_json)
        page = write_statements(content, out or path)
        _print(content, page, as_json, quiet)
    for name, reason in content["unread"].items():
        click.echo(f"fdbcore score: {name}: {reason}", err=True)
    return FAILED if content["unread"] else DONE


def _content(path: Path, asked: Asked, out: Path, quiet: bool) -> Statements:
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.groups import check_column, unit
    from fdbcore.analysis.statements import score

    run, people = Run(path), None
    done = Counter[str]()
    with Status(quiet) as status:

        def count(work: str) -> None:
            done[work] += 1
            if done[work] % 10 == 0:
                status(f"{done[work]:,} {work}")

        if asked.reference is not None and run.settings is not None:
            # The replay of the reference takes long, so a wrong column is said before it.
            unit(run.scored, asked.cluster)
            if asked.by is not None:
                check_column(run.scored, asked.by, "--by")
            people = _reference(asked.reference, run.settings, out, asked.jobs, count)
        return score(
            run,
            by=asked.by,
            cluster=asked.cluster,
            sensitivity=asked.sensitivity,
            reference=people,
            jobs=asked.jobs,
            out=out,
            watch=count,
        )


def _reference(path: Path, own: Settings, out: Path, jobs: int | None, count: Callable[[str], None]) -> Run:
    """The run in `path`; or else of the audio in it, replayed as the run was into the folder `reference` of `out`."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.run import is_recorded

    if not path.exists():
        raise SettingsError(f"--reference {path}: expected a run, or audio, got no such file")
    if is_recorded(path):
        return Run(path)
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.runs.replay_many import replay_corpus
    from fdbcore.sources.calls import named_calls
    from fdbcore.sources.names import Oddities

    oddities = Oddities()
    calls = named_calls([path], oddities)
    settings = ReplaySettings(out / REFERENCE, own["vad"]["B"]["name"], own["turns"])
    work = f"of the reference replayed, of {len(calls):,} calls"
    entries = replay_corpus(
        calls,
        settings,
        jobs or len(os.sched_getaffinity(0)),
        oddities,
        lambda progress, ended: count(work) if ended else None,
    )
    for entry in entries:
        if entry["unscored"]:
            click.echo(f"fdbcore score: reference {entry['name']}: {entry['unscored']}", err=True)
    return Run(out / REFERENCE)


def _print(content: Statements, path: Path, as_json: bool, quiet: bool) -> None:
    from fdbcore.report.groups.screen import statements_screen

    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{statements_screen(content, options.columns())}\n{path}")
