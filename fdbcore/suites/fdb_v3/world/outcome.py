"""What calls do to the services: their results, the state in which they leave the world, and how states differ.

References such as "$RESULT_0.flights[0].flight_id" are resolved here. The published measures never resolve them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from fdbcore.runtime.json_values import resolved
from fdbcore.suites.fdb_v3.world.services import Changed, ReleasedServices, changed_in, functions_of

ANY: Final = "$ANY"
"""An argument whose value no label says: every value is right."""
_FRACTION: Final = re.compile(r"-?(0|[1-9]\d*)\.\d+", re.ASCII)


class FunctionCall(NamedTuple):
    """A function by name, and its arguments."""

    function: str
    args: Mapping[str, Any]


class CallsOutcome(NamedTuple):
    """The calls with their references resolved, their results in order, and the state of the services after them.

    The result of a call that the services refuse is None.
    """

    calls: list[FunctionCall]
    results: list[Any]
    state: Changed


def outcome(calls: Iterable[FunctionCall], resolves: bool = True) -> CallsOutcome:
    """Make the calls one after the other in a new world of the released functions.

    resolves: whether references are resolved; those of a system, which has to send values, are not.
    """
    services = ReleasedServices()
    functions = functions_of(services)
    made: list[FunctionCall] = []
    results: list[Any] = []
    for function, args in calls:
        call = FunctionCall(function, resolved(dict(args), results) if resolves else dict(args))
        made.append(call)
        try:
            results.append(functions[function](**_possible(call.args, functions[function].__annotations__)))
        except (LookupError, TypeError, ArithmeticError):
            results.append(None)
    return CallsOutcome(made, results, changed_in(services))


def _possible(args: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """The arguments with 0 for each number that may have any value."""
    numbers = {name for name, kind in types.items() if kind.startswith(("int", "float"))}
    return {name: 0 if value == ANY and name in numbers else value for name, value in args.items()}


def state_differences(expected: Changed, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What differs between the state that is expected and that of a conversation: a line each; empty if nothing does.

    Keys and values are compared by `plain_value`. ANY is the same as each key and each value.
    """
    lines = []
    for table in [*expected, *(name for name in found if name not in expected)]:
        wanted, left = _read(expected.get(table, {})), _read(found.get(table, {}))
        for key in sorted(wanted, key=lambda key: key == plain_value(ANY)):
            got = key if key in left else next(iter(left), None) if key == plain_value(ANY) else None
            value = None if got is None else left.pop(got)
            if value is None or wanted[key] not in (value, plain_value(ANY)):
                lines.append(f"{table}: expected {key} = {wanted[key]}, got {'none' if value is None else value}")
        lines += [f"{table}: expected no {key}, got {value}" for key, value in left.items()]
    return lines


def _read(table: Mapping[str, Any]) -> dict[str, str]:
    return {plain_value(key): plain_value(value) for key, value in table.items()}


def plain_value(value: object) -> str:
    """A value as it is compared: without case, outer spaces, and underscores for spaces; a number in its plain form.

    A text is a number if people would write it so: "1800.00" is 1800. One with a zero ahead ("0042"), or with an
    exponent ("1e5"), is a name.
    """
    text = f"{Decimal(str(value)):f}" if isinstance(value, float) else str(value)
    text = text.strip().lower().replace("_", " ")
    if _FRACTION.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
