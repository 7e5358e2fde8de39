"""Typed functions of this process as a world: quick ones, which may share a state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from fdbcore.errors import MissingExtraError
from fdbcore.protocols import World
from fdbcore.runtime.address import Setting
from fdbcore.worlds.faults import FAULTS, PlantedFaults
from fdbcore.worlds.latency import LATENCY, latency_of

if TYPE_CHECKING:
    from fdbcore.worlds.runnable import Runnable

TIMEOUT: Final = Setting("timeout_s", "after which a call has failed", float, 30.0, unit="s", least=0.01, most=600)
SETTINGS: Final = (LATENCY, TIMEOUT, FAULTS)
"""Settings of every world of ours."""


class SetWorld(World):
    """A world with the settings that an address has: a latency, a time-out and faults, as they are written there."""

    def __init__(self, latency: str, timeout_s: float, faults: str) -> None:
        self.timeout_s = timeout_s
        self._latency_text, self._latency = latency, latency_of(latency)
        self._faults_text, self._faults = faults, PlantedFaults(faults)

    def open(self) -> None:
        """MissingExtraError without the package that tools need."""
        try:
            import msgspec as msgspec
        except ImportError:
            raise MissingExtraError("tools need msgspec: pip install 'fdbcore[live]'") from None

    def latency_ticks(self, name: str, earlier: int, random: Random) -> int:
        """As the profile says; the same for all tools."""
        assert self._latency is not None
        return self._latency.draw_ticks(earlier, random)

    async def do(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The result of the tool, or what a fault makes of it. InputError says what went wrong."""
        return await self._faults.answer(name, partial(self._run, name, arguments))

    @abstractmethod
    async def _run(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The result of the tool, without a fault."""

    def _described(self, **own: str) -> Mapping[str, Any]:
        """Its own fields, the settings, and the tools, as JSON values."""
        return {
            **own,
            "latency": self._latency_text,
            "timeout_s": self.timeout_s,
            **({"faults": self._faults_text} if self._faults_text else {}),
            "functions": [tool.to_json() for tool in self.tools],
        }


class FunctionWorld(SetWorld):
    """Functions with type hints and docstrings as tools. Each is called on the loop of the network: within 1 ms.

    kind: the registered name. functions: by the names of the tools; none is a coroutine. latency, faults: as the
    settings of an address have them.
    """

    def __init__(
        self,
        kind: str,
        functions: Mapping[str, Callable[..., Any]],
        latency: str = "instant",
        timeout_s: float = 30.0,
        faults: str = "",
    ) -> None:
        super().__init__(latency, timeout_s, faults)
        self._kind, self._functions = kind, functions
        self._runnables: dict[str, Runnable] = {}

    def open(self) -> None:
        """Make the schemas of the tools from the functions."""
        super().open()
        from fdbcore.worlds.functions import runnable

        self._runnables = {name: runnable(self._kind, function) for name, function in self._functions.items()}
        self.tools = tuple(each.tool for each in self._runnables.values())

    async def _run(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return self._runnables[name].run(arguments)

    def describe(self) -> Mapping[str, Any]:
        """The settings, and the tools, as JSON values."""
        return self._described(kind=self._kind)
