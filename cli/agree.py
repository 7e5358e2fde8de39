"""`fdbcore agree`: how far annotators agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from fdbcore.errors import FdbError, SettingsError

from . import options
from .options import DONE, FAILED, FILE

ACTS: Final = ".jsonl"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=FILE, metavar="FIRST SECOND...")
@click.option("--a", "annotator_a", metavar="NAME", help="Acts: whose in FIRST, where it has those of several.")
@click.option("--b", "annotator_b", metavar="NAME", help="Acts: whose in SECOND.")
@click.option("--as-given", is_flag=True, help="Acts: take importances as they are, whatever they sum to.")
@click.option(
    "--tolerance-ms", type=click.IntRange(1), default=200, show_default=True, help="Labels: how far edges may be apart."
)
@options.as_json
def agree(
    paths: Sequence[Path],
    annotator_a: str | None,
    annotator_b: str | None,
    as_given: bool,
    tolerance_ms: int,
    as_json: bool,
) -> None:
    """Compare annotations, by people or models, of the same calls or replies.

    Labels of calls: two or more files (CSV, TextGrid, RTTM, Audacity) or folders of them, or runs, or recordings, whose
    labels are what the turn detector found. Dialogue acts: two .jsonl files of responses, or of records (whose
    reference replies are then what is compared).
    """
    try:
        if len(paths) < 2:
            raise SettingsError(f"expected two files or more to compare, got {len(paths)}")
        if any(path.suffix == ACTS for path in paths):
            content, text = _acts(paths, annotator_a, annotator_b, as_given)
        else:
            if annotator_a or annotator_b or as_given:
                raise SettingsError("--a, --b, --as-given: expected only with dialogue acts, got labels of calls")
            content, text = _labels(paths, tolerance_ms)
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"fdbcore agree: {error}", err=True)
        sys.exit(FAILED)
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else text)
    sys.exit(FAILED if content["problems"] else DONE)


def _acts(
    paths: Sequence[Path], annotator_a: str | None, annotator_b: str | None, as_given: bool
) -> tuple[dict[str, Any], str]:
    from fdbcore.suites.dialogue_acts.agreement import agreement, read_labels
    from fdbcore.suites.dialogue_acts.agreement_screen import screen

    if len(paths) != 2 or {path.suffix for path in paths} != {ACTS}:
        raise SettingsError(f"expected two {ACTS} files of dialogue acts, got {', '.join(map(str, paths))}")
    a, problems_a = read_labels(paths[0], annotator_a, as_given)
    b, problems_b = read_labels(paths[1], annotator_b, as_given)
    content = agreement(a, b, [*problems_a, *problems_b])
    return content, screen(content, options.columns())


def _labels(paths: Sequence[Path], tolerance_ms: int) -> tuple[dict[str, Any], str]:
    from fdbcore.agreement import agreement
    from fdbcore.report.agreement_screen import screen

    content = agreement(paths, tolerance_ms)
    return content, screen(content)
