"""`fdbcore score`: the measures of a run with what can be said of them, or what replies are worth by a suite's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.protocols import Suite
from fdbcore.registry import suites

from . import options
from .options import FILE
from .suites import SuiteCommand, SuiteName, given

_OF_RUNS: Final = ("cluster", "by", "sensitivity", "reference")
_OF_SUITES: Final = ("figures",)


@click.command(cls=SuiteCommand, of="score_options")
@click.argument("paths", nargs=-1, type=FILE, metavar="[RUN|RESPONSES.jsonl]...")
@click.option("--cluster", metavar="COLUMN", help="What intervals resample, of the calls' columns [default: the call].")
@click.option("--by", metavar="COLUMN", help="Compare the calls with one value of this column with those of others.")
@click.option("--sensitivity", is_flag=True, help="Read the activity again under many settings, and both detectors.")
@click.option("--reference", type=FILE, metavar="DIR", help="A run, or a folder of audio, of people: show it beside.")
@click.option("--suite", type=SuiteName(), help="Score by a benchmark's measures instead.")
@click.option("--jobs", type=click.IntRange(1), help="Processes, as many as processors; of a suite, requests [4].")
@click.option("--figures", type=FILE, metavar="DIR", help="With --suite: write figures (SVG) for a paper here.")
@click.option(
    "--out", type=FILE, help="Folder of the results; RUN stays as it was [default: RUN; of a suite, fdbcore-scores]."
)
@options.as_json
@options.quiet
@click.pass_context
def score(
    context: click.Context,
    /,
    paths: Sequence[Path],
    cluster: str | None,
    by: str | None,
    sensitivity: bool,
    reference: Path | None,
    suite: Suite | None,
    jobs: int | None,
    figures: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **of_suite: Any,  # noqa: ANN401
) -> None:
    """Score RUN, of `fdbcore replay` or `fdbcore run`, anew: pooled measures with intervals over the right unit.

    With --by, how groups of calls differ: paired where both have the same clusters (or clips of a live run), corrected
    for their number, with the smallest difference that could be seen. Writes RUN/scores.json.

    With --suite: score runs of several systems, or files of their replies, by the measures of that benchmark; write
    scores.json, report.html, and the scorecard as scorecard.json, table.csv, table.md and table.tex. Without paths:
    what ships with it, which needs no key. What cannot be used is named and left out, and the exit code is then 1.
    """
    if suite is None:
        from .score_run import Asked, score_run

        for option in given(context, (*_OF_SUITES, *of_suite)):
            raise click.UsageError(f"{option} needs --suite {'|'.join(suites())}")
        if len(paths) != 1:
            raise click.UsageError(f"expected one RUN, or --suite {'|'.join(suites())}, got {len(paths)} paths")
        sys.exit(score_run(paths[0], Asked(cluster, by, sensitivity, reference, jobs), out, as_json, quiet))
    from .score_suite import score_suite

    for option in given(context, _OF_RUNS):
        raise click.UsageError(f"{option} goes without --suite")
    sys.exit(score_suite(suite, paths, of_suite, jobs, figures, out, as_json, quiet))
