"""Checks a value, as TOML or JSON gives it, against a typed dictionary: each misfit is one line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from fdbcore.errors import nearest
from fdbcore.types import Problem

_WORDS: Final[Mapping[Any, str]] = {str: "a text", int: "a whole number", float: "a number"}
_SHOWN_CHARACTERS: Final = 60


def misfits(value: object, expected: Any, where: str) -> Iterator[Problem]:  # noqa: ANN401
    """What keeps `value` from being of the type `expected`: typed dictionaries, lists, literals, texts and numbers.

    Texts and lists may not be empty. where: the place of `value` in messages, such as "FILE: ID: goal 2".
    """
    if is_typeddict(expected):
        yield from _table(value, expected, where)
    elif get_origin(expected) is list:
        yield from _list(value, get_args(expected)[0], where)
    elif get_origin(expected) is Literal:
        if value not in get_args(expected):
            yield unexpected(where, f"one of {', '.join(get_args(expected))}", value)
    elif not _fits(value, expected):
        yield unexpected(where, _WORDS[expected], value)


def unexpected(where: str, expected: str, got: object) -> Problem:
    """The problem that something else was expected at that place; what was found is shortened to one line."""
    shown = repr(got)
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
    return Problem(where, f"expected {expected}, got {shown}")


def _table(value: object, expected: Any, where: str) -> Iterator[Problem]:  # noqa: ANN401
    if not isinstance(value, dict):
        yield unexpected(where, "a table", value)
        return
    fields = _fields(expected)
    for name in value:
        if name not in fields:
            yield Problem(where, f"expected {', '.join(fields)}, got {name!r}{nearest(name, fields)}")
    if missing := [name for name, (_, is_required) in fields.items() if is_required and name not in value]:
        yield Problem(where, f"expected {', '.join(missing)}, got none")
    for name, (kind, _) in fields.items():
        if name in value:
            yield from misfits(value[name], kind, f"{where}: {name}")


def _list(value: object, item: Any, where: str) -> Iterator[Problem]:  # noqa: ANN401
    if not isinstance(value, list) or not value:
        yield unexpected(where, f"a list of {_named(item)}", value)
        return
    for number, each in enumerate(value, 1):
        has_id = isinstance(each, dict) and isinstance(each.get("id"), str) and each["id"]
        yield from misfits(each, item, f"{where.rpartition(': ')[0]}: {each['id']}" if has_id else f"{where} {number}")


def _fits(value: object, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str) and bool(value.strip())
    kinds = (int,) if kind is int else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)


def _named(kind: Any) -> str:  # noqa: ANN401
    if get_origin(kind) is list:
        return f"a list of {_named(get_args(kind)[0])}"
    return "a table" if is_typeddict(kind) else _WORDS.get(kind, "a text")


@cache
def _fields(expected: Any) -> dict[str, tuple[Any, bool]]:  # noqa: ANN401
    """The type of each field, and whether it is required.

    `__required_keys__` does not know that: with postponed annotations, it has those of NotRequired too.
    """
    hints = get_type_hints(expected, include_extras=True)
    return {
        name: (get_args(kind)[0], False) if get_origin(kind) is NotRequired else (kind, True)
        for name, kind in hints.items()
    }
