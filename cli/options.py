"""Options that several commands share: one name means the same everywhere."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import InputError, RecordingError, SettingsError, nearest, told_as
from fdbcore.runtime.numbers import number_of, whole_of
from fdbcore.types import TurnSettings

from .exits import DONE as DONE
from .exits import FAILED as FAILED
from .exits import INTERRUPTED as INTERRUPTED
from .exits import UNMEASURED as UNMEASURED

if TYPE_CHECKING:
    from fdbcore.analysis.corpus import Call, Run

FEWEST_COLUMNS, MOST_COLUMNS = 60, 130
SCREEN_COLUMNS: Final = 100
MOST_LINES: Final = 20
"""At most this many failures are printed, and at most this many sessions get a line each."""


def named(text: str) -> str:
    """Return `text` if it can be a path. Raises BadParameter for an address or an empty text (the current folder)."""
    if not text:
        raise click.BadParameter("expected a path, got an empty text: is a variable not set?")
    if re.match(r"[a-zA-Z][\w+.-]*://", text) and not os.path.exists(text):
        raise click.BadParameter(f"expected a path, got the address {text}: download it first")
    if text and not os.path.realpath(text).startswith(("/dev/", "/proc/")) and stat.S_ISFIFO(_mode(text)):
        raise click.BadParameter(f"expected a file or folder, got the pipe {text}, which may never end")
    return text


def each_named(context: click.Context, parameter: click.Parameter, value: Any) -> Any:  # noqa: ANN401
    """The callback of a path, or of several, that settings may follow; see `named`."""
    for text in [value] if isinstance(value, str) else value or ():
        named(text)
    return value


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


class _NamedPath(click.Path):
    """A click parameter for a path, checked by `named`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        return super().convert(named(value) if isinstance(value, str) else value, param, ctx)


class _Written(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click alone
    """A number, as `runtime.numbers` reads it: click also takes `1_0`, `nan` and `1e999`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        try:
            read = whole_of if isinstance(self, click.IntRange) else number_of
            return super().convert(read(value) if isinstance(value, str) else value, param, ctx)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def _describe_range(self) -> str:
        return ""  # the range that --help adds to a number; the error says it


class Whole(_Written, click.IntRange):
    """A whole number, perhaps in a range."""


class Number(_Written, click.FloatRange):
    """A finite number, perhaps in a range."""


FILE: Final = _NamedPath(path_type=Path)
CALL: Final = _NamedPath(path_type=Path, readable=False)
"""One of several inputs. Its readability is checked later, so that one unreadable file stops no other."""


def each_once(context: click.Context, parameter: click.Parameter, value: Sequence[Path]) -> Sequence[Path]:
    """The callback of paths that are scored together: none of them counts twice, however it is spelled."""
    from fdbcore.sources.names import real_path

    found: dict[Path, Path] = {}
    for path in value:
        if real_path(path) in found:
            click.echo(f"fdbcore {context.info_name}: {path}: named twice, counted once", err=True)
        found.setdefault(real_path(path), path)
    return tuple(found.values())


def _state_prices(context: click.Context, parameter: click.Parameter, file: Path | None) -> None:
    """Let the prices in a file hold until the command ends. Raises UsageError for a file of another form."""
    from fdbcore.models.model_table import stated_prices

    if file is not None:
        try:
            context.with_resource(stated_prices(file))
        except SettingsError as error:
            raise click.UsageError(f"--price: {error}") from None


price = click.option("--price", type=FILE, metavar="FILE", callback=_state_prices, expose_value=False, help="Prices of "
                     "yours (TOML, docs/costs.md), before list prices.")  # fmt: skip
changes = click.option(
    "--set", "changes", multiple=True, metavar="KEY=MS", help="Change a setting of the turn detector, in milliseconds."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
quiet = click.option("--quiet", is_flag=True, help="Print neither progress nor results.")


def _utc(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """A time as meta.json has it: in UTC, in ISO 8601 to the millisecond; "" without one."""
    if value is None:
        return ""
    try:
        given = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"expected a time such as 2026-11-20 or 2026-11-20T03:00, got {value!r}") from None
    given = given if given.tzinfo else given.replace(tzinfo=UTC)
    return given.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


since = click.option("--since", metavar="TIME", callback=_utc, help="Take calls made before TIME (UTC, such as "
                     "2026-11-20) from the table of the run, and look at the files of later calls alone.")  # fmt: skip


def read_run(path: Path, since: str = "") -> "Run":
    """The run in a folder that the user named. Raises InputError if it is not a run: the argument is wrong.

    since: see `Run`.
    """
    from fdbcore.analysis.corpus import Run
    from fdbcore.recording.run import is_recorded

    try:
        return Run(path, since=since)
    except RecordingError as error:
        if is_recorded(path):  # it is damaged
            raise
        raise InputError(str(error)) from error


def tell_damaged(command: str, calls: Iterable["Call"]) -> int:
    """Print which of these calls have damaged files; FAILED if one counts nowhere for that."""
    calls = [call for call in calls if call.is_unreadable or call.damaged_beside]
    lines = [line for call in calls for line in call.damaged_beside or [str(call.reason)]]
    for line in lines[:MOST_LINES]:
        click.echo(f"{command}: {line}", err=True)
    if len(lines) > MOST_LINES:
        click.echo(f"{command}: {len(lines) - MOST_LINES:,} more files are damaged", err=True)
    return FAILED if any(call.is_unreadable for call in calls) else DONE


def agent_log(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for agents' own logs."""
    log = click.option("--agent-log", "marks", type=FILE, metavar="PATH", help="The agent's own log: JSONL, OTLP, "
                       "LiveKit, Pipecat or Vapi. For several calls, a folder or a pattern of logs, joined by their "
                       "names.")  # fmt: skip
    offset = click.option(
        "--agent-log-offset-ms",
        "marks_offset_ms",
        type=Number(-1e14, 1e14),
        help="Add this to the times of the log (default: estimated).",
    )
    session = click.option("--agent-log-session", "marks_session", metavar="TEXT", help="Only entries of the log that "
                           "hold this, such as a call's id.")  # fmt: skip
    return log(offset(session(command)))


def columns() -> int:
    """Width of a table in columns: that of the terminal, kept between 60 and 130; 80 without a terminal."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, FEWEST_COLUMNS), MOST_COLUMNS)


def screen_columns() -> int:
    """Width of a printed report in columns: that of the terminal, at most 100; 100 without a terminal."""
    return min(shutil.get_terminal_size((SCREEN_COLUMNS, 24)).columns, SCREEN_COLUMNS)


def changed_settings(changes: Sequence[str]) -> dict[str, int]:
    """Parse `key=milliseconds` changes of the turn detector's settings. Raises SettingsError for a bad one."""
    values: dict[str, int] = {}
    for change in changes:
        key, _, value = change.partition("=")
        if key not in TurnSettings.__slots__:
            expected = f"NAME=milliseconds, NAME one of {', '.join(TurnSettings.__slots__)}"
            raise SettingsError(f"--set {change}: expected {expected}{nearest(key, TurnSettings.__slots__)}")
        if not re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
            raise SettingsError(f"--set {change}: expected milliseconds as a whole number, 0 or more, got {value!r}")
        if key in values:
            raise SettingsError(f"--set {change}: expected each setting once, got {key} again")
        values[key] = int(value)
    with told_as("--set", ""):
        TurnSettings(**values)
    return values


def turn_settings(changes: Sequence[str]) -> TurnSettings:
    """The default settings with `changes` applied; see `changed_settings`."""
    return TurnSettings(**changed_settings(changes))


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
