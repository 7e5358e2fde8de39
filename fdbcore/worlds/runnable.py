"""A tool with what runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fdbcore.types.tools import Tool


@dataclass(frozen=True, slots=True)
class Runnable:
    """A tool, and what it does with its arguments. is_async: `run` gives a coroutine, which may run beside others."""

    tool: Tool
    run: Callable[[Mapping[str, Any]], Any]
    is_async: bool
