"""Which calls of a recording the released framework would have logged, and with which arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from fdbcore.suites.fdb_v3.compat.logs import LoggedCall
from fdbcore.suites.fdb_v3.world.released_services import ReleasedServices
from fdbcore.suites.fdb_v3.world.services import functions_of
from fdbcore.types import TICKS_PER_S

if TYPE_CHECKING:
    from fdbcore.measures.live_record_types import HeldToolCall

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
}
"""The types of arguments by how the functions write them."""


def logged_calls(calls: Iterable[HeldToolCall]) -> tuple[LoggedCall, ...]:
    """The calls that the framework hands to a function, in their order; times are those of complete arguments.

    It rejects a call of an unknown function, one without a required argument, and one with a value of a wrong type. It
    drops arguments that the function does not have.
    """
    return tuple(_logged(calls))


def _logged(calls: Iterable[HeldToolCall]) -> Iterator[LoggedCall]:
    functions = functions_of(ReleasedServices())
    for call in calls:
        if call["complete_tick"] is None or call["name"] not in functions or not isinstance(call["arguments"], dict):
            continue
        parameters = inspect.signature(functions[call["name"]]).parameters
        args: dict[str, Any] = {name: value for name, value in call["arguments"].items() if name in parameters}
        needed = {name for name, each in parameters.items() if each.default is each.empty}
        if needed <= args.keys() and all(_is(value, parameters[name].annotation) for name, value in args.items()):
            yield LoggedCall(call["name"], args, call["complete_tick"] / TICKS_PER_S)


def _is(value: object, annotation: str) -> bool:
    return isinstance(value, _KINDS[annotation]) and not isinstance(value, bool)
