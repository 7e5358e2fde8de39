"""`fdbcore rate`: makes the page on which people rate conversations."""

from pathlib import Path

import click

from fdbcore.errors import InputError, SettingsError
from fdbcore.registry import suite as suite_named

from . import options
from .endings import one_line
from .options import FILE
from .status import Status

KEY, PAGE = "key.json", "rate.html"


@click.command(short_help="Make a page on which people rate conversations.")
@click.argument("sample", type=FILE)
@click.option("--out", type=FILE, help=f"The page to write (default: SAMPLE/{PAGE}).")
@options.quiet
def rate(sample: Path, out: Path | None, quiet: bool) -> None:
    """Make a page on which people rate the conversations of SAMPLE, a folder that fdbcore agree --sample made.

    The page is one file that works offline. It plays the conversations in random order, without a name of a system,
    takes ratings, keeps them in the browser, and gives them as a table (CSV) to download. fdbcore agree compares the
    tables of several raters, and raters with judges.

    Example (needs such a folder): fdbcore rate fdbcore-sample
    """
    from fdbcore.recording.files import read_json
    from fdbcore.recording.form import one_call
    from fdbcore.recording.others import keep_others

    out = out or sample / PAGE
    with one_line("fdbcore rate", "run the same command again"):
        key = read_json(sample / KEY) if (sample / KEY).is_file() else None
        if not isinstance(key, dict) or not isinstance(key.get("suite"), str):
            raise InputError(f"{sample}: expected a folder made by fdbcore agree --sample, got none with {KEY}")
        keep_others(out)
        with one_call(sample), Status(quiet) as show:
            labels = suite_named(key["suite"]).labels
            if labels is None or labels.rate is None:
                raise SettingsError(f"{key['suite']}: people do not rate it")
            told = labels.rate(sample, out, show)
        if not quiet:
            click.echo(told)
