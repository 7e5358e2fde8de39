"""`fdbcore acts`: the dialogue acts that replies are labelled with."""

from __future__ import annotations

import click

from fdbcore.protocols.suite import Suite

from .suites import SuiteCommands, SuiteName


@click.command(cls=SuiteCommands, short_help="Check the acts that replies are labelled with.")
@click.option("--suite", type=SuiteName(), help="Benchmark of the command, if several have one of that name.")
def acts(suite: Suite | None) -> None:
    """Check a file of dialogue acts: their names, definitions and colours, and what swapping them costs.

    Example (needs such a file): fdbcore acts validate acts.toml
    """
