"""A click group that imports a command only when it is called, so that `--help` stays fast."""

import errno
import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from resource import RLIMIT_AS, getrlimit
from typing import Any, Final

import click

from .exits import FAILED, INTERRUPTED

TYPED: Final = f"{__name__}.typed"
"""The key of a context's `meta` that holds all words of the command."""
RENAMED: Final = {
    **{f"--marks{of}": f"--agent-log{of}" for of in ("", "-offset-ms", "-session")},
    "--line-open": "--no-hang-up",
}
"""Options of commands by their earlier names, which still work, and say so. Those of benchmarks have a `was`."""
_MODULES: Final = {"acts": "suites", "dataset": "suites", "scenarios": "suites"}


class LazyCommands(click.Group):
    """A group whose command NAME is the object NAME of the module NAME, or that in _MODULES, in this package."""

    def __init__(self, *arguments: Any, names: Sequence[str] = (), **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **settings)
        self._names = names

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command, and keep them as they are."""
        ctx.meta.setdefault(TYPED, tuple(args))
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name, and its words; earlier names of options become those of today.

        The error for an unknown command names the one that is most like it.
        """
        try:
            name, command, words = super().resolve_command(ctx, args)
        except click.UsageError as error:
            if near := get_close_matches(args[0], self._names, 1):
                raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None
            raise
        known = {flag for param in command.params for flag in param.opts} if command else set[str]()
        for place, (flag, sign, value) in enumerate(word.partition("=") for word in words):
            if RENAMED.get(flag) in known:
                click.echo(f"fdbcore {name}: {flag} is called {RENAMED[flag]} now", err=True)
                words[place] = f"{RENAMED[flag]}{sign}{value}"
        return name, command, words

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the given order."""
        return list(self._names)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run a command. Ctrl-C, and errors of the system such as a full disk or memory, end it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(f"{ctx.command_path}: interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has closed it; click handles that
                raise
            click.echo(f"{ctx.command_path}: {' '.join(str(error).split())}", err=True)
            sys.exit(FAILED)
        except (MemoryError, SystemError, RuntimeError, ImportError) as error:
            if not isinstance(error, MemoryError) and getrlimit(RLIMIT_AS)[0] < 0:
                raise
            click.echo(f"{ctx.command_path}: memory is used up: {str(error) or 'none is left'}", err=True)
            sys.exit(FAILED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        if cmd_name not in self._names:
            return None
        module = importlib.import_module(f".{_MODULES.get(cmd_name, cmd_name)}", __package__)
        command: click.Command = getattr(module, cmd_name)
        return command
