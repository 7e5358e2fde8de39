"""What a terminal shows beneath its lines while something goes on, and takes away afterwards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.live import Live

_PART_BAR_COLUMNS: Final = 20


class Part(NamedTuple):
    """One of several things that go on at once: how much of it is done, and a text on that."""

    name: str
    done: float
    total: float
    text: str


class Status:
    """Drawn on standard error, where that is a terminal; a context manager, which takes it away.

    Call it with each new text; with a bar beneath it where there is a total, and with parts beneath that. Call `clear`
    before another line is printed.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.shows = not quiet and sys.stderr.isatty()
        self._live: Live | None = None

    def __enter__(self) -> Status:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __call__(self, text: str, done: float = 0, total: float | None = None, parts: Sequence[Part] = ()) -> None:
        """Draw this where the last was."""
        if not self.shows:
            return
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Column, Table
        from rich.text import Text

        def line(text: str) -> Text:
            return Text(text, no_wrap=True, overflow="ellipsis")

        table = Table.grid(Column(), Column(max_width=_PART_BAR_COLUMNS), Column(no_wrap=True), padding=(0, 2))
        for part in parts:
            table.add_row(line(f"  {part.name}"), ProgressBar(part.total, min(part.done, part.total)), line(part.text))
        bar = Group(ProgressBar(total, min(done, total)), "") if total else Group()  # "": a bar does not end its line
        if self._live is None:
            console = Console(stderr=True)  # to which nothing else is redirected: it goes where it belongs
            self._live = Live(
                console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(Group(line(text), bar, table, ""), refresh=True)  # the terminal writes ^C to the last line

    def clear(self) -> None:
        """Take away what is drawn."""
        if self._live is not None:
            self._live.stop()
            self._live = None
