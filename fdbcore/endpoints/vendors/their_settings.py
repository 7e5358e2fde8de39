"""Settings that a vendor decides if they are not given, in the forms of addresses and servers."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from fdbcore.runtime.address import Setting

theirs = partial(Setting, unset="the vendor's")
INSTRUCTIONS: Final = theirs("instructions", "what the model is told; `@FILE` for the text in a file")


def picked(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The given ones of these settings."""
    return {name: given[name] for name in names if name in given}


def differences(asked: Mapping[str, Any], confirmed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Differences of the server's session from what was asked: of each such setting its name, asked and confirmed."""
    return [
        {"setting": ".".join(path), "asked": value, "confirmed": found}
        for path, value in _leaves(asked)
        if (found := _at(confirmed, path)) != value
    ]


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaves(item, (*path, name))
        else:
            yield (*path, name), item


def _at(value: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
