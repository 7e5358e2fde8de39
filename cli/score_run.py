"""`fdbcore score RUN`: the measures of a run, pooled over its calls, with confidence intervals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fdbcore.errors import SettingsError
from fdbcore.runs.engines import executor_of
from fdbcore.runs.requests import SCORE_OPTIONS, ScoreRequest, checked

from . import options
from .endings import one_line
from .options import DONE, FAILED
from .status import Status

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.meta import Settings

REFERENCE: Final = "reference"


def score_run(
    asked: ScoreRequest,
    cluster: str | None,
    by: str | None,
    reference: Path | None,
    since: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Score a run again, write scores.json and scores.html into it (or `out`), print them, return the exit code."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.analysis.groups import check_column, unit
    from fdbcore.analysis.statements import STATEMENTS, score
    from fdbcore.recording.others import keep_others
    from fdbcore.report.groups.page import SCORES_PAGE, write_statements
    from fdbcore.report.groups.screen import statements_screen
    from fdbcore.report.html.values import WHOLE

    from .compare import without_page
    from .report_pages import write_pages

    with one_line("fdbcore score", "the new scores of single calls are kept"), Status(quiet or as_json) as status:
        checked(SCORE_OPTIONS, asked)
        (path,) = asked.paths
        out = Path(asked.out or path)
        keep_others(out / STATEMENTS, out / SCORES_PAGE)
        run = Run(path, since=since)
        options.tell_damaged("fdbcore score", (call for call in run.calls if call.damaged_beside))
        people = None
        if reference is not None and run.settings is not None:
            # Replaying the reference takes long, so check the columns first.
            unit(run.scored, cluster)
            if by is not None:
                check_column(run.scored, by, "--by")
            status("replaying the reference")
            people = _reference(asked, reference, run.settings, out)
        done = Counter[str]()

        def count(work: str) -> None:
            done[work] += 1
            if done[work] % 10 == 0:
                status(f"{done[work]:,} {work}")

        content = score(
            run,
            by=by,
            cluster=cluster,
            sensitivity=asked.sensitivity,
            detectors=asked.vads,
            reference=people,
            executor=executor_of(asked.engine, asked.jobs),
            out=out,
            watch=count,
        )
        status.clear()
        if asked.out is None:  # otherwise the run stays as it is
            moments = [moment for of in content["longer"] for each in of["longer"] for moment in each["worst"]]
            write_pages(run, without_page(run.calls, moments), WHOLE, quiet=True)
        page = write_statements(content, out)
        if as_json:
            click.echo(json.dumps(content, ensure_ascii=False))
        elif not quiet:
            click.echo(f"{statements_screen(content, options.columns())}\n{page}")
    for name, reason in content["unread"].items():
        click.echo(f"fdbcore score: {name}: {reason}", err=True)
    return FAILED if content["unread"] else DONE


def _reference(asked: ScoreRequest, path: Path, own: Settings, out: Path) -> Run:
    """The run in `path`. A folder of audio is first replayed with the settings `own` into `out`/reference."""
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.files import part_of
    from fdbcore.recording.run import is_recorded
    from fdbcore.runs.replay_many import replay_all
    from fdbcore.session.vad import check_installed
    from fdbcore.types import TurnSettings

    if not path.exists():
        raise SettingsError(f"--reference {path}: expected a run, or audio, got no such file")
    if is_recorded(path):
        return Run(path)
    if (name := own["vad"]["B"]["name"]) not in asked.vads:
        check_installed(name, "--reference")
    settings = TurnSettings(**own["turns"])
    run = replay_all(
        path, out=part_of(out, REFERENCE), vad=name, settings=settings, jobs=asked.jobs, engine=asked.engine
    )
    for call in run.calls:
        if call.unscored:
            click.echo(f"fdbcore score: reference {call.name}: {call.unscored}", err=True)
    return run
