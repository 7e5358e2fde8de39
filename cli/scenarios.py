"""`fdbcore scenarios`: the scenarios of a benchmark."""

from __future__ import annotations

import click

from fdbcore.protocols.suite import Suite

from .suites import SuiteCommands, SuiteName


@click.command(cls=SuiteCommands, short_help="List, show, check and import scenarios.")
@click.option("--suite", type=SuiteName(), help="Benchmark of the command, if several have one of that name.")
def scenarios(suite: Suite | None) -> None:
    """List, show, check and import scenarios: what a person wants of a system, goal by goal.

    Example: fdbcore scenarios validate builtin
    """
