"""A status that a terminal shows below its lines while work goes on, and removes afterwards."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from fdbcore.clock import now_ns
from fdbcore.runs.watch import Watch
from fdbcore.runtime.redaction import on_screen
from fdbcore.runtime.waits import Wait, watching_waits

if TYPE_CHECKING:
    from rich.live import Live

LINE_EVERY_NS: Final = 60 * 10**9
_PART_BAR_COLUMNS: Final = 20


class Part(NamedTuple):
    """One of several tasks that run at once: its name, how much of it is done of how much, and a text."""

    name: str
    done: float
    total: float
    text: str


class Status:
    """Draws a status on standard error if that is a terminal; as a context manager it removes it at the end.

    Call it with each new text. A total adds a progress bar below the text, parts add a line each. Call `clear` before
    you print another line.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.shows = not quiet and sys.stderr.isatty()
        self._logs = not (quiet or self.shows)
        self._next_line_ns = now_ns() + LINE_EVERY_NS
        self._live: Live | None = None
        self._drawing = RLock()
        self._waits: dict[str, Wait] = {}
        self._last: tuple[Any, ...] = ("",)
        self._watching = ExitStack()

    def __enter__(self) -> "Status":
        self._watching.enter_context(watching_waits(self.wait))
        return self

    def __exit__(self, *error: object) -> None:
        self._watching.close()
        self.clear()

    def wait(self, wait: Wait) -> None:
        """Show below the status, until it is over, that a server is waited for."""
        with self._drawing:
            self._waits[wait.name] = wait
            self(*self._last)

    def __call__(self, text: str, done: float = 0, total: float | None = None, parts: Sequence[Part] = ()) -> None:
        """Replace the last status by this one."""
        if self.shows:
            with self._drawing:
                self._draw(text, done, total, parts)

    def step(self, text: str, done: float = 0, total: float | None = None) -> None:
        """As a call; where there is no terminal, print `text` once a minute, as a line of a log."""
        self(text, done, total)
        if self._logs and now_ns() > self._next_line_ns:
            self._next_line_ns += LINE_EVERY_NS
            click.echo(text, err=True)

    def _draw(self, text: str, done: float, total: float | None, parts: Sequence[Part]) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Column, Table
        from rich.text import Text

        def line(text: str) -> Text:
            return Text(on_screen(text), no_wrap=True, overflow="ellipsis")

        table = Table.grid(Column(), Column(max_width=_PART_BAR_COLUMNS), Column(no_wrap=True), padding=(0, 2))
        for part in parts:
            table.add_row(line(f"  {part.name}"), ProgressBar(part.total, min(part.done, part.total)), line(part.text))
        self._last = text, done, total, parts
        waits = [line(str(wait)) for wait in self._waits.values() if wait.until_ns > now_ns()]
        bar = Group(ProgressBar(total, min(done, total)), "") if total else Group()  # "": a bar does not end its line
        if self._live is None:
            # Its own codes must pass. Standard output and error are not redirected to it.
            console = Console(file=getattr(sys.stderr, "beneath", sys.stderr))
            self._live = Live(
                console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(
            Group(line(text), bar, table, *waits, ""), refresh=True
        )  # "": the terminal writes ^C to the last line

    def clear(self) -> None:
        """Remove the status from the terminal."""
        with self._drawing:
            if self._live is not None:
                self._live.stop()
                self._live = None


class Teller(Watch):
    """Tells on standard error what long work does. quiet: tell only what could not be used."""

    def __init__(self, command: str, status: Status, quiet: bool = False) -> None:
        self._command = command
        self._status = status
        self._quiet = quiet

    def warn(self, text: str) -> None:
        """Print a line of the command."""
        self._print(f"{self._command}: {text}")

    def note(self, text: str) -> None:
        """Print a line of the command, unless it is quiet."""
        if not self._quiet:
            self.warn(text)

    def step(self, text: str, done: float = 0, total: float | None = None) -> None:
        """Show the current step below the lines of a terminal."""
        self._status(text, done, total)

    def _print(self, line: str) -> None:
        self._status.clear()
        click.echo(line, err=True)
