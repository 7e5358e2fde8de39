"""`fdbcore score`: scores a run with confidence intervals, or replies by the measures of a suite."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.protocols.suite import Suite
from fdbcore.registry import suites

from . import options
from .folders import newest
from .options import FILE
from .suites import SuiteCommand, SuiteName, every_suite, given

_RUN_OPTIONS: Final = ("cluster", "by", "sensitivity", "vads", "reference", "since")
_SUITE_OPTIONS: Final = ("figures", "dry_run", "price")


@click.command(cls=SuiteCommand, suite_options="score", short_help="Score a run with intervals, or a benchmark.")
@click.argument("paths", nargs=-1, type=FILE, callback=options.each_once, metavar="[RUN|RESPONSES.jsonl]...")
@click.option("--cluster", metavar="COLUMN", help="Unit that confidence intervals resample: a column of the calls "
              "(default: the call).")  # fmt: skip
@click.option("--by", metavar="COLUMN", help="Compare groups of calls that differ in this column.")
@click.option("--sensitivity", is_flag=True, help="Repeat the scoring under many settings, and with another "
              "voice activity detector.")  # fmt: skip
@click.option("--vad", "vads", multiple=True, callback=options.known_vads, help="Say which measures move with this "
              "voice activity detector; may be given several times. With --sensitivity, in place of the "
              "other one.")  # fmt: skip
@click.option("--reference", type=FILE, metavar="DIR", help="Also show this run, or folder of audio, of conversations "
              "between people.")  # fmt: skip
@options.since
@click.option("--suite", type=SuiteName(), help="Score by the measures of this benchmark instead.")
@click.option("--jobs", type=options.Whole(1), help="Processes (default: one per processor); with --suite, requests "
              "at a time (default: 4).")  # fmt: skip
@options.engine("Score on a Ray cluster that this machine belongs to; with --suite, recognisers and judges are asked "
                "there")  # fmt: skip
@click.option("--figures", type=FILE, metavar="DIR", help="With --suite: write figures (SVG) for a paper to this "
              "folder.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="With --suite: print what models would be asked, in tokens and "
              "USD; ask nobody.")  # fmt: skip
@options.price
@click.option(
    "--out", type=FILE, help="Output folder (default: RUN; with --suite: fdbcore-scores). RUN then stays unchanged."
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
    vads: Sequence[str],
    reference: Path | None,
    since: str,
    suite: Suite | None,
    jobs: int | None,
    engine: str | None,
    figures: Path | None,
    dry_run: bool,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **suite_options: Any,  # noqa: ANN401
) -> None:
    """Score a run with confidence intervals, or score replies by a benchmark.

    Without --suite, RUN is a folder made by `fdbcore replay` or `fdbcore run`; by default the newest one in the current
    folder. Its measures are pooled over all calls, with intervals that resample calls or --cluster, and written to
    RUN/scores.json and RUN/scores.html. --by compares groups of calls. Groups are paired if they share clusters (or
    clips of a live run), p values are corrected for the number of comparisons, and the smallest detectable difference
    is shown.

    With --suite, runs of several systems, or files of their replies, are scored by the measures of that benchmark, and
    written to scores.json and report.html, with the scorecard as scorecard.json, table.csv, table.md and table.tex.
    Without a path, the replies that ship with the benchmark are scored; this needs no key. Input that cannot be used is
    named and left out, and the exit code is 1.

    Example: fdbcore score RUN --by version --cluster caller
    """
    executor = options.executor(engine, jobs)
    if suite is None:
        from .score_run import ScoreOptions, score_run

        for option in given(context, (*_SUITE_OPTIONS, *suite_options)):
            having = [each.name for each in every_suite() if option in {own.flag for own in each.options.score}]
            raise click.UsageError(f"{option} needs --suite {'|'.join(having or suites())}")
        if len(paths) > 1:
            raise click.UsageError(f"expected one RUN, or --suite {'|'.join(suites())}, got {len(paths)} paths")
        run = paths[0] if paths else newest()
        sys.exit(
            score_run(
                run, ScoreOptions(cluster, by, sensitivity, vads, reference, since, executor), out, as_json, quiet
            )
        )
    from .score_suite import print_expected, score_suite

    for option in given(context, _RUN_OPTIONS):
        raise click.UsageError(f"{option} cannot be combined with --suite")
    if dry_run:
        sys.exit(print_expected(suite, paths, suite_options, out, quiet))
    sys.exit(score_suite(suite, paths, suite_options, jobs, executor, figures, out, as_json, quiet))
