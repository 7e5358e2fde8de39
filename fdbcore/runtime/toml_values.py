"""TOML that users write, read so that whatever is wrong with it is one error."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from fdbcore.runtime.json_values import MOST_DEPTH

_MOST_DOTS: Final = 1_000


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
