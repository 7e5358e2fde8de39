"""The calls of a system against the label: which belong together, which are right, and which wrong ones stand.

Only calls whose arguments came count. What becomes of the others than plain right ones:

- Two calls of one function: each expected call gets a call of its own, so that as many as possible are right; order
  does not count here. An expected call without a right one gets the first call of its function that is left, as wrong;
  one that repeats a right call is none.
- A call that failed (error, an error object as its result, time-out) and is made again later with the same arguments
  was tried again: it does not count. Not tried again, it belongs to its expected call, but the step is not done.
- A malformed call, after which its function is called in a form that is not refused, was put right: it does not count.
  Nor does one of an unknown function after which any call is not refused. Otherwise it is a call with wrong arguments,
  or of a wrong tool.
- A cancelled call is withdrawn: it does not count, and another one may come after it. Its tool still runs: what that
  changed is seen in the final state.
- An optional call may be left out. If it is made, it is expected; it never takes the call of one that is required.
- A further call with the arguments of a right one is a repeat. A further call of an expected function, after which a
  right one of this function comes, was put right. Both do no harm unless they change the final state.
- A reference ("$RESULT_0.flights[0].flight_id") has the value in the result of an earlier call of that function, or
  in what the expected call returns. One that leads to nothing may have any value, like "$ANY".
- A refused call that belongs to no expected one did nothing.
- An argument that is left out has the function's own default. Values are compared by `plain_value`.
"""

import inspect
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from fdbcore.measures import HeldToolCall
from fdbcore.runtime import resolved
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat import SystemLog, paired_calls, right_pairs
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry, RollbackEntry
from fdbcore.suites.fdb_v3.world import FUNCTIONS, REFERENCE, FunctionCall, outcome, plain_value, state_differences
from fdbcore.types import TICKS_PER_S
from fdbcore.worlds import ERROR

REFUSED: Final = ("unknown", "malformed")
FAILED: Final = ("error", "timeout")

FailureClass: TypeAlias = Literal[
    "silent", "wrong_tool", "stale_value", "wrong_argument", "missing_step", "wrong_order", "wrong_outcome"
]

FAILURES: Final[Mapping[FailureClass, tuple[str, str]]] = {
    "silent": ("silent", "The system said nothing, whatever it called."),
    "wrong_tool": ("wrong tool", "It called a function that the label does not have, and did not withdraw it."),
    "stale_value": ("stale value", "A value that the user took back stands: in a call, or in the final state."),
    "wrong_argument": ("wrong argument", "Another wrong value stands: in a call, or in the final state."),
    "missing_step": ("missing step", "An expected call was not made, or it failed and was not tried again."),
    "wrong_order": ("wrong order", "A call was made before the result that it needs had come."),
    "wrong_outcome": ("wrong outcome", "All calls are right, and the final state is not, as after a second booking."),
}
"""Reasons why a recording does not pass, with a label and a meaning: the first that applies."""


class MadeCall(FunctionCall, frozen=True):
    """A call whose arguments came, at `tick`. end_tick: of its result, or of its cancellation; None: not known."""

    tick: int
    end_tick: int | None
    status: str
    result: Any

    @property
    def answered_tick(self) -> int | None:
        """The tick at which the system had its result; None if it got none."""
        return (self.tick if self.end_tick is None else self.end_tick) if self.status == "ok" else None


def made_calls(calls: Iterable[HeldToolCall]) -> list[MadeCall]:
    """The calls whose arguments came, by when they did; a released one without a time follows the one before it."""
    found: list[MadeCall] = []
    for call in calls:
        if (tick := call["complete_tick"]) is None:
            if call["status"] != "ok":
                continue
            tick = (found[-1].answered_tick or 0) if found else 0
        args = call["arguments"] if isinstance(call["arguments"], dict) else {}
        found.append(MadeCall(call["name"], args, tick, call["end_tick"], _status(call), call.get("result")))
    return sorted(found, key=lambda call: call.tick)


def _status(call: HeldToolCall) -> str:
    """The end of a call. A service that gives an error object has answered, and has not done what it was asked to."""
    result = call.get("result")
    failed = call["status"] == "ok" and isinstance(result, Mapping) and result.get("status") == ERROR["status"]
    return "error" if failed else call["status"]


@dataclass(frozen=True, slots=True)
class CallReview:
    """The calls of one system on one recording against a label.

    label: its calls, references resolved as far as they lead to something. needs: for each, the numbers of the calls
    whose results it refers to. calls: all that were made. pairs: the place of the call that was made for an expected
    one, by its number. right: the numbers of those with right arguments. expected: the numbers that count: what is
    required, and what is optional and was made. left: the places of the calls that count, and were made for nothing.
    gone: the places of those that do not count. rollback: what the user took back, and what for.
    """

    label: Sequence[FunctionCall]
    needs: Sequence[frozenset[int]]
    calls: Sequence[MadeCall]
    pairs: Mapping[int, int]
    right: frozenset[int]
    expected: Sequence[int]
    left: Sequence[int]
    gone: frozenset[int]
    rollback: RollbackEntry

    def missing(self) -> list[int]:
        """The expected calls that were not made, or that failed and were not tried again."""
        return [
            number
            for number in self.expected
            if number not in self.pairs or (number in self.right and self.calls[self.pairs[number]].status != "ok")
        ]

    def foreign(self) -> list[int]:
        """The places of the calls of functions that the label does not have."""
        known = {call.function for call in self.label}
        return [place for place in self.left if self.calls[place].function not in known]

    def wrong(self) -> list[int]:
        """The places of the calls of expected functions whose wrong arguments stand."""
        paired = [place for number, place in self.pairs.items() if number not in self.right]
        return sorted([*paired, *(place for place in self._needless() if not self._comes_right(place))])

    def failure(self, said_nothing: bool, state: Mapping[str, Mapping[str, Any]] | None) -> FailureClass | None:
        """The first class of `FAILURES` that applies; None if the recording passes. state: see `state_differences`."""
        wrong, undone = self.wrong(), self.undone()
        value: FailureClass = (
            "stale_value" if any(self.is_stale(place) for place in wrong or undone) else "wrong_argument"
        )
        if said_nothing:
            return "silent"
        if self.foreign():
            return "wrong_tool"
        if wrong:
            return value
        if self.missing():
            return "missing_step"
        if self.unmet_needs():
            return "wrong_order"
        if self.state_differences(state):
            return value if undone else "wrong_outcome"
        return None

    def undone(self) -> list[int]:
        """The places of the calls with wrong arguments that were withdrawn, or put right by a later call."""
        known = {call.function for call in self.label}
        withdrawn = [
            place
            for place in self.gone
            if self.calls[place].status == "cancelled" and self.calls[place].function in known
        ]
        put_right = (place for place in self._needless() if self._comes_right(place))
        return sorted([*(place for place in withdrawn if not self._repeats(place)), *put_right])

    def _needless(self) -> Iterator[int]:
        """The calls of expected functions that are left, and repeat no right one. One that was refused did nothing."""
        foreign = self.foreign()
        for place in self.left:
            if place not in foreign and self.calls[place].status not in REFUSED and not self._repeats(place):
                yield place

    def _repeats(self, place: int) -> bool:
        return any(_alike(self.calls[place], self.calls[self.pairs[number]]) for number in self.right)

    def _comes_right(self, place: int) -> bool:
        function = self.calls[place].function
        return any(self.pairs[number] > place and self.label[number].function == function for number in self.right)

    def is_stale(self, place: int) -> bool:
        """True if a call has a value that the user took back.

        Arguments are told by their names; where the label has none of these names, all values are looked at.
        """
        original, corrected = self.rollback.original, self.rollback.corrected
        taken_back = {
            name: value for name, value in original.items() if not (name in corrected and same(value, corrected[name]))
        }
        args = self.calls[place].args
        if taken_back.keys() & {name for call in self.label for name in call.args}:
            return any(name in args and same(value, args[name]) for name, value in taken_back.items())
        return any(same(value, made) for value in taken_back.values() for made in args.values())

    def unmet_needs(self) -> list[tuple[int, int]]:
        """Of all references from an expected call to another: those whose call was made before that result had come.

        Those of calls that were not made are among them.
        """
        return [(number, need) for number, need in self.references() if not self._had(number, need)]

    def references(self) -> list[tuple[int, int]]:
        """From each expected call to those that it refers to."""
        return [(number, need) for number in self.expected for need in sorted(self.needs[number])]

    def _had(self, number: int, need: int) -> bool:
        if number not in self.pairs or need not in self.pairs:
            return False
        answered = self.calls[self.pairs[need]].answered_tick
        return answered is not None and answered <= self.calls[self.pairs[number]].tick

    def state_differences(self, found: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
        """Differences of the final state from that of the expected calls. found: None: what the calls that ran leave.

        A right call may be made in other words than the label has: the state is that of its own words.
        """
        wanted = [
            self.calls[self.pairs[number]] if number in self.right else self.label[number] for number in self.expected
        ]
        if found is None:
            ran = [call for call in self.calls if call.status not in (*REFUSED, *FAILED)]
            found = outcome(ran, resolves=False).state
        return state_differences(outcome(wanted, resolves=False).state, found)


def reviewed(case: V3Case, log: SystemLog | None = None) -> CallReview:
    """The calls of a case against the repaired label. log: of that label, with a judge's verdicts on the arguments of
    the calls that the published measures pair: what the judge takes for right is right. None: values decide alone.
    """
    entries, calls = case.record.repaired, made_calls(case.calls)
    return review(entries, calls, case.record.rollback or RollbackEntry(), set(_accepted(log, entries, calls)))


def _accepted(
    log: SystemLog | None, entries: Sequence[ExpectedCallEntry], calls: Sequence[MadeCall]
) -> Iterator[tuple[int, int]]:
    """The numbers of expected calls whose logged call a judge takes for right, and the places of these calls."""
    if log is None or log.arguments_right is None:
        return
    numbers = iter(enumerate(entries))
    for expected, made, is_right in zip(
        log.expected, paired_calls(log.expected, log.calls), log.arguments_right, strict=True
    ):
        # The log leaves out optional calls that were not made.
        number = next(number for number, entry in numbers if entry == expected)
        if is_right and made is not None:
            yield from (
                (number, place)
                for place, call in enumerate(calls)
                if call.function == expected.function
                and (call.args == made.args if made.start_s is None else call.tick == round(made.start_s * TICKS_PER_S))
            )


def review(
    entries: Sequence[ExpectedCallEntry],
    calls: Sequence[MadeCall],
    rollback: RollbackEntry,
    accepted: Collection[tuple[int, int]] = (),
) -> CallReview:
    """The calls against a label. calls: by their time. rollback: empty if the user took nothing back.

    accepted: numbers of expected calls, and the places of calls that a judge takes for right for them.
    """
    label = outcome(entries).calls
    needs = [frozenset(_referred(call.args, number)) for number, call in enumerate(entries)]
    gone = frozenset(_gone(calls))
    counting = [place for place in range(len(calls)) if place not in gone]
    optional = {number for number, entry in enumerate(entries) if entry.optional}
    by_weight = sorted(range(len(entries)), key=lambda number: number in optional)
    fits = [
        [
            place
            for place in counting
            if (number, place) in accepted or _fits(number, calls[place], entries, label, calls)
        ]
        for number in range(len(entries))
    ]
    pairs = right_pairs(fits, by_weight)
    right, right_calls = frozenset(pairs), [calls[place] for place in pairs.values()]
    candidates = [place for place in counting if not any(_alike(calls[place], each) for each in right_calls)]
    for number in by_weight:
        if number not in pairs:
            free = (place for place in candidates if place not in pairs.values())
            place = next((each for each in free if calls[each].function == entries[number].function), None)
            if place is not None:
                pairs[number] = place
    return CallReview(
        label=label,
        needs=needs,
        calls=calls,
        pairs=pairs,
        right=right,
        expected=[number for number in range(len(entries)) if number in pairs or number not in optional],
        left=[place for place in counting if place not in pairs.values()],
        gone=gone,
        rollback=rollback,
    )


def same(expected: object, made: object) -> bool:
    """True if two values are the same by `plain_value`."""
    return plain_value(expected) == plain_value(made)


def _alike(one: MadeCall, other: MadeCall) -> bool:
    return one.function == other.function and (
        {name: plain_value(value) for name, value in _complete(one).items()}
        == {name: plain_value(value) for name, value in _complete(other).items()}
    )


def _complete(call: MadeCall) -> dict[str, Any]:
    """The arguments of a call, with the defaults of the function."""
    return {**_defaults().get(call.function, {}), **call.args}


@cache
def _defaults() -> Mapping[str, Mapping[str, Any]]:
    return {
        name: {
            each.name: each.default
            for each in inspect.signature(function).parameters.values()
            if each.default is not inspect.Parameter.empty
        }
        for name, function in FUNCTIONS.items()
    }


def _referred(args: Mapping[str, Any], below: int) -> set[int]:
    """The numbers of earlier expected calls whose results these arguments refer to."""
    return {number for each in REFERENCE.findall(json.dumps(args)) if (number := int(each)) < below}


def _gone(calls: Sequence[MadeCall]) -> Iterator[int]:
    """The places of the calls that do not count: withdrawn, tried again, or refused and then put right."""
    for place, call in enumerate(calls):
        later = [each for each in calls[place + 1 :] if each.status not in REFUSED]
        if (
            call.status == "cancelled"
            or (call.status == "unknown" and later)
            or (call.status == "malformed" and any(each.function == call.function for each in later))
            or (call.status in FAILED and any(_alike(each, call) for each in later))
        ):
            yield place


def _fits(
    number: int, made: MadeCall, raw: Sequence[FunctionCall], label: Sequence[FunctionCall], calls: Sequence[MadeCall]
) -> bool:
    """True if a call is right for an expected one."""
    if made.function != raw[number].function or made.status in REFUSED:
        return False
    args = _complete(made)
    return all(
        name in args
        and any(
            (isinstance(value, str) and value.startswith("$")) or same(value, args[name])
            for value in (label[number].args[name], *_in_results(wanted, made, raw, calls))
        )
        for name, wanted in raw[number].args.items()
    )


def _in_results(
    wanted: object, made: MadeCall, raw: Sequence[FunctionCall], calls: Sequence[MadeCall]
) -> Iterator[object]:
    """The values that a reference has in the results that had come when the call was made."""
    reference = REFERENCE.match(wanted) if isinstance(wanted, str) else None
    if reference is None or (number := int(reference[1])) >= len(raw):
        return
    for call in calls:
        if call.function == raw[number].function and call.answered_tick is not None and call.answered_tick <= made.tick:
            value = resolved(wanted, [*[None] * number, call.result])
            if value != wanted:
                yield value
