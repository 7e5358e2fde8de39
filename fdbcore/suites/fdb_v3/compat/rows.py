"""The published measures of a system as rows of a document, with both labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.logs import SystemLog
from fdbcore.suites.fdb_v3.compat.measures import (
    CompatRate,
    CompatScores,
    argument_accuracy,
    compat_scores,
    completion_s,
    first_response_s,
    passes,
    response_quality,
    tool_call_s,
    tool_selection,
    turn_taken,
)
from fdbcore.suites.fdb_v3.released.results import wanted
from fdbcore.suites.fdb_v3.scenario_types import LABELS, LabelKind
from fdbcore.suites.fdb_v3.slices import ORDER, slices_of
from fdbcore.suites.fdb_v3.terms import PUBLISHED

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Compat, V3Latency, V3Rate, V3Slice

WORDLESS: Final = ("tool_selection_all", "argument_accuracy_all", "passed", "preemptive")
"""What can be told without words of the system."""
OF_SLICES: Final = [f"{name}{over}" for name in ("tool_selection", "argument_accuracy", "response_quality")
                    for over in ("", "_all")]  # fmt: skip
"""What is also told of slices, beside Pass@1."""


def log_of(case: V3Case, label: LabelKind) -> SystemLog:
    """The log of a case with the calls that one of the labels expects, and the verdicts on them."""
    if label == "as_released":
        return case.log
    expected = wanted(case.record.get("repaired", ()), case.log.calls)
    return replace(case.log, expected=expected, arguments_right=case.repaired_right)


def _is_heard(cases: Sequence[V3Case]) -> bool:
    """Whether anybody listened. Without that, those that are known to have said nothing would stand for all."""
    return any(case.b_words for case in cases) or all(case.b_words is not None for case in cases)


def compat_of(system: str, cases: Sequence[V3Case]) -> Iterator[V3Compat]:
    """A row for each label. What needs words is over the cases of which there are any; the others are unscored."""
    heard = [case for case in cases if case.b_words is not None] if _is_heard(cases) else []
    for label in LABELS:
        every, known = _scores(cases, label), _scores(heard, label)
        rates: dict[str, V3Rate] = {}
        latencies: dict[str, V3Latency | None] = {}
        for name in PUBLISHED:
            value = getattr(every if name in WORDLESS else known, name)
            if isinstance(value, CompatRate):
                rates[name] = {"value": value.rate, "n": value.n}
            else:
                latencies[name] = None if value is None else cast("V3Latency", value._asdict())
        yield {
            "system": system,
            "label": label,
            "n": len(cases),
            "heard": len(heard),
            "rates": rates,
            "latencies": latencies,
            "failures": {name: count for name, count in every.failures.items()},
        }


def _scores(cases: Iterable[V3Case], label: LabelKind) -> CompatScores:
    return compat_scores([log_of(case, label) for case in cases])


def slices_of_cases(system: str, cases: Sequence[V3Case]) -> Iterator[V3Slice]:
    """Pass@1 and OF_SLICES, a row for each label and each slice of which any recording is scored."""
    is_heard = _is_heard(cases)
    for label in LABELS:
        for name in ORDER:
            within = [case for case in cases if name in slices_of(case.record)]
            heard = [case for case in within if is_heard and case.b_words is not None]
            every, known = _scores(within, label), _scores(heard, label)
            rates: dict[str, V3Rate] = {}
            for each in OF_SLICES:
                rate: CompatRate = getattr(every if each in WORDLESS else known, each)
                rates[each] = {"value": rate.rate, "n": rate.n}
            if n := every.passed.n:
                passed = round(every.passed.total)
                yield {"system": system, "slice": name, "label": label, "passed": passed, "n": n, "rates": rates}


def values_of(case: V3Case) -> dict[str, float]:
    """The published measures of one case that are known, by the ids of their scales."""
    log, values = case.log, dict[str, float | None]()
    for label in LABELS:
        has_passed = passes(log_of(case, label))
        values[f"compat_passed{'' if label == 'as_released' else '_repaired'}"] = (
            None if has_passed is None else float(has_passed)
        )
    values["compat_tool_call"] = tool_call_s(log)
    values["compat_tool_selection_all"] = selection = tool_selection(log)
    values["compat_argument_accuracy_all"] = arguments = argument_accuracy(log)
    if case.b_words is not None:
        taken = turn_taken(log)
        values["compat_turn_take"] = float(taken)
        values["compat_response_quality_all"] = response = response_quality(log)
        if taken:
            values["compat_tool_selection"] = selection
            values["compat_argument_accuracy"] = arguments
            values["compat_response_quality"] = response
            values["compat_first_response"] = first_s = first_response_s(log)
            if first_s is not None and first_s >= 0:
                values["compat_filler"] = None if log.filler is None else float(bool(log.filler))
                values["compat_completion"] = completion_s(log)
    return {name: value for name, value in values.items() if value is not None}
