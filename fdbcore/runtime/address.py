"""Addresses of parties, models and speakers, and their settings: KIND:PLACE?NAME=VALUE&NAME=VALUE.

PLACE is a name, a file, or //HOST:PORT/PATH. A command has its settings before it: KIND:NAME=VALUE COMMAND ARGUMENT ...
A secret never stands in an address: `key_variable` names the variable of the environment that holds it.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from fdbcore.errors import SettingsError, nearest

_NUMBERS: Mapping[type, re.Pattern[str]] = {
    int: re.compile(r"-?\d+", re.ASCII),
    float: re.compile(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of an address, or of a table in a file.

    meaning: in words, for the docs. kind: str, int or float; in a file also bool. default: None or "": nothing, which
    the docs call `unset`. least, most: of a number, both allowed. step: it is a multiple of that. choices: the texts it
    may be. form: what a text must look like; `fits` tells whether it does.
    """

    name: str
    meaning: str
    kind: type = str
    default: str | float | None = None
    unset: str = "none"
    unit: str = ""
    least: float = -math.inf
    most: float = math.inf
    step: int = 1
    choices: Sequence[str] = ()
    form: str = "a text"
    fits: Callable[[str], bool] = lambda text: True

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.choices:
            named = [choice for choice in self.choices if choice]
            return " or ".join(named) if len(named) < 3 else f"one of {', '.join(named)}"
        if self.kind in (str, bool):
            return self.form if self.kind is str else "true or false"
        whole = "a whole number" if self.step == 1 else f"a multiple of {self.step}"
        number = whole if self.kind is int else "a number"
        if math.isinf(self.least):
            return number
        return f"{number} of at least {self.least:g}" if math.isinf(self.most) else self._in_range(number)

    def _in_range(self, number: str) -> str:
        return f"{number} from {self.least:g} to {self.most:.10g}"

    def read(self, where: str, text: str) -> Any:  # noqa: ANN401
        """The value that `text` gives it, in an address of the kind `where`. SettingsError if it is none."""
        number = _NUMBERS.get(self.kind)
        if number is None or number.fullmatch(text):
            value = self.kind(text)
            if self._allows(value):
                return value
        raise self._error(where, text)

    def typed(self, where: str, value: object) -> Any:  # noqa: ANN401
        """The value itself, as a file has it at the place `where`. SettingsError if this cannot be it."""
        kinds = (int, float) if self.kind is float else (self.kind,)
        if type(value) in kinds and self._allows(value):
            return value
        raise self._error(where, value)

    def _allows(self, value: Any) -> bool:  # noqa: ANN401
        """Whether a value of its kind is one of its choices, of its form, or in its range."""
        if self.choices:
            return str(value) in self.choices
        if self.kind is str:
            return self.fits(value)
        in_range: bool = self.least <= value <= self.most
        return in_range and (self.kind is not int or value % self.step == 0)

    def _error(self, where: str, got: object) -> SettingsError:
        return SettingsError(f"{where}: {self.name}: expected {self.expected}, got {got!r}")

    @property
    def shown_default(self) -> str:
        """Its default in words."""
        if self.default in (None, ""):
            return self.unset
        return f"{self.default:g} {self.unit}".rstrip() if self.kind is not str else f"`{self.default}`"


KEY_VARIABLE = Setting(
    "key_variable", "the variable of the environment, or of `.env`, with the secret that this server is sent",
    form="the name of a variable",
)  # fmt: skip


class Address(NamedTuple):
    """What an address says: `settings` by name, those that it has not with their defaults."""

    kind: str
    place: str
    settings: dict[str, Any]


def parsed(address: str, known: Sequence[Setting], *, file: bool = False) -> Address:
    """The parts of KIND:PLACE?NAME=VALUE&...; file: what is before the last "?" is the place, not before the first.

    SettingsError for a setting that is not `known`, or a value that it cannot have.
    """
    kind, _, rest = address.partition(":")
    place, query = split_query(rest, file=file)
    return Address(kind, place, values(kind, query_of(query), known))


def split_query(text: str, *, file: bool = False) -> tuple[str, str]:
    """What is before and after the "?"; file: after the last one, as a name of a file may hold others."""
    place, mark, query = text.rpartition("?") if file else text.partition("?")
    return (place, query) if mark else (text, "")


def query_of(query: str) -> dict[str, str]:
    """Names and values of a query."""
    return dict(parse_qsl(query, keep_blank_values=True))


def values(kind: str, given: Mapping[str, str] | Iterable[tuple[str, str]], known: Sequence[Setting]) -> dict[str, Any]:
    """The values of all known settings: those given as text, and defaults. SettingsError as of `parsed`."""
    return _values(kind, dict(given), known, Setting.read)


def typed_values(where: str, given: Mapping[str, object], known: Sequence[Setting]) -> dict[str, Any]:
    """The values of all known settings: those given in a table of the file or place `where`, and defaults.

    SettingsError as of `parsed`.
    """
    return _values(where, given, known, Setting.typed)


def _values(
    where: str, given: Mapping[str, Any], known: Sequence[Setting], read: Callable[[Setting, str, Any], Any]
) -> dict[str, Any]:
    settings = {setting.name: setting for setting in known}
    found: dict[str, Any] = {setting.name: setting.default for setting in known}
    for name, value in given.items():
        if name not in settings:
            expected = f"settings of {', '.join(settings)}" if settings else "no settings"
            raise SettingsError(f"{where}: expected {expected}, got {name!r}{nearest(name, settings)}")
        found[name] = read(settings[name], where, value)
    return found


def command_of(address: str, known: Sequence[Setting]) -> tuple[list[str], dict[str, Any]]:
    """The words of the command in "KIND:NAME=VALUE ... COMMAND ARGUMENT ...", split as by a shell, and its settings.

    SettingsError for wrong settings, or if no command is left.
    """
    kind, _, rest = address.partition(":")
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise SettingsError(f"{kind}: expected {kind}:COMMAND, got: {error}") from None
    names = tuple(f"{setting.name}=" for setting in known)
    given = {}
    while words and words[0].startswith(names):
        name, _, given[name] = words.pop(0).partition("=")
    if not words:
        raise SettingsError(f"{kind}: expected {kind}:COMMAND, got {address!r}")
    return words, values(kind, given, known)


def location(address: str, form: str, *, user: bool = False) -> SplitResult:
    """The parts of KIND://HOST:PORT/PATH?QUERY, the kind left out; user: it may name one, with a password.

    SettingsError, which shows nothing of the address: what was taken for a port may be a password.
    """
    kind, _, rest = address.partition(":")
    try:
        parts = urlsplit(rest)
        known = rest.startswith("//") and not parts.fragment and (user or parts.username is None)
        if known and parts.port != -1:  # it is looked at, which finds one that is no number
            return parts
    except ValueError:
        pass
    raise SettingsError(f"{kind}: expected {form}")


def host_port(host: str, port: int | None) -> str:
    """HOST:PORT as it stands in an address; HOST alone without a port."""
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def rows(parties: str, settings: Sequence[Setting]) -> list[str]:
    """Rows of a table in Markdown: parties, names of settings that are alike, default, what is expected, meaning."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in settings:
        alike.setdefault((each.shown_default, each.expected, each.meaning), []).append(f"`{each.name}`")
    cells = [(", ".join(names), *rest) for rest, names in alike.items()]
    return [f"| {' | '.join((parties if not number else '', *row))} |" for number, row in enumerate(cells)]
