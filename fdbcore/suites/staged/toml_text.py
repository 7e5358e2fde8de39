"""Writes scenarios as TOML, in the form of files that people write: a block for each scenario and goal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def toml_text(table: Mapping[str, Any], path: str = "") -> str:
    """A table of texts, numbers, lists of those, tables and lists of tables. path: its own name in the document.

    The standard library reads TOML, and does not write it.
    """
    return "\n".join(_lines(table, path)) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    below = {name: value for name, value in table.items() if _has_tables(value)}
    yield from (f"{name} = {_value(value)}" for name, value in table.items() if name not in below)
    for name, value in below.items():
        inner = f"{path}.{name}" if path else name
        for each in value if isinstance(value, list) else [value]:
            yield from ["", f"[[{inner}]]" if isinstance(value, list) else f"[{inner}]", *_lines(each, inner)]


def _has_tables(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _value(value: object) -> str:
    """JSON's texts, numbers and lists are TOML's, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
