"""`fdbcore agree`: how far annotators agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, SettingsError
from fdbcore.protocols import Suite

from . import options
from .options import DONE, FAILED, FILE
from .suites import SuiteCommand, SuiteName, every_suite, given

if TYPE_CHECKING:
    pass


@click.command(cls=SuiteCommand, suite_options="agree_options", short_help="Compare annotations by people or models.")
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="FIRST SECOND...")
@click.option("--suite", type=SuiteName(), help="Benchmark of the labels, if several benchmarks use that file suffix.")
@click.option(
    "--tolerance-ms",
    type=click.IntRange(1),
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
    """Compare annotations of the same calls or replies, by people or models.

    Labels of calls: give two or more label files (CSV, TextGrid, RTTM, Audacity), or folders of them. A run or a
    recording stands for what the turn detector found in it. Dialogue acts: give two .jsonl files of responses or of
    records; of records, the reference replies are compared.

    Example: fdbcore agree hand.csv RUN
    """
    try:
        if len(paths) < 2:
            raise SettingsError(f"expected two files or more to compare, got {len(paths)}")
        suite = suite or _suite_by_suffix(paths)
        if suite is not None:
            content, text = suite.agree(paths, suite_options, options.columns())
        elif given(context, list(suite_options)):
            flags = ", ".join(given(context, list(suite_options)))
            raise SettingsError(f"{flags}: expected only with labels of a benchmark, got labels of calls")
        else:
            from fdbcore.analysis.label_agreement import agreement
            from fdbcore.report.groups.agreement_screen import screen

            content = agreement(paths, tolerance_ms)
            text = screen(content)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"fdbcore agree: {error}", err=True)
        sys.exit(FAILED)
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else text)
    sys.exit(FAILED if content["problems"] else DONE)


def _suite_by_suffix(paths: Sequence[Path]) -> Suite | None:
    """The benchmark whose label files have these suffixes; None if the files hold labels of calls."""
    found = [suite for suite in every_suite() if suite.labels in {path.suffix for path in paths} - {""}]
    if len(found) > 1:
        raise SettingsError(f"expected --suite, one of {', '.join(suite.name for suite in found)}")
    return found[0] if found else None
