"""`fdbcore report RUN RUN ...`: the trend over several runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from .compare import without_page
from .options import read_run, screen_columns, tell_damaged


def trend(paths: Sequence[Path], cluster: str | None, different_settings: bool, as_json: bool, quiet: bool) -> int:
    """Write trend.html into the folder of the latest run, with the pages of calls that it links to, print the trend,
    and return the exit code."""
    from fdbcore.analysis.trends import trend as over_runs
    from fdbcore.report.comparison.words import longer_moments
    from fdbcore.report.groups.trend import screen, write_trend
    from fdbcore.report.html.values import WHOLE

    from .report_pages import write_pages

    runs = [read_run(path) for path in paths]
    found = over_runs(runs, cluster=cluster, different_settings=different_settings)
    (latest,) = [run for run in runs if str(run.path) == found["runs"][-1]["path"]]
    write_pages(latest, without_page(latest.calls, longer_moments([found["latest"]])), WHOLE, quiet=True)
    page = write_trend(found)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{screen(found, screen_columns())}\n{page}")
    return tell_damaged("fdbcore report", [call for run in runs for call in run.calls])
