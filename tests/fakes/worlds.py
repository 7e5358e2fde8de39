"""A world with a state, as a benchmark would bring it, and a party that calls tools at given ticks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from fakes.parties import Caller
from fakes.plugin import plugin
from fakes.stranger_suite import Answers

from fdbcore.protocols import World
from fdbcore.types import SideA
from fdbcore.types.tools import Tool, ToolCall, ToolResult

ITEM: Final = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "count": {"type": "integer", "default": 1}},
    "required": ["item"],
    "additionalProperties": False,
}
NOTHING: Final = {"type": "object", "properties": {}}


class Shop(World):
    """A basket. latencies_ticks: of the calls, in their order; then 0.

    add: gives how many items it holds. wait: sleeps for an hour. fail: raises. odd: gives what is no JSON.
    """

    def __init__(self, latencies_ticks: Sequence[int] = (), timeout_s: float = 30.0) -> None:
        names: dict[str, Mapping[str, Any]] = {
            "add": ITEM,
            "basket": NOTHING,
            "wait": NOTHING,
            "fail": NOTHING,
            "odd": NOTHING,
            "big": NOTHING,
        }
        self.tools = [Tool(name, f"To {name}.", schema) for name, schema in names.items()]
        self.timeout_s = timeout_s
        self.basket: dict[str, int] = {}
        self.closed = False
        self._latencies_ticks = latencies_ticks

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        return self._latencies_ticks[earlier] if earlier < len(self._latencies_ticks) else 0

    async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name == "add":
            self.basket[arguments["item"]] = self.basket.get(arguments["item"], 0) + arguments.get("count", 1)
            return {"items": [{"name": item, "count": count} for item, count in self.basket.items()]}
        if name == "wait":
            await asyncio.sleep(3600)
        if name == "fail":
            raise ValueError("sold\nout")
        results = {"odd": {"a", "set"}, "big": "x" * 300_000}
        return results.get(name, self.basket)  # its own: nobody may be harmed when it changes later

    def state(self) -> Any:
        return self.basket

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "shop", "functions": [tool.to_json() for tool in self.tools]}

    def close(self) -> None:
        self.closed = True


def shop(address: str) -> Shop:
    """The shop at "shop:TICKS,TICKS,..."."""
    return Shop([int(ticks) for ticks in address.partition(":")[2].split(",") if ticks])


class Shopping(Answers):
    """A benchmark whose systems shop."""

    name = "shopping"

    def side_a(self, data: str) -> SideA:
        return replace(super().side_a(data), world="shop:20,5")


SUITE: Final = Shopping()


def install(path: Path) -> Path:
    """Make a folder that, on the path of imports, brings the benchmark and its world; return it."""
    entries = "[fdbcore.suites]\nshopping = fakes.worlds:SUITE\n[fdbcore.worlds]\nshop = fakes.worlds:shop\n"
    return plugin(path, "shop", entries)


class Customer(Caller):
    """Does with calls what `does` says, by tick, and keeps the results."""

    def __init__(self, does: Mapping[int, Sequence[ToolCall]], n_ticks: int) -> None:
        super().__init__([20 <= tick < 60 for tick in range(n_ticks)])
        self._does = does
        self._tick = -1
        self.tools: Sequence[Tool] = ()
        self.results: list[tuple[int, ToolResult]] = []

    def take_tools(self, tools: Sequence[Tool]) -> None:
        self.tools = tools

    def tool_calls(self) -> Sequence[ToolCall]:
        self._tick += 1
        return self._does.get(self._tick, ())

    def take_result(self, tick: int, result: ToolResult) -> None:
        self.results.append((tick, result))


def call(number: str, name: str, arguments: Any = None) -> ToolCall:
    return ToolCall("complete", number, name, {} if arguments is None else arguments)
