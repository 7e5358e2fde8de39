"""What the published measures read of one recording: the expected calls, and what the system said and called."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from fdbcore.measures import HeldToolCall
from fdbcore.suites.fdb_v3.world import FUNCTIONS, FunctionCall
from fdbcore.types import TICKS_PER_S

GAP_S: Final = 2.0
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
}
"""The types of arguments by how the functions write them."""


class LoggedCall(FunctionCall, frozen=True):
    """A call that the system made. start_s: from the beginning of the user's recording; None: it is not known. end_s:
    of its result, as far as a released result says so.
    """

    start_s: float | None
    end_s: float | None = None


class AsrWord(NamedTuple):
    """A word as a recogniser gives it, with its times from the beginning of the user's recording."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class SystemLog:
    """One system on one recording.

    expected: the calls of the label, references unresolved. calls: in the order of the log. transcript, words: what the
    system said. user_end_s: by `user_end_s`; None if nobody listened to the user. arguments_right: a judge's verdict
    for each expected call, None where it gave none; None: the exact matcher decides. response_right: a judge's verdict;
    None: unscored. filler, key_start_s: what a judge took for filler ("" for none; None: no verdict), and where the key
    information begins. first_word_s: when the system began to speak, as a result states it; None: by its words.
    """

    expected: tuple[FunctionCall, ...]
    calls: tuple[LoggedCall, ...]
    transcript: str
    words: tuple[AsrWord, ...]
    user_end_s: float | None
    arguments_right: tuple[bool | None, ...] | None = None
    response_right: bool | None = None
    filler: str | None = None
    key_start_s: float | None = None
    first_word_s: float | None = None


def user_end_s(words: Sequence[AsrWord]) -> float:
    """When the user has finished, as published: the end of the last word before the first gap of more than 2.0 s.

    0 without words. A pause of more than 2 s within the request ends it there.
    """
    for word, following in pairwise(words):
        if following.start_s - word.end_s > GAP_S:
            return word.end_s
    return words[-1].end_s if words else 0.0


def logged_calls(calls: Iterable[HeldToolCall]) -> Iterator[LoggedCall]:
    """The calls that the framework hands to a function, in their order; times are those of complete arguments.

    It rejects a call of an unknown function, one without a required argument, and one with a value of a wrong type. It
    drops arguments that the function does not have.
    """
    for call in calls:
        if call["complete_tick"] is None or call["name"] not in FUNCTIONS or not isinstance(call["arguments"], dict):
            continue
        parameters = inspect.signature(FUNCTIONS[call["name"]]).parameters
        args: dict[str, Any] = {name: value for name, value in call["arguments"].items() if name in parameters}
        needed = {name for name, each in parameters.items() if each.default is each.empty}
        if needed <= args.keys() and all(_is(value, parameters[name].annotation) for name, value in args.items()):
            yield LoggedCall(call["name"], args, call["complete_tick"] / TICKS_PER_S)


def _is(value: object, annotation: str) -> bool:
    return isinstance(value, _KINDS[annotation]) and not isinstance(value, bool)
