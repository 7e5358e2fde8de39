"""The tools of a run: opened once to plan it, and again for each call."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from fdbcore.errors import SettingsError
from fdbcore.protocols import World
from fdbcore.registry import world


@dataclass(frozen=True, slots=True)
class PlannedTools:
    """The address of what answers tool calls, and its description when the run was planned."""

    address: str
    described: Mapping[str, Any]


@contextmanager
def opened_tools(address: str) -> Iterator[World]:
    """The world for tool calls at an address, until the block is left. SettingsError if its tools cannot be used."""
    with closing(world(address)) as opened:
        opened.open()
        yield opened


@contextmanager
def same_tools(planned: PlannedTools) -> Iterator[World]:
    """As `opened_tools`. SettingsError if they are not what they were when the run was planned."""
    with opened_tools(planned.address) as opened:
        if opened.describe() != planned.described:
            raise SettingsError("tools: expected those that the run began with, but they have changed meanwhile")
        yield opened
