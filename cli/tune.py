"""`fdbcore tune`: what other waits of a system would have done on the calls of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fdbcore.runtime.numbers import whole_of

from . import options
from .endings import one_line
from .options import DONE, FAILED, FILE
from .status import Status, Teller


def _waits(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int] | None:
    """Waits in ms, between commas."""
    try:
        return None if value is None else [whole_of(each) for each in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"expected milliseconds such as 300,600,900: {error}") from None


@click.command(short_help="See what a longer or shorter wait would have done.")
@click.argument("run", type=FILE, required=False)
@click.option("--by", metavar="COLUMN", help="A curve for each value of this column.")
@click.option("--present-ms", type=options.Whole(), metavar="MS", help="The wait that the calls were held with "
              "(default: by the settings, the log or the behaviour of the system).")  # fmt: skip
@click.option("--waits-ms", callback=_waits, metavar="MS,MS,...", help="The waits to try (default: 200 to 2000).")
@click.option("--jobs", type=options.Whole(1), help="Processes (default: one per processor).")
@click.option("--out", type=FILE, metavar="DIR", help="Folder of the results (default: RUN).")
@options.as_json
@options.quiet
def tune(
    run: Path | None,
    by: str | None,
    present_ms: int | None,
    waits_ms: list[int] | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what other waits of a system would have done on the calls of a run.

    A system that answers after a silence has a setting for how long that is. From the pauses of the callers, and from
    when the system began, this says for other settings how many turns would be cut in on, and when the others are
    answered; or that the calls cannot tell. By default RUN is the newest one in the current folder.

    RUN/tune.json has the figures; RUN/tune.html draws them, and plays the turns that change.

    Example: fdbcore tune RUN --present-ms 700
    """
    from fdbcore.report.tuning import TUNE_PAGE, screen
    from fdbcore.runs.tunes import tune as tune_run

    path = run or options.newest()
    with one_line("fdbcore tune", "nothing is written"), Status(quiet or as_json) as status:
        found = options.read_run(path)
        options.tell_damaged("fdbcore tune", (call for call in found.calls if call.damaged_beside))
        watch = Teller("fdbcore tune", status, quiet)
        content = tune_run(found, by=by, present_ms=present_ms, waits_ms=waits_ms, jobs=jobs, out=out, watch=watch)
    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{screen(content, options.columns())}\n{(out or path) / TUNE_PAGE}")
    for name, reason in content["unread"].items():
        watch.warn(f"{name}: {reason}")
    sys.exit(FAILED if content["unread"] else DONE)
