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
    from fdbcore.analysis.agreement_types import LabelAgreement


@click.command(cls=SuiteCommand, of="agree_options")
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="FIRST SECOND...")
@click.option("--suite", type=SuiteName(), help="Whose labels, where several benchmarks have files of that suffix.")
@click.option(
    "--tolerance-ms", type=click.IntRange(1), default=200, show_default=True, help="Labels: how far edges may be apart."
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
    **of_suite: Any,  # noqa: ANN401
) -> None:
    """Compare annotations, by people or models, of the same calls or replies.

    Labels of calls: two or more files (CSV, TextGrid, RTTM, Audacity) or folders of them, or runs, or recordings, whose
    labels are what the turn detector found. Dialogue acts: two .jsonl files of responses, or of records (whose
    reference replies are then what is compared).
    """
    try:
        if len(paths) < 2:
            raise SettingsError(f"expected two files or more to compare, got {len(paths)}")
        suite = suite or _whose(paths)
        if suite is not None:
            content, text = suite.agree(paths, of_suite, options.columns())
        elif given(context, list(of_suite)):
            flags = ", ".join(given(context, list(of_suite)))
            raise SettingsError(f"{flags}: expected only with labels of a benchmark, got labels of calls")
        else:
            content, text = _labels(paths, tolerance_ms)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"fdbcore agree: {error}", err=True)
        sys.exit(FAILED)
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else text)
    sys.exit(FAILED if content["problems"] else DONE)


def _whose(paths: Sequence[Path]) -> Suite | None:
    """The benchmark whose labels the files hold, by their suffixes; None if they are labels of calls."""
    found = [suite for suite in every_suite() if suite.labels in {path.suffix for path in paths} - {""}]
    if len(found) > 1:
        raise SettingsError(f"expected --suite, one of {', '.join(suite.name for suite in found)}")
    return found[0] if found else None


def _labels(paths: Sequence[Path], tolerance_ms: int) -> tuple[LabelAgreement, str]:
    from fdbcore.analysis.label_agreement import agreement
    from fdbcore.report.groups.agreement_screen import screen

    content = agreement(paths, tolerance_ms)
    return content, screen(content)
