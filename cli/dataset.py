"""`fdbcore dataset`: the material of a benchmark."""

from __future__ import annotations

import click

from fdbcore.protocols import Suite

from .suites import SuiteCommands, SuiteName


@click.command(cls=SuiteCommands)
@click.option("--suite", type=SuiteName(), help="Whose command, where several benchmarks have one of that name.")
def dataset(suite: Suite | None) -> None:
    """Make the material of a benchmark: records, and their users' speech."""
