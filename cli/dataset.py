"""`fdbcore dataset`: makes the data of a benchmark."""

from __future__ import annotations

import click

from fdbcore.protocols.suite import Suite

from .suites import SuiteCommands, SuiteName


@click.command(cls=SuiteCommands, short_help="Make the data of a benchmark.")
@click.option("--suite", type=SuiteName(), help="Benchmark of the command, if several have one of that name.")
def dataset(suite: Suite | None) -> None:
    """Make the data of a benchmark: records, and the speech of their users.

    Example: fdbcore dataset speak SET
    """
