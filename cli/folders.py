"""The folders of runs that a user does not name: a new one for a live run, and the newest one to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fdbcore.clock import local_minute

if TYPE_CHECKING:
    from fdbcore.runs.plan import PlannedSystem

LIVE: Final = "fdbcore-live"
_MOST_SYSTEM_CHARACTERS: Final = 40


def live_name(systems: Sequence[PlannedSystem]) -> str:
    """The name of a new folder for a live run: the time and the systems, as in fdbcore-live-20261123-0912-moshi."""
    named = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(map(_public_name, systems)))[:_MOST_SYSTEM_CHARACTERS].strip("-.")
    return "-".join(filter(None, [LIVE, local_minute(), named]))


@contextmanager
def new_live_folder(systems: Sequence[PlannedSystem]) -> Iterator[Path]:
    """A new folder in the current one for a live run. If nothing was written into it, it is removed again.

    It is made at once, so that two runs that begin in the same minute never share one.
    """
    name = live_name(systems)
    for path in (Path(name if number == 1 else f"{name}-{number}") for number in count(1)):
        with suppress(FileExistsError):
            path.mkdir()
            break
    try:
        yield path
    finally:
        with suppress(OSError):  # it holds the run
            path.rmdir()


def _public_name(system: PlannedSystem) -> str:
    """The name that the user gave a system, or else the scheme of its address: the rest of it may hold a key."""
    from fdbcore.runtime.redaction import redacted

    if system.name != redacted(system.address):
        return system.name
    return system.address.removeprefix("far:").partition(":")[0]


def newest() -> Path:
    """The newest run in the current folder, for a command without one; says which. UsageError if there is none."""
    from fdbcore.recording.run import newest_run

    path = newest_run(Path())
    if path is None:
        raise click.UsageError(
            "expected a RUN, and there is none in this folder: make one with fdbcore replay or fdbcore run"
        )
    click.echo(f"fdbcore {click.get_current_context().info_name}: {path}, the newest run here", err=True)
    return path
