"""`fdbcore agree`: how far two annotators agree."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fdbcore.errors import FdbError, SettingsError

from . import options
from .options import DONE, FAILED, FILE


@click.command()
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@click.option("--a", "annotator_a", metavar="NAME", help="Whose annotations in FIRST, where it has those of several.")
@click.option("--b", "annotator_b", metavar="NAME", help="Whose annotations in SECOND.")
@click.option("--as-given", is_flag=True, help="Take importances as they are, whatever they sum to.")
@options.as_json
def agree(
    first: Path, second: Path, annotator_a: str | None, annotator_b: str | None, as_given: bool, as_json: bool
) -> None:
    """Compare two annotations, by people or models, of the dialogue acts of the same replies.

    FIRST and SECOND are files of responses, or of records (whose reference replies are then what is compared).
    """
    from fdbcore.suites.dialogue_acts.agreement import agreement, read_labels
    from fdbcore.suites.dialogue_acts.agreement_screen import screen

    try:
        a, problems_a = read_labels(first, annotator_a, as_given)
        b, problems_b = read_labels(second, annotator_b, as_given)
        content = agreement(a, b, [*problems_a, *problems_b])
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except FdbError as error:
        click.echo(f"fdbcore agree: {error}", err=True)
        sys.exit(FAILED)
    click.echo(json.dumps(content, ensure_ascii=False) if as_json else screen(content, options.columns()))
    sys.exit(FAILED if content["problems"] else DONE)
