"""`fdbcore dataset`: the material of a benchmark."""

from __future__ import annotations

import click

from .lazy import LazyCommands


@click.command(cls=LazyCommands, names=("generate", "speak"), prefix="dataset_")
def dataset() -> None:
    """Make the material of a benchmark: records, and their users' speech."""
