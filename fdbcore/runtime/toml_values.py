"""TOML that users write, read so that whatever is wrong with it is one error."""

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, NamedTuple

from fdbcore.errors import FdbError, SettingsError
from fdbcore.runtime.json_values import MOST_DEPTH
from fdbcore.runtime.whole_files import read_whole

_MOST_DOTS: Final = 1_000


class TomlFile(NamedTuple):
    """A TOML file. data: its bytes."""

    values: dict[str, Any]
    data: bytes


def read_toml(path: Path | Traversable, error: type[FdbError] = SettingsError) -> TomlFile:
    """A TOML file of a user. `error` in one line if it cannot be read, or is none."""
    try:
        data = read_whole(path)
    except OSError as refused:
        raise error(f"{path}: cannot be read: {refused.strerror}") from refused
    return TomlFile(stated_toml(data, str(path), error), data)


def stated_toml(text: str | bytes, where: str, error: type[FdbError] = SettingsError) -> dict[str, Any]:
    """The values of a TOML text of a user. `error` in one line, which names the place `where`, if it is none."""
    try:
        return toml_values(text if isinstance(text, str) else text.decode())
    except ValueError as wrong:  # not UTF-8, or not TOML; the message names the line
        raise error(f"{where}: expected TOML: {wrong}") from wrong


def shipped_toml(package: str, file: str) -> dict[str, Any]:
    """The values of a TOML file that comes with a package of ours."""
    return tomllib.loads((files(package) / file).read_text(encoding="utf-8"))


def toml_values(text: str) -> dict[str, Any]:
    """The values of a TOML text; ValueError, which says where, if it is none or is nested deeper than MOST_DEPTH."""
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):  # tomllib takes their square in time and memory
        raise ValueError(f"a line has more than {_MOST_DOTS:,} points, as of a dotted key")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        values = None
    if values is None or _is_deeper(values, MOST_DEPTH):
        raise ValueError(f"it is nested deeper than {MOST_DEPTH}")
    return values


def _is_deeper(value: object, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inner) and (not depth or any(_is_deeper(each, depth - 1) for each in inner))
