"""What cases are worth: our measures beside the published ones, for each system, over all and over slices.

Recordings of one speaker resemble each other, and so do recordings of one scenario: see `fdbcore.results.pooling`. The
published measures are pooled as published, without intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from fdbcore.results import ScoredItem, by_system, figure_of_values, rows_of
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat.measures import (
    LatencyExtremes,
    failure,
    first_response_s,
    passes,
    pooled_as_published,
    published_values,
    tool_call_s,
    turn_taken,
)
from fdbcore.suites.fdb_v3.ours.measures import failure as our_failure
from fdbcore.suites.fdb_v3.ours.measures import figures
from fdbcore.suites.fdb_v3.scenarios import LabelKind, RecordedScenarioEntry
from fdbcore.suites.fdb_v3.terms import CALLS, COMPARED, MEASURES, PUBLISHED, REPAIRED, SLICES, FailureClass, compat_id
from fdbcore.types.scorecard import Figure, Scale, ScoreRow

WORDLESS: Final = ("tool_selection_all", "argument_accuracy_all", "passed", "preemptive")
"""What can be told without words of the system."""
_KINDS: Final = ("passed", "tool_selection", "argument_accuracy", "response_quality")
OF_SLICES: Final = {REPAIRED.id, *(compat_id(name) for name in PUBLISHED if name.removesuffix("_all") in _KINDS)}
"""The published measures that are told of slices, too."""


class MeasuredCase(NamedTuple):
    """A case, and our measures of it, those that are known. has_words: whether published ones that need words are."""

    condition: str
    case: V3Case
    has_words: bool
    ours: Mapping[str, float]
    failure: FailureClass | None

    def published(self, label: LabelKind) -> dict[str, float]:
        """The published measures as they are pooled, by the ids of their scales."""
        found = published_values(self.case.log_by(label))
        return {
            compat_id(name): value
            for name, value in found.items()
            if value is not None and (self.has_words or name in WORDLESS)
        }

    def shown(self) -> dict[str, float]:
        """All measures of the case alone. Latencies are there whoever is in time, and say what came early."""
        has_words, log = self.case.b_words is not None, self.case.log
        first_s = first_response_s(log) if has_words and turn_taken(log) else None
        latencies_s = {"first_response": first_s, "tool_call": tool_call_s(log)}
        found = self._replace(has_words=has_words).published("as_released") | self._passed_repaired()
        found |= {compat_id(name): value for name, value in latencies_s.items() if value is not None}
        said = {compat_id("interruption"), compat_id("preemptive")}
        return {**self.ours, **{name: value for name, value in found.items() if name not in said}}

    def _passed_repaired(self) -> dict[str, float]:
        has_passed = passes(self.case.log_by("repaired"))
        return {} if has_passed is None else {REPAIRED.id: float(has_passed)}

    def item(self, label: LabelKind = "as_released") -> ScoredItem:
        """What is pooled of it; by the repaired label the published measures alone."""
        record, values = self.case.record, self.published(label)
        if label == "as_released":
            values = {**self.ours, **values, **self._passed_repaired()}
        return ScoredItem(
            self.condition,
            self.case.system,
            record.id,
            {name: (value,) for name, value in values.items()},
            {"speaker": record.speaker, "scenario": record.scenario},
            tuple(slices_of(record)),
        )


def slices_of(record: RecordedScenarioEntry) -> Iterator[str]:
    """The slices that a recording is in. The number of calls is that of the released label."""
    yield from (record.domain, record.difficulty)
    yield CALLS[min(len(record.as_released), 3)]
    yield from record.disfluencies
    yield "rollback" if record.rollback_test else "no rollback"


def measured(condition: str, cases: Sequence[V3Case], is_judged: bool) -> Iterator[MeasuredCase]:
    """The cases of a condition. is_judged: whether what a judge takes for right is right.

    Where nobody listened to a system, those cases that are known to have no words would stand for all.
    """
    heard = {
        system: any(case.b_words for case in own) or all(case.b_words is not None for case in own)
        for system in {case.system for case in cases}
        for own in [[case for case in cases if case.system == system]]
    }
    for case in cases:
        log = case.log_by("repaired") if is_judged else None
        known = {name: value for name, value in figures(case, log).items() if value is not None}
        has_words = heard[case.system] and case.b_words is not None
        yield MeasuredCase(condition, case, has_words, known, our_failure(case, log))


def scored_rows(cases: Sequence[MeasuredCase], label: LabelKind = "as_released") -> Iterator[ScoreRow]:
    """A row for each condition and system, then one for each of its slices.

    In slices only the measures of COMPARED have intervals.
    """
    scales = [*MEASURES.values(), *PUBLISHED.values(), REPAIRED] if label == "as_released" else [*PUBLISHED.values()]
    items = [case.item(label) for case in cases]
    for row in rows_of(items, scales, SLICES, _figure, COMPARED):
        own = [
            case
            for case, item in zip(cases, items, strict=True)
            if (item.condition, item.system) == (row.condition, row.system)
            and (not row.subset or row.subset in item.subsets)
        ]
        unheard = 0 if row.subset else sum(not case.has_words for case in own)
        note = f"no words of {unheard} of {row.n}: left out of what needs words" if unheard else ""
        yield replace(row, note=note, counts=_counts(own, label))


def _figure(items: Sequence[ScoredItem], scale: Scale, has_interval: bool) -> Figure | None:
    """A figure over all items, or those of a slice: then only what is compared `has_interval`."""
    if scale.id in MEASURES:
        return figure_of_values(items, scale, has_interval)
    values = [value for item in items for value in item.values.get(scale.id, ())]
    return pooled_as_published(values, scale) if values and (has_interval or scale.id in OF_SLICES) else None


def _counts(cases: Sequence[MeasuredCase], label: LabelKind) -> dict[str, int]:
    """Recordings, calls whose words are known, and those that do not pass, by why: ours, and as published."""
    found = {
        "recordings": len({case.case.record.id for case in cases}),
        "heard": sum(case.has_words for case in cases),
    }
    kinds = [None if (kind := failure(case.case.log_by(label))) is None else compat_id(kind) for case in cases]
    kinds += [case.failure for case in cases] if label == "as_released" else []
    return {**found, **Counter(kind for kind in kinds if kind is not None)}


def latencies(items: Iterable[ScoredItem]) -> Iterator[LatencyExtremes]:
    """What is published of latencies beside the mean and the SD of rows."""
    for (condition, system), own in by_system(items).items():
        for scale in (each for each in PUBLISHED.values() if each.unit):
            if values := [value for item in own for value in item.values.get(scale.id, ())]:
                yield LatencyExtremes.of(condition, system, scale.id, values)
