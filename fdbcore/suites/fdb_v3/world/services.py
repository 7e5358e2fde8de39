"""The services behind the tools: what the calls of one conversation have changed in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Changed: TypeAlias = dict[str, dict[str, Any]]
"""Tables by name, each with its values by key."""


class ToolServices:
    """Functions that answer at once, always alike, and the tables that they write.

    Each public method of a class of these is a tool: its docstring is what a system is told of it.
    """

    def __init__(self) -> None:
        self._changed: Changed = {}

    def _write(self, table: str, key: str, value: Any) -> None:  # noqa: ANN401
        self._changed.setdefault(table, {})[key] = value

    def _count(self, table: str, key: str, more: int = 1) -> None:
        self._write(table, key, self._changed.get(table, {}).get(key, 0) + more)


def functions_of(services: ToolServices) -> Mapping[str, Callable[..., Any]]:
    """The tools by name."""
    return {name: getattr(services, name) for name in vars(type(services)) if not name.startswith("_")}


def changed_in(services: ToolServices) -> Changed:
    """All that its calls have written."""
    return services._changed
