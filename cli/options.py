"""What several commands share: options of the same name mean the same everywhere."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import InputError, RecordingError, SettingsError
from fdbcore.types import TurnSettings

from .entry import DONE as DONE
from .entry import FAILED as FAILED
from .entry import INTERRUPTED as INTERRUPTED
from .entry import UNMEASURED as UNMEASURED

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Run
    from fdbcore.measures.reading import Reading
    from fdbcore.sources.agent_logs import Mark

FEWEST_COLUMNS, MOST_COLUMNS = 60, 130
SCREEN_COLUMNS: Final = 100


def named(text: str) -> str:
    """A path that a user names. BadParameter for none, which would be the current folder, and for an address."""
    if not text:
        raise click.BadParameter("expected a path, got an empty text: a variable that is not set?")
    if re.match(r"[a-zA-Z][\w+.-]*://", text) and not os.path.exists(text):
        raise click.BadParameter(f"expected a path, got the address {text}: download it first")
    return text


class _NamedPath(click.Path):
    """A path that `named` lets pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        return super().convert(named(value) if isinstance(value, str) else value, param, ctx)


FILE: Final = _NamedPath(path_type=Path)
CALL: Final = _NamedPath(path_type=Path, readable=False)
"""One of several, of which one that cannot be read stops no other."""

vad = click.option("--vad", default="silero", show_default=True, help="Voice activity: silero or energy.")
changes = click.option(
    "--set", "changes", multiple=True, metavar="KEY=MS", help="Change a setting of the turn detector."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the screen.")
quiet = click.option("--quiet", is_flag=True, help="Print no progress and no screen.")


def read_run(path: Path) -> Run:
    """The run that an argument names. InputError for what is none: the argument is wrong, not the calls."""
    from fdbcore.analysis.corpus import Run

    try:
        return Run(path)
    except RecordingError as error:
        raise InputError(str(error)) from error


def marks(command: Callable[..., None]) -> Callable[..., None]:
    """An agent's own log, for one call."""
    log = click.option(
        "--marks",
        type=FILE,
        metavar="FILE",
        help="The agent's own log of this call: JSONL, OTLP, LiveKit, Pipecat, Vapi.",
    )
    offset = click.option("--marks-offset-ms", type=float, help="What to add to its times, instead of an estimate.")
    return log(offset(command))


@dataclass(frozen=True, slots=True)
class Log:
    """The marks of an agent's log, and the offset of its clock if that was given."""

    marks: Sequence[Mark]
    offset_ms: float | None

    def lay(self, reading: Reading) -> dict[str, Any]:
        """Keep the marks with a recording, on its timeline. InputError where the offset cannot be told."""
        from fdbcore.runs.amend import lay_marks

        return lay_marks(reading, self.marks, self.offset_ms)


def read_log(path: Path | None, offset_ms: float | None, calls: int) -> Log | None:
    """The log that the options name; InputError if it cannot be used, or belongs to no single call."""
    from fdbcore.sources.agent_logs import read_marks

    if path is None:
        if offset_ms is not None:
            raise SettingsError("--marks-offset-ms: expected --marks")
        return None
    if calls != 1:
        raise SettingsError(f"--marks {path}: expected one call, got {calls}")
    if offset_ms is not None and not math.isfinite(offset_ms):
        raise SettingsError(f"--marks-offset-ms: expected milliseconds, got {offset_ms}")
    return Log(read_marks(path), offset_ms)


def out(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The folder of a run; not the same for what is replayed, and written over, and what was live, and is not."""
    return click.option("--out", type=FILE, default=Path(default), show_default=True, help="Folder of the run.")


def finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """A number that is neither infinite nor none at all, which click's ranges let pass."""
    if not math.isfinite(value):
        raise click.BadParameter(f"expected a finite number, got {value}")
    return value


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
                f"--set {change}: expected NAME=milliseconds, NAME one of {', '.join(TurnSettings.__slots__)}"
            )
        values[key] = int(value)
    TurnSettings(**values)
    return values


def turn_settings(changes: Sequence[str]) -> TurnSettings:
    """The default settings with `changes`, as `changed_settings` takes them."""
    return TurnSettings(**changed_settings(changes))
