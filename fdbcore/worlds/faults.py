"""Faults that a world plants into what its tools give: by the number of a call, or by the name of a tool."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fdbcore.runtime.address import Setting

ERROR: Final = {"status": "error", "message": "the service is not available"}
"""The result of a tool that fails."""

_FAULT: Final = re.compile(r"(error|malformed|timeout)@(?:([1-9]\d{0,3})|([A-Za-z_][\w-]{0,63}))", re.ASCII)


class PlantedFaults:
    """The faults of one conversation: "error@2,timeout@book_flight" is one of call 2, and one of each book_flight.

    error: the tool does nothing, and gives an error object. malformed: it does its work, and gives the first half of
    its result's JSON, as a text. timeout: it does nothing, and never answers. Calls are counted from 1; those that no
    tool takes (an unknown name, arguments that do not fit) do not count. Of two faults the first one holds.
    """

    def __init__(self, text: str) -> None:
        self._faults = [match.groups() for match in map(_FAULT.fullmatch, text.split(",")) if match]
        self._calls = 0

    async def answer(self, name: str, answer: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """The result of a call of the tool `name`; `answer` lets the tool work. TimeoutError if it never answers."""
        self._calls += 1
        kinds = [kind for kind, number, tool in self._faults if tool == name or number == str(self._calls)]
        kind = kinds[0] if kinds else ""
        if kind == "timeout":
            raise TimeoutError
        if kind == "error":
            return dict(ERROR)
        value = await answer()
        if kind == "malformed":
            text = json.dumps(value, ensure_ascii=False)
            return text[: len(text) // 2]
        return value


def _are_faults(text: str) -> bool:
    return all(_FAULT.fullmatch(each) for each in text.split(","))


FAULTS: Final = Setting(
    "faults",
    "faults that are planted: of the call of that number, or of all calls of that tool",
    default="",
    form="error@, malformed@ or timeout@ with the number of a call or the name of a tool, with commas between",
    fits=_are_faults,
)
