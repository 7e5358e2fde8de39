"""`fdbcore agree`: how far annotators agree."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fdbcore.errors import SettingsError
from fdbcore.protocols.suite import Suite

from . import options
from .endings import one_line
from .options import DONE, FAILED, FILE
from .status import Status
from .suites import SuiteCommand, SuiteName, every_suite, given


@click.command(cls=SuiteCommand, suite_options="agree", short_help="Compare annotations by people or models.")
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="FIRST SECOND...")
@click.option("--suite", type=SuiteName(), help="Benchmark of the labels, where several fit.")
@click.option(
    "--tolerance-ms",
    type=options.Whole(1),
    default=200,
    show_default=True,
    help="Labels of calls: two edges match if they are at most this far apart.",
)
@options.as_json
@click.pass_context
def agree(
    context: click.Context,
    /,
    paths: Sequence[Path],
    suite: Suite | None,
    tolerance_ms: int,
    as_json: bool,
    **suite_options: Any,  # noqa: ANN401
) -> None:
    """Compare annotations of the same calls, replies or dialogues, by people or models.

    Labels of calls: give two or more label files (CSV, TextGrid, RTTM, Audacity), or folders of them. A run or a
    recording stands for what the turn detector found in it; labels of recorded users are those of each call that played
    one. Dialogue acts: give two .jsonl files of responses or of
    records; of records, the reference replies are compared. Ratings of replies: give tables (CSV with the columns id,
    system, rater, rating), and the run that was scored. Ratings of dialogues: give tables of ratings (CSV with a
    column dialogue), and scores of judges (folders of fdbcore score --suite); --sample draws what people rate.
    Recorded requests: give tables of disfluencies, or of verdicts beside scores (CSV with a column recording).

    Example: fdbcore agree hand.csv RUN
    """
    from fdbcore.recording.form import one_call

    with one_line("fdbcore agree", usage=(SettingsError,)), Status(as_json) as show:
        suite = suite or _suite_of(paths, given(context, list(suite_options)))
        if suite is not None:
            if suite.labels is None:
                raise SettingsError(f"{suite.name}: it has no labels to compare")
            with one_call(paths[0]):
                content, text = suite.labels.agree(paths, suite_options, options.columns(), show)
        else:
            content, text = _of_calls(paths, tolerance_ms)
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else text)
    sys.exit(FAILED if content["problems"] else DONE)


def _of_calls(paths: Sequence[Path], tolerance_ms: int) -> tuple[Mapping[str, Any], str]:
    """The document of labels of calls, and its text."""
    from fdbcore.analysis.label_agreement import agreement
    from fdbcore.report.groups.agreement_screen import screen

    if len(paths) < 2:
        raise SettingsError(f"expected two files or more to compare, got {len(paths)}")
    try:
        content = agreement(paths, tolerance_ms)
    except SettingsError as error:
        if not all(map(os.path.isfile, paths)):
            raise
        others = "; ".join(f"{suite.name}: {suite.labels.about}" for suite in every_suite() if suite.labels)
        raise SettingsError(f"{error} (benchmarks compare {others})") from error
    return content, screen(content)


def _suite_of(paths: Sequence[Path], flags: Sequence[str]) -> Suite | None:
    """The benchmark that compares one of these files, or has one of these options; None for labels of calls."""
    found = [
        suite
        for suite in every_suite()
        if suite.labels
        and (any(map(suite.labels.holds, paths)) or any(option.flag in flags for option in suite.options.agree))
    ]
    if len(found) > 1:
        raise SettingsError(f"expected --suite, one of {', '.join(suite.name for suite in found)}")
    return found[0] if found else None
