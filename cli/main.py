"""Entry point of the `fdbcore` command: one file per command, each imported when it is called."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

COMMANDS = ("agree", "dataset", "doctor", "export", "replay", "report", "run", "score")


class LazyCommands(click.Group):
    """A group whose commands live in modules of their own names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of the module `cmd_name`."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f".{cmd_name}", __package__), cmd_name)
        return command


@click.command(cls=LazyCommands)
@click.version_option(package_name="fdbcore")
def main() -> None:
    """Run, replay and score full-duplex spoken conversations on one media clock."""
    if Path(".env").is_file():
        from dotenv import load_dotenv

        load_dotenv(".env")  # keys and tokens; what the environment has goes before
