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
        _load_tokens(Path(".env"))


def _load_tokens(path: Path) -> None:
    """Keys and tokens; what the environment has goes before. A line that cannot be read is named, never shown."""
    import logging

    from dotenv import load_dotenv
    from dotenv.parser import parse_stream

    with open(path, encoding="utf-8") as file:
        for line in parse_stream(file):
            if line.error:
                click.echo(f"fdbcore: {path}, line {line.original.line}: expected NAME=VALUE, left out", err=True)
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # it would say the same in words of its own
    load_dotenv(path)
