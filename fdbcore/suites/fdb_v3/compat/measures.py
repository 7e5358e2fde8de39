"""The measures of Full-Duplex-Bench v3 as published, with their defects: `compat`.

Lin et al., arXiv 2604.04847, section 4, and the released code. Each function takes one recording; `compat_scores` pools
many, each measure over the recordings that the release takes for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, Literal

from msgspec import Struct

from fdbcore.suites.fdb_v3.compat.logs import LoggedCall, SystemLog
from fdbcore.suites.fdb_v3.terms import PUBLISHED
from fdbcore.suites.fdb_v3.world import FunctionCall
from fdbcore.types.scorecard import Figure, Measure

FailureKind = Literal["wrong_tools", "wrong_arguments"]


def turn_taken(log: SystemLog) -> bool:
    """Whether the system said anything at all, at any time."""
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
    """Whether the exact matcher takes the arguments of a call for the expected ones.

    Each expected argument must be there. One that begins with "$" may have any value, texts are compared without case,
    outer spaces, and underscores for spaces, and all else must be equal. Further arguments do not count.
    """
    return all(name in made and _same(value, made[name]) for name, value in expected.items())


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
    """Why a recording does not pass; None if it does, or if a missing verdict leaves that open.

    gate: whether a system that says nothing fails, as the paper implies and its code does not do.
    """
    names = Counter(each.function for each in log.expected)
    if names != Counter(call.function for call in log.calls) or (gate and not turn_taken(log)):
        return "wrong_tools"
    return "wrong_arguments" if False in right_arguments(log) else None


def passes(log: SystemLog, gate: bool = False) -> bool | None:
    """Whether a recording passes; None if a missing verdict leaves that open. gate: see `failure`."""
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


class LatencyExtremes(Struct, frozen=True):
    """What is also published of a latency from the user's end, in s. upper_median_s: at n // 2 of the sorted ones."""

    condition: str
    system: str
    measure: str
    n: int
    least_s: float
    most_s: float
    upper_median_s: float

    @classmethod
    def of(cls, condition: str, system: str, measure: str, values: Iterable[float]) -> LatencyExtremes:
        """Those of a latency in s, of one recording or more."""
        found = sorted(values)
        return cls(condition, system, measure, len(found), found[0], found[-1], found[len(found) // 2])
