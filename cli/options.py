"""What several commands share: options of the same name mean the same everywhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from fdbcore.errors import SettingsError
from fdbcore.types import TurnSettings

DONE, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes; click's own for wrong usage is 2."""

FEWEST_COLUMNS, MOST_COLUMNS = 60, 130
SCREEN_COLUMNS: Final = 100

FILE: Final = click.Path(path_type=Path)

vad = click.option("--vad", default="silero", show_default=True, help="Voice activity: silero or energy.")
changes = click.option(
    "--set", "changes", multiple=True, metavar="KEY=MS", help="Change a setting of the turn detector."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the screen.")
quiet = click.option("--quiet", is_flag=True, help="Print no progress and no screen.")


def out(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The folder of a run; not the same for what is replayed, and written over, and what was live, and is not."""
    return click.option("--out", type=FILE, default=Path(default), show_default=True, help="Folder of the run.")


def columns() -> int:
    """How wide a table may be: as the terminal is, within what is readable; 80 where there is none."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, FEWEST_COLUMNS), MOST_COLUMNS)


def screen_columns() -> int:
    """How wide the screen of a run may be: as the terminal is, and 100 where there is none, or a wider one."""
    return min(shutil.get_terminal_size((SCREEN_COLUMNS, 24)).columns, SCREEN_COLUMNS)


def changed_settings(changes: Sequence[str]) -> dict[str, int]:
    """The `key=milliseconds` changes of the turn detector's settings; SettingsError names what is wrong with them."""
    values: dict[str, int] = {}
    for change in changes:
        key, _, value = change.partition("=")
        if key not in TurnSettings.__slots__ or not value.strip().isdecimal():
            raise SettingsError(
                f"--set {change}: expected key=milliseconds, key one of {', '.join(TurnSettings.__slots__)}"
            )
        values[key] = int(value)
    TurnSettings(**values)
    return values


def turn_settings(changes: Sequence[str]) -> TurnSettings:
    """The default settings with `changes`, as `changed_settings` takes them."""
    return TurnSettings(**changed_settings(changes))
