"""A line on a terminal that says what is going on, and is gone afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def status(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Call what it gives with each new text; it is drawn on standard error, where that is a terminal."""
    shows = not quiet and sys.stderr.isatty()

    def show(text: str) -> None:
        if shows:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)

    try:
        yield show
    finally:
        show("")
