"""The `fdbcore` command and its subcommands: one file each, imported when the subcommand is called."""

import sys
from io import TextIOWrapper
from pathlib import Path
from resource import RLIMIT_AS, getrlimit
from typing import Final

import click

from fdbcore.runtime.redaction import write_no_secrets

from .colours import drawn_on
from .exits import FAILED, begin_work
from .lazy import TYPED, LazyCommands

COMMANDS = (
    *("replay", "report", "score", "run", "doctor", "gate", "export", "agree", "rate"),
    *("transcribe", "dataset", "acts", "scenarios", "models"),
)
"""In the order in which a newcomer needs them."""

LEAST_BYTES: Final = 1 << 30
FIRST_STEPS = """\
What people do first:

  Measure recorded calls (left channel: the caller, right: the system):
    fdbcore replay calls/ --out RUN

  Say what is better or worse than in an earlier run:
    fdbcore report RUN --baseline OLD

  Call a system of yours, and measure that:
    fdbcore run --system ADDRESS --clips calls/

fdbcore --help lists all commands; fdbcore COMMAND --help ends its text with an example."""


@click.command(cls=LazyCommands, names=COMMANDS, invoke_without_command=True)
@click.version_option(package_name="fdbcore")
@click.pass_context
def main(context: click.Context) -> None:
    """Run, replay and score full-duplex spoken conversations on one media clock.

    Example: fdbcore replay call.wav
    """
    if isinstance(sys.stdout, TextIOWrapper):  # a file name may hold bytes that are not valid text
        sys.stdout.reconfigure(errors="backslashreplace")
    if Path(".env").is_file():
        from .env_file import take_secrets

        take_secrets(Path(".env"), context.meta[TYPED])
    write_no_secrets(drawn_on)
    begin_work()
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS)
        return
    if 0 <= (limit := getrlimit(RLIMIT_AS)[0]) < LEAST_BYTES:  # libraries in C would hang or abort
        click.echo(f"fdbcore: expected {LEAST_BYTES >> 20} MiB of memory, got {limit >> 20} (ulimit)", err=True)
        sys.exit(FAILED)
