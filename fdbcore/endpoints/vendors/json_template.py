"""Messages of a declared protocol: JSON with placeholders, and places of values in the messages that come.

    {"type": "pong", "event_id": "{message.ping_event.event_id}"}

A text that is one placeholder becomes its value, of whatever type. Left out are texts with a placeholder that has no
value, and objects and lists with placeholders of which none has one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fdbcore.errors import SettingsError
from fdbcore.runtime.json_values import json_value

FROM_MESSAGE: Final = "message."
"""Placeholders that begin so stand for a value of the message that is answered."""

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w.-]*)\}", re.ASCII)
_LEFT_OUT: Final = object()


class JsonTemplate:
    """One message. names: its placeholders. SettingsError, at `where`, if the text is no JSON object."""

    def __init__(self, text: str, where: str) -> None:
        try:
            self._value = json_value(text)
        except ValueError as error:
            raise SettingsError(f"{where}: expected a JSON object, got: {error}") from None
        if not isinstance(self._value, dict):
            raise SettingsError(f"{where}: expected a JSON object, got {text.strip()[:40]!r}")
        self.names = frozenset(_names(self._value))

    def filled(self, values: Mapping[str, Any], message: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The message. values: of placeholders, None for one without. message: the one that is answered."""
        found = dict(values)
        for name in self.names:
            if name.startswith(FROM_MESSAGE):
                found[name] = at(message, name.removeprefix(FROM_MESSAGE))
        return {name: kept for name, each in self._value.items() if (kept := _filled(each, found)) is not _LEFT_OUT}


def at(value: object, place: str) -> Any:  # noqa: ANN401
    """The value at a place such as "audio_event.event_id" of an object; None if there is none."""
    for name in place.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def needed(value: object, place: str) -> Any:  # noqa: ANN401
    """As `at`. LookupError if there is no value."""
    if (found := at(value, place)) is None:
        raise LookupError(place)
    return found


def placeholders(text: str) -> list[str]:
    """The names of the placeholders in a text."""
    return _PLACEHOLDER.findall(text)


def text_with(text: str, values: Mapping[str, str]) -> str:
    """A text with the values of its placeholders. KeyError for one without."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from placeholders(value)
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _names(each)


def _filled(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    has_value = [values[name] is not None for name in _names(value)]
    if isinstance(value, str) and all(has_value):
        if _PLACEHOLDER.fullmatch(value):
            return values[value[1:-1]]
        return text_with(value, {name: _text(values[name]) for name in placeholders(value)})
    if (has_value and not any(has_value)) or isinstance(value, str):
        return _LEFT_OUT
    if isinstance(value, list):
        return [kept for each in value if (kept := _filled(each, values)) is not _LEFT_OUT]
    if isinstance(value, dict):
        return {name: kept for name, each in value.items() if (kept := _filled(each, values)) is not _LEFT_OUT}
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
