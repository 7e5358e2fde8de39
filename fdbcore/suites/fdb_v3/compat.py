"""The measures of Full-Duplex-Bench v3 as published, each with its known defect, and what they read of one recording.

Lin et al., arXiv 2604.04847, section 4, and the released code. Each function takes one recording; `compat_scores` pools
many, each measure over the recordings that the release takes for it. Measures, ours too, are registered in
data/measures.toml.
"""

import inspect
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, Final, Literal, NamedTuple

from msgspec.structs import replace

from fdbcore.measures import HeldToolCall
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry
from fdbcore.suites.fdb_v3.world import FUNCTIONS, FunctionCall
from fdbcore.types import TICKS_PER_S
from fdbcore.types.scorecard import Figure, Measure

_DECIMALS: Final = {"": 3, "s": 2, "ms": 0}
REGISTERED: Final = tomllib.loads(
    (files("fdbcore.suites.fdb_v3") / "data" / "measures.toml").read_text(encoding="utf-8")
)

GAP_S: Final = 2.0
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
}
"""The types of arguments by how the functions write them."""
FailureKind = Literal["wrong_tools", "wrong_arguments"]


def scale_of(part: str, unit: str = "", compared: bool = False, **fields: Any) -> Measure:  # noqa: ANN401
    """The scale of a registered measure."""
    return Measure(
        **fields,
        unit=unit,
        decimals=_DECIMALS[unit],
        main=compared,
        compared=compared,
        part="" if compared else part,
        bounds=None if unit else (0.0, 1.0),
    )


PUBLISHED: Final[Mapping[str, Measure]] = {
    each["id"]: scale_of(group["part"], **{**each, "id": f"compat_{each['id']}"})
    for group in REGISTERED["published"]
    for each in group["measures"]
}
"""The published measures by their names; their ids as scales begin with compat_."""
REPAIRED: Final = replace(PUBLISHED["passed"], id="compat_passed_repaired", label="Pass@1, labels repaired")


class LoggedCall(FunctionCall, frozen=True):
    """A call that the system made. start_s: from the beginning of the user's recording; None: it is not known. end_s:
    of its result, as far as a released result says so.
    """

    start_s: float | None
    end_s: float | None = None


class AsrWord(NamedTuple):
    """A word as a transcriber gives it, with its times from the beginning of the user's recording."""

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
    """The user's end, as published: the end of the last word before the first gap of more than 2.0 s.

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


def turn_taken(log: SystemLog) -> bool:
    """True if the system said anything at all, at any time."""
    return bool(log.transcript.strip()) or bool(log.words)


def tool_selection_f1(expected: Iterable[str], called: Iterable[str]) -> float:
    """F1 of the names of functions as multisets, rounded to 3 places; order does not count."""
    wanted, made = Counter(expected), Counter(called)
    hits = (wanted & made).total()
    recall = hits / wanted.total() if wanted else 1.0
    precision = hits / made.total() if made else 1.0
    return round(2 * precision * recall / (precision + recall), 3) if precision + recall else 0.0


def tool_selection(log: SystemLog) -> float:
    """F1 of the names of the functions that were expected and called."""
    return tool_selection_f1((each.function for each in log.expected), (call.function for call in log.calls))


def matches_exactly(expected: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """True if the exact matcher takes the arguments of a call for the expected ones.

    Each expected argument must be there. One that begins with "$" may have any value, texts are compared without case,
    outer spaces, and underscores for spaces, and all else must be equal. Further arguments do not count.
    """
    return all(name in made and _same(value, made[name]) for name, value in expected.items())


def wanted(expected: Iterable[ExpectedCallEntry], made: Sequence[LoggedCall]) -> tuple[FunctionCall, ...]:
    """The calls of a label, without the optional ones that were not made.

    Each required call takes one of the calls of its function, if there is one, optional ones what is left: first those
    whose arguments are right, then in their order.
    """
    entries = list(expected)
    required = [number for number, entry in enumerate(entries) if not entry.optional]
    optional = [number for number, entry in enumerate(entries) if entry.optional]
    right = [
        [
            place
            for place, call in enumerate(made)
            if call.function == entry.function and matches_exactly(entry.args, call.args)
        ]
        for entry in entries
    ]
    fitting = right_pairs(right, [*required, *optional])
    left = Counter(call.function for call in made)
    left.subtract(entries[number].function for number in required)
    kept = set(required)
    for number in sorted(optional, key=lambda number: number not in fitting):
        if left[entries[number].function] > 0:
            left[entries[number].function] -= 1
            kept.add(number)
    return tuple(entries[number] for number in sorted(kept))


def right_pairs(right: Sequence[Sequence[int]], by_weight: Sequence[int]) -> dict[int, int]:
    """For each expected call that can have a right call for itself, the place of that call.

    right: for each expected call, the places of the calls that are right for it, ascending. by_weight: the numbers of
    all expected calls; none takes the only call of one that stands before it. Of all ways to deal the calls it is the
    one in which the first expected call has the earliest call, then the second, and so on.
    """
    served: list[int] = []
    for number in by_weight:
        if _can_deal([right[each] for each in (*served, number)]):
            served.append(number)
    served.sort()
    pairs: dict[int, int] = {}
    for place, number in enumerate(served, 1):
        later = [right[each] for each in served[place:]]
        pairs[number] = next(
            call
            for call in right[number]
            if call not in pairs.values() and _can_deal(later, taken={*pairs.values(), call})
        )
    return pairs


def _can_deal(choices: Sequence[Sequence[int]], taken: set[int] | None = None) -> bool:
    """True if each can have one of its choices for itself, without those that are taken (Kuhn 1955)."""
    owner: dict[int, int] = {}

    def give(number: int, tried: set[int]) -> bool:
        for call in choices[number]:
            if call not in tried:
                tried.add(call)
                if call not in owner or give(owner[call], tried):
                    owner[call] = number
                    return True
        return False

    return all(give(number, set(taken or ())) for number in range(len(choices)))


def _same(expected: object, made: object) -> bool:
    if isinstance(expected, str):
        return expected.startswith("$") or (isinstance(made, str) and _plain(expected) == _plain(made))
    return expected == made


def _plain(text: str) -> str:
    return text.lower().strip().replace("_", " ")


def paired_calls(expected: Iterable[FunctionCall], made: Iterable[LoggedCall]) -> list[LoggedCall | None]:
    """For each expected call the first call of its function that is not used yet; None if there is none."""
    left = list(made)
    pairs = []
    for call in expected:
        number = next((number for number, each in enumerate(left) if each.function == call.function), None)
        pairs.append(None if number is None else left.pop(number))
    return pairs


def right_arguments(log: SystemLog) -> list[bool | None]:
    """For each expected call, whether its call has the right arguments; None if a judge gave no verdict on them."""
    verdicts = log.arguments_right
    return [
        False if call is None else matches_exactly(each.args, call.args) if verdicts is None else verdicts[number]
        for number, (each, call) in enumerate(zip(log.expected, paired_calls(log.expected, log.calls), strict=True))
    ]


def argument_accuracy(log: SystemLog) -> float | None:
    """The share of expected calls with right arguments, to 3 places; 1 if none is expected, None without a verdict."""
    right = right_arguments(log)
    known = [each for each in right if each is not None]
    if len(known) < len(right):
        return None
    return round(sum(known) / len(known), 3) if known else 1.0


def failure(log: SystemLog, gate: bool = False) -> FailureKind | None:
    """The reason why a recording does not pass; None if it does, or if a missing verdict leaves that open.

    gate: whether a system that says nothing fails, as the paper implies and its code does not do.
    """
    names = Counter(each.function for each in log.expected)
    if names != Counter(call.function for call in log.calls) or (gate and not turn_taken(log)):
        return "wrong_tools"
    return "wrong_arguments" if False in right_arguments(log) else None


def passes(log: SystemLog, gate: bool = False) -> bool | None:
    """True if a recording passes; None if a missing verdict leaves that open. gate: see `failure`."""
    if failure(log, gate) is not None:
        return False
    return None if None in right_arguments(log) else True


def response_quality(log: SystemLog) -> float | None:
    """The judge's verdict as 1 or 0; 0 without a transcript, None if no judge was asked."""
    return None if log.response_right is None else float(log.response_right and bool(log.transcript.strip()))


def first_response_s(log: SystemLog) -> float | None:
    """From the user's end to the system's first word, filler or not; negative: it interrupted."""
    by_words = log.words[0].start_s if log.words else None
    return _since_user_end(log, by_words if log.first_word_s is None else log.first_word_s)


def tool_call_s(log: SystemLog) -> float | None:
    """From the user's end to the first logged call; negative: it was made ahead of the end."""
    return _since_user_end(log, log.calls[0].start_s if log.calls else None)


def completion_s(log: SystemLog) -> float | None:
    """From the user's end to the key information of the answer, as a judge places it."""
    return _since_user_end(log, log.key_start_s)


def _since_user_end(log: SystemLog, time_s: float | None) -> float | None:
    """To 3 places. An end at 0 is that of a user without words: nothing is measured from it."""
    return round(time_s - log.user_end_s, 3) if time_s is not None and log.user_end_s else None


def published_values(log: SystemLog, gate: bool = False) -> dict[str, float | None]:
    """All published measures of one recording by their names; None where the release leaves it out. gate: as above.

    In time is who does not answer before the user's end.
    """
    taken, has_passed = turn_taken(log), passes(log, gate)
    first_s, call_s = first_response_s(log) if taken else None, tool_call_s(log)
    selection, arguments, response = tool_selection(log), argument_accuracy(log), response_quality(log)
    in_time = first_s is not None and first_s >= 0
    found = {
        "turn_take": taken,
        "tool_selection": selection if taken else None,
        "tool_selection_all": selection,
        "argument_accuracy": arguments if taken else None,
        "argument_accuracy_all": arguments,
        "response_quality": response if taken else None,
        "response_quality_all": response,
        "passed": has_passed,
        "interruption": None if first_s is None else first_s < 0,
        "preemptive": None if call_s is None else call_s < 0,
        "filler": bool(log.filler) if in_time and log.filler is not None else None,
        "first_response": first_s if in_time else None,
        "tool_call": call_s if in_time else None,
        "completion": completion_s(log) if in_time else None,
    }
    return {name: None if value is None else float(value) for name, value in found.items()}


def pooled_as_published(values: Sequence[float], scale: Measure) -> Figure:
    """The mean over the recordings that have a measure; of latencies with the SD of a sample, 0 for one."""
    if not values:
        return Figure(None, n=0)
    sd = (stdev(values) if len(values) > 1 else 0.0) if scale.unit else None
    return Figure(fmean(values), sd, n=len(values))


def compat_scores(logs: Iterable[SystemLog], gate: bool = False) -> dict[str, Figure]:
    """The published measures of a system's recordings, by their names. gate: see `failure`."""
    found = [published_values(log, gate) for log in logs]
    return {
        name: pooled_as_published([value for each in found if (value := each[name]) is not None], scale)
        for name, scale in PUBLISHED.items()
    }
