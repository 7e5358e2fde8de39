"""The measures of Full-Duplex-Bench v3 as published, with their defects: `compat`.

Lin et al., arXiv 2604.04847, section 4, and the released code. Each function takes one recording; `compat_scores` pools
many, each measure over the recordings that the release takes for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple

from fdbcore.suites.fdb_v3.compat.logs import LoggedCall, SystemLog
from fdbcore.suites.fdb_v3.world.services import FunctionCall

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
    for function, _ in expected:
        number = next((number for number, each in enumerate(left) if each.function == function), None)
        pairs.append(None if number is None else left.pop(number))
    return pairs


def right_arguments(log: SystemLog) -> list[bool | None]:
    """For each expected call, whether its call has the right arguments; None if a judge gave no verdict on them."""
    verdicts = log.arguments_right
    return [
        False if call is None else matches_exactly(args, call.args) if verdicts is None else verdicts[number]
        for number, ((_, args), call) in enumerate(
            zip(log.expected, paired_calls(log.expected, log.calls), strict=True)
        )
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


class CompatRate(NamedTuple):
    """A mean over recordings. total: the sum of their values (of a share: how many there are). n: recordings."""

    total: float
    n: int

    @property
    def rate(self) -> float | None:
        """The mean; None without recordings."""
        return self.total / self.n if self.n else None


class LatencySummary(NamedTuple):
    """Latencies in s. stdev_s: of a sample (n - 1), 0 for one. upper_median_s: at n // 2 of the sorted ones."""

    n: int
    mean_s: float
    stdev_s: float
    least_s: float
    most_s: float
    upper_median_s: float


@dataclass(frozen=True, slots=True)
class CompatScores:
    """What is published of a system. Latencies are None where no recording has one."""

    turn_take: CompatRate
    tool_selection: CompatRate
    tool_selection_all: CompatRate
    argument_accuracy: CompatRate
    argument_accuracy_all: CompatRate
    response_quality: CompatRate
    response_quality_all: CompatRate
    passed: CompatRate
    interruption: CompatRate
    preemptive: CompatRate
    filler: CompatRate
    first_response: LatencySummary | None
    tool_call: LatencySummary | None
    completion: LatencySummary | None
    failures: Mapping[FailureKind, int]


def compat_scores(logs: Sequence[SystemLog], gate: bool = False) -> CompatScores:
    """The published measures of a system's recordings. gate: see `failure`."""
    taken = [log for log in logs if turn_taken(log)]
    first = [each for log in taken if (each := first_response_s(log)) is not None]
    calls = [each for log in logs if (each := tool_call_s(log)) is not None]
    in_time = [log for log in taken if (each := first_response_s(log)) is not None and each >= 0]
    failures = Counter(kind for log in logs if (kind := failure(log, gate)) is not None)
    return CompatScores(
        turn_take=CompatRate(len(taken), len(logs)),
        tool_selection=_mean(taken, tool_selection),
        tool_selection_all=_mean(logs, tool_selection),
        argument_accuracy=_mean(taken, argument_accuracy),
        argument_accuracy_all=_mean(logs, argument_accuracy),
        response_quality=_mean(taken, response_quality),
        response_quality_all=_mean(logs, response_quality),
        passed=_mean(logs, lambda log: passes(log, gate)),
        interruption=CompatRate(sum(each < 0 for each in first), len(first)),
        preemptive=CompatRate(sum(each < 0 for each in calls), len(calls)),
        filler=_mean(in_time, lambda log: None if log.filler is None else float(bool(log.filler))),
        first_response=latency_summary(map(first_response_s, in_time)),
        tool_call=latency_summary(map(tool_call_s, in_time)),
        completion=latency_summary(map(completion_s, in_time)),
        failures=failures,
    )


def _mean(logs: Iterable[SystemLog], value: Callable[[SystemLog], float | None]) -> CompatRate:
    found = [each for log in logs if (each := value(log)) is not None]
    return CompatRate(math.fsum(found), len(found))


def latency_summary(latencies_s: Iterable[float | None]) -> LatencySummary | None:
    """The published figures of latencies; those that are missing are left out. None if there is none."""
    found = sorted(each for each in latencies_s if each is not None)
    if not found:
        return None
    spread = stdev(found) if len(found) > 1 else 0.0
    return LatencySummary(len(found), fmean(found), spread, found[0], found[-1], found[len(found) // 2])
