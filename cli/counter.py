"""A line on a terminal that counts what is done."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

import click


class Counter:
    """Redraws "WHAT NUMBER of TOTAL NAME" on standard error, where that is a terminal; the line is gone at the end."""

    def __init__(self, what: str, total: int, quiet: bool = False) -> None:
        self._what = what
        self._total = total
        self._number = 0
        self._shows = not quiet and sys.stderr.isatty()

    def step(self, name: str) -> None:
        """One more is done."""
        self._number += 1
        if self._shows:
            click.echo(f"\r\x1b[K{self._what} {self._number} of {self._total} {name}", nl=False, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._shows and self._number:
            click.echo("\r\x1b[K", nl=False, err=True)
