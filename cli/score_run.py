"""`fdbcore score RUN`: the measures of a run, pooled over its calls, with confidence intervals."""

from __future__ import annotations

import json
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
    from collections.abc import Callable, Sequence

    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.statements import Statements
    from fdbcore.recording.meta import Settings
    from fdbcore.runtime.executor import Executor

REFERENCE: Final = "reference"


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How to score a run: the options of `fdbcore score`."""

    cluster: str | None
    by: str | None
    sensitivity: bool
    vads: Sequence[str]
    reference: Path | None
    since: str
    executor: Executor


def score_run(path: Path, asked: ScoreOptions, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Score a run again, write scores.json and scores.html into it (or `out`), print them, return the exit code."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.statements import STATEMENTS
    from fdbcore.recording.others import keep_others
    from fdbcore.report.comparison.words import longer_moments
    from fdbcore.report.groups.page import SCORES_PAGE, write_statements
    from fdbcore.report.groups.screen import statements_screen
    from fdbcore.report.html.values import WHOLE

    from .compare import without_page
    from .report_pages import write_pages

    with one_line("fdbcore score", "the new scores of single calls are kept"):
        keep_others((out or path) / STATEMENTS, (out or path) / SCORES_PAGE)
        run = Run(path, since=asked.since)
        content = _score(run, asked, out or path, quiet or as_json)
        if out is None:  # otherwise the run stays as it is
            write_pages(run, without_page(run.calls, longer_moments(content["longer"])), WHOLE, quiet=True)
        page = write_statements(content, out or path)
        if as_json:
            click.echo(json.dumps(content, ensure_ascii=False))
        elif not quiet:
            click.echo(f"{statements_screen(content, options.columns())}\n{page}")
    for name, reason in content["unread"].items():
        click.echo(f"fdbcore score: {name}: {reason}", err=True)
    return FAILED if content["unread"] else DONE


def _score(run: Run, asked: ScoreOptions, out: Path, quiet: bool) -> Statements:
    from fdbcore.analysis.groups import check_column, unit
    from fdbcore.analysis.statements import score

    reference = None
    options.tell_damaged("fdbcore score", (call for call in run.calls if call.damaged_beside))
    done = Counter[str]()
    with Status(quiet) as status:

        def count(work: str) -> None:
            done[work] += 1
            if done[work] % 10 == 0:
                status(f"{done[work]:,} {work}")

        if asked.reference is not None and run.settings is not None:
            # Replaying the reference takes long, so check the columns first.
            unit(run.scored, asked.cluster)
            if asked.by is not None:
                check_column(run.scored, asked.by, "--by")
            reference = _reference(asked, asked.reference, run.settings, out, count)
        return score(
            run,
            by=asked.by,
            cluster=asked.cluster,
            sensitivity=asked.sensitivity,
            detectors=asked.vads,
            reference=reference,
            executor=asked.executor,
            out=out,
            watch=count,
        )


def _reference(asked: ScoreOptions, path: Path, own: Settings, out: Path, count: Callable[[str], None]) -> Run:
    """The run in `path`. A folder of audio is first replayed with the settings `own` into `out`/reference."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.run import is_recorded

    if not path.exists():
        raise SettingsError(f"--reference {path}: expected a run, or audio, got no such file")
    if is_recorded(path):
        return Run(path)
    from fdbcore.recording.files import part_of
    from fdbcore.runs.replay_jobs import ReplaySettings
    from fdbcore.runs.replay_many import replay_corpus
    from fdbcore.session.vad import check_installed
    from fdbcore.sources.calls import NamedInput, named_calls
    from fdbcore.sources.names import Oddities

    oddities = Oddities()
    calls = named_calls(NamedInput([path]), oddities)
    if (name := own["vad"]["B"]["name"]) not in asked.vads:
        check_installed(name, "--reference")
    settings = ReplaySettings(part_of(out, REFERENCE), name, own["turns"])
    work = f"of {len(calls):,} calls of the reference replayed"
    entries = replay_corpus(
        calls,
        settings,
        asked.executor,
        oddities,
        lambda progress, ended: count(work) if ended else None,
    )
    for entry in entries:
        if entry["unscored"]:
            click.echo(f"fdbcore score: reference {entry['name']}: {entry['unscored']}", err=True)
    return Run(out / REFERENCE)
