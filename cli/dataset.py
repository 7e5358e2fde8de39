"""`fdbcore dataset`: the material of a benchmark."""

from __future__ import annotations

import importlib
from typing import Final

import click

COMMANDS: Final = ("generate", "speak")


class LazyCommands(click.Group):
    """A group whose commands live in modules of their own, dataset_NAME."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in their order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of the module `dataset_NAME`."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".dataset_{cmd_name}", __package__)
        command: click.Command = getattr(module, cmd_name)
        return command


@click.command(cls=LazyCommands)
def dataset() -> None:
    """Make the material of a benchmark: records, and their users' speech."""
