"""JSON values that others sent: read so that they can be written again, and looked up by references."""

import json
import math
import re
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

MOST_DEPTH: Final = 32
"""Of a value that is sent on: a world's, a model's, a tool's."""
_MOST_DEPTH_OF_A_FILE: Final = 100  # a recording holds values that were sent on, in what it says of them

_REFERS: Final = "$RESULT_"
_REFERENCE: Final = re.compile(r"\$RESULT_(\d{1,9})((?:\.[\w-]+|\[\d{1,9}\])*)", re.ASCII)
_STEP: Final = re.compile(r"\.([\w-]+)|\[(\d+)\]", re.ASCII)


def parsed_json(text: str | bytes) -> Any:  # noqa: ANN401
    """The JSON value in a text of somebody else; ValueError if the text holds none, or NaN, a number beyond
    those of float (1e999), or a value that is nested so deep that code which walks through it would fail.
    """
    text = text if isinstance(text, str) else text.decode("utf-8-sig")
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        value = None
    else:
        # Few texts have so many brackets that the depth of their values must be looked at.
        if text.count("[") + text.count("{") <= _MOST_DEPTH_OF_A_FILE or is_flat(value, _MOST_DEPTH_OF_A_FILE):
            return value
    raise ValueError("it is nested too deep")


def json_value(text: str | bytes) -> Any:  # noqa: ANN401
    """The JSON value in a text that can be written as JSON again; ValueError if the text holds none.

    JSON may hold half a surrogate pair, which is not text. Values deeper than MOST_DEPTH are refused too.
    """
    value = parsed_json(text)
    if not _is_sound(value, MOST_DEPTH):
        raise ValueError(f"it is nested deeper than {MOST_DEPTH}, or holds text that is not valid")
    return value


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text as `json_value` reads it; None if it holds none."""
    try:
        value = json_value(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def json_or_text(text: str) -> Any:  # noqa: ANN401
    """The JSON value in a text as `json_value` reads it; the text itself if it holds none."""
    try:
        return json_value(text)
    except ValueError:
        return text


def resolved(value: Any, results: Sequence[Any]) -> Any:  # noqa: ANN401
    """A JSON value with the values of earlier results in place of references such as "$RESULT_0.flights[0].id".

    results: by number, from 0. A text that refers to nothing stays as it is.
    """
    if isinstance(value, dict):
        return {name: resolved(item, results) for name, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, results) for item in value]
    if not isinstance(value, str) or not (reference := _REFERENCE.fullmatch(value)):
        return value
    try:
        found = results[int(reference[1])]
        for name, index in _STEP.findall(reference[2]):
            found = found[name] if name else found[int(index)]
    except (LookupError, TypeError):
        return value
    return found


def refers_to_nothing(value: Any, n_results: int) -> str | None:  # noqa: ANN401
    """The first text of a JSON value that looks like a reference, and can be none to `n_results` results; else None."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return next(filter(None, (refers_to_nothing(item, n_results) for item in items)), None)
    if not isinstance(value, str) or not value.startswith(_REFERS):
        return None
    reference = _REFERENCE.fullmatch(value)
    return None if reference and int(reference[1]) < n_results else value


def _refuse(constant: str) -> None:  # json.loads takes NaN and Infinity unless this callback refuses them
    raise ValueError(f"{constant} is no JSON")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number[:20]} is beyond all numbers")
    return value


def _whole(number: str) -> int:
    if len(number) > sys.float_info.max_10_exp:
        _finite(number)  # any computation makes a float of it
    return int(number)


def is_flat(value: object, depth: int) -> bool:
    """True if the lists and objects of a value are nested no deeper than `depth`."""
    inner = [value]
    for _ in range(depth + 1):
        nested = [item.values() if isinstance(item, dict) else item for item in inner if isinstance(item, list | dict)]
        if not nested:
            return True
        inner = list(chain.from_iterable(nested))
    return False


def _is_sound(value: object, depth: int) -> bool:
    """True if a JSON value can be written again: it is not too deep, and all text is valid."""
    if isinstance(value, str):
        return value.isascii() or value.encode(errors="replace").decode() == value
    if isinstance(value, list | dict):
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and all(_is_sound(item, depth - 1) for item in inner)
    return True
