"""`fdbcore report RUN RUN ...`: the trend over several runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .compare import without_page
from .options import DONE, read_run, screen_columns

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call


def trend(
    paths: Sequence[Path],
    cluster: str | None,
    different_settings: bool,
    write_pages: Callable[[Iterable[Call]], None],
    as_json: bool,
    quiet: bool,
) -> int:
    """Write trend.html into the folder of the latest run, print the trend, and return the exit code.

    write_pages: makes the pages of calls that the page links to.
    """
    from fdbcore.analysis.trends import trend as over_runs
    from fdbcore.report.comparison.words import longer_moments
    from fdbcore.report.groups.trend import screen, write_trend

    runs = [read_run(path) for path in paths]
    found = over_runs(runs, cluster=cluster, different_settings=different_settings)
    (latest,) = [run for run in runs if str(run.path) == found["runs"][-1]["path"]]
    write_pages(without_page(latest.calls, longer_moments([found["latest"]])))
    page = write_trend(found)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{screen(found, screen_columns())}\n{page}")
    return DONE
