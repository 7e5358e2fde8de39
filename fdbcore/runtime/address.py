"""Parses addresses of parties, models and speakers, and their settings: KIND:PLACE?NAME=VALUE&NAME=VALUE.

PLACE is a name, a file, or //HOST:PORT/PATH. The settings of a command stand before it: KIND:NAME=VALUE COMMAND
ARGUMENT ... An address never holds a secret: `key_variable` names the environment variable that does.
"""

import math
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from fdbcore.errors import SettingsError, nearest
from fdbcore.runtime import texts
from fdbcore.runtime.numbers import number_of, whole_of

_READERS: Mapping[type, Callable[[str], Any]] = {str: str, int: whole_of, float: number_of}
_FLAGS: Mapping[str, bool] = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of an address, or of a table in a file.

    meaning: what it means, for the docs. kind: str, int, float or bool ("true", "false"). default: its value if it is
    not given; None and "" mean no value, which the docs show as `unset`. least, most: the range of a number, both
    included. step: a whole number must be a multiple of it. choices: the texts that are allowed. form: what a text must
    look like, in words; `fits` checks it.
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
        """The allowed values, in words."""
        if self.choices:
            named = [choice for choice in self.choices if choice]
            return " or ".join(named) if len(named) < 3 else f"one of {', '.join(named)}"
        if self.kind in (str, bool):
            return self.form if self.kind is str else "true or false"
        whole = "a whole number" if self.step == 1 else f"a multiple of {self.step}"
        number = whole if self.kind is int else "a number"
        if math.isinf(self.least):
            return number
        if math.isinf(self.most):
            return f"{number} of at least {self.least:g}"
        return f"{number} from {self.least:g} to {self.most:.10g}"

    def read(self, where: str, text: str) -> Any:  # noqa: ANN401
        """The value that `text` stands for. SettingsError if it is not valid. where: the kind of the address."""
        if self.kind is bool and text in _FLAGS:
            return _FLAGS[text]
        with suppress(ValueError, KeyError):
            value = _READERS[self.kind](text)
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
        """True if a value of its kind is one of its choices, of its form, or in its range."""
        if self.choices:
            return str(value) in self.choices
        if self.kind is str:
            return self.fits(value)
        in_range: bool = self.least <= value <= self.most and abs(value) <= sys.float_info.max
        return in_range and (self.kind is not int or value % self.step == 0)

    def _error(self, where: str, got: object) -> SettingsError:
        return SettingsError(f"{where}: {self.name}: expected {self.expected}, got {got!r}")


KEY_VARIABLE = Setting(
    "key_variable", "the variable of the environment, or of `.env`, with the secret that this server is sent",
    form="the name of a variable",
)  # fmt: skip


class Address(NamedTuple):
    """The parts of an address. settings: all known settings by name; those not given have their defaults."""

    kind: str
    place: str
    settings: dict[str, Any]


def parsed(address: str, known: Sequence[Setting], *, file: bool = False) -> Address:
    """The parts of KIND:PLACE?NAME=VALUE&...

    file: PLACE is a file, whose name may hold "?"; it ends at the last "?" and not at the first. SettingsError for a
    setting that is not `known` or stands there twice, and for a value that is not valid.
    """
    kind, _, rest = address.partition(":")
    place, query = split_query(rest, file=file)
    return Address(kind, place, values(kind, query_of(query), known))


def split_query(text: str, *, file: bool = False) -> tuple[str, str]:
    """The text before and after the "?". file: split at the last "?", because the name of a file may hold others."""
    place, mark, query = text.rpartition("?") if file else text.partition("?")
    return (place, query) if mark else (text, "")


def query_of(query: str) -> dict[str, str]:
    """The names and values of a URL query, %-escapes decoded. SettingsError for a name that stands there twice."""
    return _once(parse_qsl(query, keep_blank_values=True))


def _once(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in given:
        if name in found:
            raise SettingsError(f"{name}: expected it once, got it twice")
        found[name] = value
    return found


def values(kind: str, given: Mapping[str, str], known: Sequence[Setting]) -> dict[str, Any]:
    """The values of all known settings: as given (in text), else the default. SettingsError as in `parsed`."""
    return _values(kind, given, known, Setting.read)


def typed_values(where: str, given: Mapping[str, object], known: Sequence[Setting]) -> dict[str, Any]:
    """The values of all known settings: as given in a table of the file or place `where`, else the default.

    SettingsError as in `parsed`.
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


def text_of(value: str) -> str:
    """The text that a setting stands for: "@FILE" is the text in a file. SettingsError if that cannot be read."""
    if not value.startswith("@"):
        return value
    return texts.text_of(Path(value[1:])).strip()


def command_of(address: str, known: Sequence[Setting]) -> tuple[list[str], dict[str, Any]]:
    """The words of the command in "KIND:NAME=VALUE ... COMMAND ARGUMENT ...", and its settings.

    The words are split as a shell splits them. SettingsError for wrong settings, or if there is no command.
    """
    kind, _, rest = address.partition(":")
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise SettingsError(f"{kind}: expected {kind}:COMMAND, got: {error}") from None
    names = tuple(f"{setting.name}=" for setting in known)
    given: list[tuple[str, str]] = []
    while words and words[0].startswith(names):
        name, _, value = words.pop(0).partition("=")
        given.append((name, value))
    if not words:
        raise SettingsError(f"{kind}: expected {kind}:COMMAND, got {address!r}")
    return words, values(kind, _once(given), known)


def location(address: str, form: str, *, user: bool = False) -> SplitResult:
    """The parts of KIND://HOST:PORT/PATH?QUERY without the kind. user: it may hold a user name and a password.

    form: the expected form, for the SettingsError. The error does not show the address: what looks like a wrong port
    may be a password.
    """
    kind, _, rest = address.partition(":")
    try:
        parts = urlsplit(rest)
        known = rest.startswith("//") and not parts.fragment and (user or parts.username is None)
        if known and parts.port != -1:  # reading `port` raises ValueError if it is not a number
            return parts
    except ValueError:
        pass
    raise SettingsError(f"{kind}: expected {form}")


def host_port(host: str, port: int | None) -> str:
    """HOST:PORT as an address writes it, with an IPv6 host in brackets; HOST alone if there is no port."""
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def is_loopback(host: str | None) -> bool:
    """True if a host name or address can only be this machine."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


_LOCAL_DOMAINS: Final = ("localhost", "local", "internal", "home.arpa")


def is_local(host: str) -> bool:
    """True if a host is this machine or in a private network, as far as its name or IP address shows.

    No name is looked up. A name without a dot is local. 0.0.0.0 and :: are not: whoever reaches this machine is there.
    """
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        name = host.lower().rstrip(".")
        return "." not in name or any(name.endswith(f".{domain}") for domain in _LOCAL_DOMAINS)
    return not (address.is_global or address.is_unspecified or address.is_multicast)
