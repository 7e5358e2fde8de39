"""Repairs of released labels: each by a rule of ours, with its reason.

An audit by others flags 22 of the 100 released records, 18 of them in housing. Two of its kinds no rule can find: a
spoken value that differs from the label (3 records), and what only a listener would notice. They stay as released.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from fdbcore.runtime import resolved
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry, RepairEntry, RepairKind
from fdbcore.suites.fdb_v3.world import ANY, FUNCTIONS, REFERENCE, outcome

_CONDITION: Final = re.compile(r"\b(if|unless)\b", re.IGNORECASE)


def repaired(released: Sequence[ExpectedCallEntry], script: str) -> tuple[list[ExpectedCallEntry], list[RepairEntry]]:
    """The expected calls as they should be, and what was changed. script: what the user was to say."""
    calls = deepcopy(list(released))
    repairs: list[RepairEntry] = []
    for number, call in enumerate(calls, 1):
        if call.function not in FUNCTIONS:
            continue
        for changes in _changes(number, call, calls, script):
            for change in changes:
                _apply(change, call.args)
            repairs += changes
        if _CONDITION.search(call.note) and not re.search(r"\d", call.note):
            calls[number - 1] = replace(call, optional=True)
            reason = f"its condition ({call.note}) names no value to compare with: right with the call, and without it"
            repairs.append(RepairEntry(kind="no_predicate", call=number, reason=reason))
    return calls, repairs


def _changes(
    number: int, call: ExpectedCallEntry, calls: Sequence[ExpectedCallEntry], script: str
) -> Iterator[list[RepairEntry]]:
    """What is to be changed, step by step: each step sees what the ones before have made of the call."""
    yield list(_arguments(number, call))
    yield list(_references(number, call, calls))
    yield list(_city(number, call, script))


def _apply(change: RepairEntry, args: dict[str, Any]) -> None:
    assert change.argument is not UNSET
    if change.after is UNSET:
        del args[change.argument]
    else:
        args[change.argument] = change.after


def _arguments(number: int, call: ExpectedCallEntry) -> Iterator[RepairEntry]:
    """Arguments that the function lacks, that the label lacks, and values of a filter that are no text."""
    function, args = call.function, call.args
    known = inspect.signature(FUNCTIONS[function]).parameters

    for name, value in args.items():
        if name not in known:
            yield _change(
                "unknown_argument", number, name, f"{function} has no {name}: no system can send it", before=value
            )
    for name, parameter in known.items():
        if name not in args and parameter.default is inspect.Parameter.empty:
            reason = f"{function} requires {name}, and the label has none: any value is right"
            yield _change("missing_argument", number, name, reason, after=ANY)
    value = args.get("value")
    if function == "update_search_filter" and isinstance(value, int | float):
        yield _change(
            "filter_type", number, "value", f"{function} takes the value as a text", value, str(value).lower()
        )


def _references(number: int, call: ExpectedCallEntry, calls: Sequence[ExpectedCallEntry]) -> Iterator[RepairEntry]:
    """References to what no result has: to the only id of that result, if an id is meant; else any value."""
    results = outcome(calls[: number - 1]).results
    for name, value in call.args.items():
        if not isinstance(value, str) or not value.startswith("$") or value == ANY or resolved(value, results) != value:
            continue
        reference = REFERENCE.match(value)
        earlier = int(reference[1]) if reference else len(results)
        ids = _ids(results[earlier], f"$RESULT_{earlier}") if earlier < len(results) else []
        after = ids[0] if value.endswith("_id") and len(ids) == 1 else ANY
        reason = "no result has such a value: " + ("its only id is meant" if after != ANY else "any value is right")
        yield _change("missing_reference", number, name, reason, value, after)


def _ids(value: object, path: str) -> list[str]:
    """References to all ids in a result."""
    if isinstance(value, list):
        return [each for n, item in enumerate(value) for each in _ids(item, f"{path}[{n}]")]
    if not isinstance(value, dict):
        return []
    own = [f"{path}.{name}" for name in value if name.endswith("_id")]
    return own + [each for name, item in value.items() for each in _ids(item, f"{path}.{name}")]


def _city(number: int, call: ExpectedCallEntry, script: str) -> Iterator[RepairEntry]:
    """A city of which the user says no word."""
    city = call.args.get("city")
    said = set(re.findall(r"\w+", script.lower()))
    if isinstance(city, str) and not city.startswith("$") and said and not said & {*re.findall(r"\w+", city.lower())}:
        yield _change("unsaid_city", number, "city", f"the user says no word of {city}: any city is right", city, ANY)


def _change(
    kind: RepairKind, number: int, argument: str, reason: str, before: object = UNSET, after: object = UNSET
) -> RepairEntry:
    return RepairEntry(kind=kind, call=number, argument=argument, before=before, after=after, reason=reason)
