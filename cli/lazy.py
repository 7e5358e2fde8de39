"""Commands that are imported when they are called, so that `--help` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click


class LazyCommands(click.Group):
    """A group whose command NAME is NAME of the module `prefix` + NAME, beside this one."""

    def __init__(self, *arguments: Any, names: Sequence[str], prefix: str = "", **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **settings)
        self._names, self._prefix = names, prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in their order."""
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        if cmd_name not in self._names:
            return None
        module = importlib.import_module(f".{self._prefix}{cmd_name}", __package__)
        command: click.Command = getattr(module, cmd_name)
        return command
