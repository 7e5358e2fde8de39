"""Checks a value, as TOML or JSON gives it, against a type of its tables: each misfit is one line."""

import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct, UnsetType, structs

from fdbcore.errors import nearest
from fdbcore.types import Problem

_WORDS: Final[Mapping[Any, str]] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_PLURALS: Final[Mapping[Any, str]] = {int: "whole numbers", float: "numbers", bool: "flags"}
_SHOWN_CHARACTERS: Final = 60


def misfits(value: object, expected: Any, where: str) -> Iterator[Problem]:  # noqa: ANN401
    """Problems that keep `value` from being of the type `expected`: typed dictionaries, Structs, lists, literals,
    texts, numbers and flags; of a dictionary whose values have no type, any table does.

    Texts and lists may not be empty. where: the place of `value` in messages, such as "FILE: ID: goal 2".
    """
    if expected is Any:
        return
    if _is_of_tables(expected):
        yield from _table(value, expected, where)
    elif get_origin(expected) in (list, tuple):
        yield from _list(value, get_args(expected)[0], where)
    elif get_origin(expected) is dict:
        if not isinstance(value, dict):
            yield unexpected(where, "a table", value)
    elif get_origin(expected) is Literal:
        if value not in get_args(expected):
            yield unexpected(where, f"one of {', '.join(get_args(expected))}", value)
    elif not _fits(value, expected):
        yield unexpected(where, _WORDS[expected], value)


def without_empty(value: Any, untouched: Collection[str] = ()) -> Any:  # noqa: ANN401
    """A JSON value without the fields whose value is null, a blank text, or an empty list, in nested ones too.

    untouched: names of fields whose values stay as they are.
    """
    if isinstance(value, list):
        return [without_empty(item, untouched) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item if name in untouched else without_empty(item, untouched)
        for name, item in value.items()
        if name in untouched or (item is not None and item != [] and not (isinstance(item, str) and not item.strip()))
    }


def known_part(value: Any, expected: Any) -> Any:  # noqa: ANN401
    """A JSON value without the fields that the type `expected` does not have, in nested ones too."""
    if is_typeddict(expected) and isinstance(value, dict):
        return {name: known_part(value[name], kind) for name, (kind, _) in _fields(expected).items() if name in value}
    if get_origin(expected) is list and isinstance(value, list):
        return [known_part(item, get_args(expected)[0]) for item in value]
    return value


def unknown_fields(value: Any, expected: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The dotted names of the fields that `known_part` leaves out; those of the items of a list are named alike."""
    if is_typeddict(expected) and isinstance(value, dict):
        fields = _fields(expected)
        for name, item in value.items():
            if name in fields:
                yield from unknown_fields(item, fields[name][0], f"{path}{name}.")
            else:
                yield f"{path}{name}"
    elif get_origin(expected) is list and isinstance(value, list):
        for item in value:
            yield from unknown_fields(item, get_args(expected)[0], path)


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
        yield unexpected(where, f"a list of {_several(item)}", value)
        return
    for number, each in enumerate(value, 1):
        has_id = isinstance(each, dict) and isinstance(each.get("id"), str) and each["id"]
        yield from misfits(each, item, f"{where.rpartition(': ')[0]}: {each['id']}" if has_id else f"{where} {number}")


def _fits(value: object, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str) and bool(value.strip())
    if kind is bool:
        return isinstance(value, bool)
    kinds = (int,) if kind is int else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _several(kind: Any) -> str:  # noqa: ANN401
    if get_origin(kind) in (list, tuple):
        return f"lists of {_several(get_args(kind)[0])}"
    return "tables" if _is_of_tables(kind) else _PLURALS.get(kind, "texts")


def _is_of_tables(kind: Any) -> bool:  # noqa: ANN401
    return is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, Struct))


@cache
def _fields(expected: Any) -> dict[str, tuple[Any, bool]]:  # noqa: ANN401
    """The type of each field, and whether it is required.

    `__required_keys__` does not know that: with postponed annotations, it has those of NotRequired too.
    """
    if not is_typeddict(expected):
        return {each.encode_name: (_set(each.type), each.required) for each in structs.fields(expected)}
    hints = get_type_hints(expected, include_extras=True)
    return {
        name: (get_args(kind)[0], False) if get_origin(kind) is NotRequired else (kind, True)
        for name, kind in hints.items()
    }


def _set(kind: Any) -> Any:  # noqa: ANN401
    """The type of a field that may be left out (`X | UnsetType`), where it is not."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return next(each for each in kinds if each is not UnsetType)
