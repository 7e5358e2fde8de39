"""Values of cases: our measures beside the published ones, for each system, over all and over slices.

Recordings of one speaker resemble each other, and so do recordings of one scenario: see `fdbcore.results.pooling`. The
published measures are pooled as published, without intervals.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Final, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from fdbcore.results import ScoredItem, by_system, figure_of_values, rows_of
from fdbcore.stats import spearman
from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat import (
    PUBLISHED,
    REPAIRED,
    failure,
    first_response_s,
    pooled_as_published,
    published_values,
    tool_call_s,
    turn_taken,
)
from fdbcore.suites.fdb_v3.measures import COMPARED, MEASURES, figures
from fdbcore.suites.fdb_v3.scenarios import LABELS, Difficulty, Disfluency, Domain, LabelKind, RecordedScenarioEntry
from fdbcore.suites.fdb_v3.tool_calls import FailureClass
from fdbcore.types.scorecard import Figure, Measure, ScoreRow

CONDITION: Final = "published"

CALLS: Final = ("no call", "one call", "two calls", "three or more calls")

SLICES: Final = (
    *get_args(Domain), *get_args(Difficulty), *CALLS, *get_args(Disfluency), "rollback", "no rollback"
)  # fmt: skip
"""Slices of Pass@1, as in the released reports. A recording is in one slice of each kind, but in that of every
disfluency that it is tagged with."""

SCALES: Final = (
    *sorted(MEASURES.values(), key=lambda measure: not measure.compared), *PUBLISHED.values(), REPAIRED
)  # fmt: skip
"""The columns of the scorecard."""

WORDLESS: Final = ("tool_selection_all", "argument_accuracy_all", "passed", "preemptive")
"""Measures that can be told without words of the system."""
_KINDS: Final = ("passed", "tool_selection", "argument_accuracy", "response_quality")
OF_SLICES: Final = {REPAIRED.id, *(PUBLISHED[name].id for name in PUBLISHED if name.removesuffix("_all") in _KINDS)}
"""The published measures that are told of slices, too."""
PEOPLE: Final = "people, "
"""The beginning of the condition of calls with people; the rest is that of the recordings."""
LEAST_SYSTEMS: Final = 3
"""Two systems are in the same order, or in the other one: that says little."""


class PublishedSystem(Struct, frozen=True):
    """A system over all recordings, and its Pass@1 by slice."""

    system: str
    measures: Annotated[dict[str, float], Meta(description="shares, and mean latencies in s, by names of measures")]
    passed: Annotated[dict[str, float], Meta(description="Pass@1 of each slice")]


class StudyRow(Struct, frozen=True):
    """A system on the recording of a case study. null: the table has none."""

    system: str
    measures: dict[str, float | None]


class CaseStudy(Struct, frozen=True):
    """One recording, and what all systems did with it."""

    record: str
    about: str
    rows: list[StudyRow]

    @property
    def title(self) -> str:
        """The subject of the study."""
        return f"{self.record}, {self.about}"

    def table(self) -> list[list[str]]:
        """Its cells; the first row is the head."""
        names = list(self.rows[0].measures)
        rows = [[row.system, *(_cell(name, row.measures[name]) for name in names)] for row in self.rows]
        return [["", *(PUBLISHED[name].label for name in names)], *rows]


class V3Published(Struct, frozen=True):
    """The tables of the paper. They have no intervals."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    source: str
    conditions: str
    notes: list[str]
    slices: Annotated[dict[str, int], Meta(description="recordings of each slice, which the rates fit")]
    systems: list[PublishedSystem]
    case_studies: list[CaseStudy]


def published() -> V3Published:
    """The tables that ship with fdbcore."""
    data = (files("fdbcore.suites.fdb_v3") / "data" / "published.json").read_bytes()
    return msgspec.json.decode(data, type=V3Published)


def published_rows(found: V3Published) -> Iterator[ScoreRow]:
    """A row of a scorecard for each system: over all recordings, then over each slice."""
    n = sum(found.slices[name] for name in ("easy", "medium", "hard"))
    for each in found.systems:
        figures = {PUBLISHED[name].id: Figure(value) for name, value in each.measures.items()}
        yield ScoreRow(CONDITION, "published", each.system, n, figures)
    for each in found.systems:
        for name, rate in each.passed.items():
            passed = {PUBLISHED["passed"].id: Figure(rate)}
            yield ScoreRow(CONDITION, "published", each.system, found.slices[name], passed, subset=name)


def _cell(name: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} {PUBLISHED[name].unit}".strip()


class MeasuredCase(NamedTuple):
    """A case, and our measures of it, those that are known. has_words: whether published ones that need words are.
    by_label: the published measures by their names.
    """

    condition: str
    case: V3Case
    has_words: bool
    by_label: Mapping[LabelKind, Mapping[str, float | None]]
    ours: Mapping[str, float]
    failure: FailureClass | None

    def published(self, label: LabelKind) -> dict[str, float]:
        """The published measures as they are pooled, by the ids of their scales."""
        return {
            PUBLISHED[name].id: value
            for name, value in self.by_label[label].items()
            if value is not None and (self.has_words or name in WORDLESS)
        }

    def shown(self) -> dict[str, float]:
        """All measures of the case alone. Latencies are there whoever is in time, and say what came early."""
        has_words, log = self.case.b_words is not None, self.case.log
        first_s = first_response_s(log) if has_words and turn_taken(log) else None
        latencies_s = {"first_response": first_s, "tool_call": tool_call_s(log)}
        found = self._replace(has_words=has_words).published("as_released") | self._passed_repaired()
        found |= {PUBLISHED[name].id: value for name, value in latencies_s.items() if value is not None}
        said = {PUBLISHED["interruption"].id, PUBLISHED["preemptive"].id}
        return {**self.ours, **{name: value for name, value in found.items() if name not in said}}

    def _passed_repaired(self) -> dict[str, float]:
        has_passed = self.by_label["repaired"]["passed"]
        return {} if has_passed is None else {REPAIRED.id: has_passed}

    def item(self, label: LabelKind = "as_released") -> ScoredItem:
        """The item that is pooled of it; by the repaired label the published measures alone."""
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
        logs = {label: case.log_by(label) for label in LABELS}
        published = {label: published_values(log) for label, log in logs.items()}
        own = figures(case, logs["repaired"] if is_judged else None)
        known = {name: value for name, value in own.values.items() if value is not None}
        has_words = heard[case.system] and case.b_words is not None
        yield MeasuredCase(condition, case, has_words, published, known, own.failure)


class LatencyExtremes(Struct, frozen=True):
    """Extremes of a latency from the user's end, in s, also published. upper_median_s: at n // 2 of the sorted ones."""

    condition: str
    system: str
    measure: str
    n: int
    least_s: float
    most_s: float
    upper_median_s: float

    @classmethod
    def of(cls, condition: str, system: str, measure: str, values: Iterable[float]) -> "LatencyExtremes":
        """The extremes of a latency in s, of one recording or more."""
        found = sorted(values)
        return cls(condition, system, measure, len(found), found[0], found[-1], found[len(found) // 2])


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


def _figure(items: Sequence[ScoredItem], scale: Measure, has_interval: bool) -> Figure | None:
    """A figure over all items, or those of a slice: then only what is compared `has_interval`."""
    if scale.id in MEASURES:
        return figure_of_values(items, scale, has_interval)
    values = [value for item in items for value in item.values.get(scale.id, ())]
    return pooled_as_published(values, scale) if values and (has_interval or scale.id in OF_SLICES) else None


def _counts(cases: Sequence[MeasuredCase], label: LabelKind) -> dict[str, int]:
    """Recordings, calls whose words are known, and those that do not pass, by why: ours, and as published."""
    found = {"recordings": len({case.case.record.id for case in cases}), "heard": sum(case.has_words for case in cases)}
    kinds = [None if (kind := failure(case.case.log_by(label))) is None else f"compat_{kind}" for case in cases]
    kinds += [case.failure for case in cases] if label == "as_released" else []
    return {**found, **Counter(kind for kind in kinds if kind is not None)}


def latencies(items: Iterable[ScoredItem]) -> Iterator[LatencyExtremes]:
    """Published figures of latencies beside the mean and the SD of rows."""
    for (condition, system), own in by_system(items).items():
        for scale in (each for each in PUBLISHED.values() if each.unit):
            if values := [value for item in own for value in item.values.get(scale.id, ())]:
                yield LatencyExtremes.of(condition, system, scale.id, values)


class RankAgreement(Struct, frozen=True):
    """Agreement of people and recordings in ranking systems by a measure, on the scenarios that both have."""

    condition: str
    measure: str
    systems: int
    scenarios: int
    rho: Annotated[float | None, Meta(description="Spearman's; null with fewer than three systems, or equal figures")]


def ranks_of(items: Sequence[ScoredItem]) -> Iterator[RankAgreement]:
    """The agreement of people and recordings in ranking systems, under the same tools.

    Spearman's correlation of the systems that both have, by their figures on the scenarios that both have.
    """
    for people in dict.fromkeys(item.condition for item in items if item.condition.startswith(PEOPLE)):
        condition = people.removeprefix(PEOPLE)
        sides = [[item for item in items if item.condition == name] for name in (people, condition)]
        shared = set.intersection(*({item.id for item in own} for own in sides))
        for measure in COMPARED if sides[1] else ():
            figures = [_figures(own, shared, measure) for own in sides]
            systems = [name for name in figures[0] if name in figures[1]]
            if systems:
                pairs = np.array([[each[name] for each in figures] for name in systems])
                enough = len(systems) >= LEAST_SYSTEMS
                rho = float(spearman(pairs, np.ones((1, len(systems))))[0]) if enough else np.nan
                yield RankAgreement(condition, measure, len(systems), len(shared), None if np.isnan(rho) else rho)


def _figures(items: Sequence[ScoredItem], shared: Collection[str], measure: str) -> dict[str, float]:
    """The figure of each system on these recordings."""
    known = [item for item in items if item.id in shared and measure in item.values]
    found = {name: figure_of_values(own, MEASURES[measure], False) for (_, name), own in by_system(known).items()}
    return {name: figure.value for name, figure in found.items() if figure is not None and figure.value is not None}


def rank_notes(ranks: Sequence[RankAgreement]) -> Iterator[str]:
    """The correlations of each condition, in a sentence."""
    for condition in dict.fromkeys(each.condition for each in ranks):
        own = [each for each in ranks if each.condition == condition]
        n, known = own[0], [each for each in own if each.rho is not None]
        told = ", ".join(f"{MEASURES[each.measure].label} {each.rho:.2f}" for each in known)
        if n.systems < LEAST_SYSTEMS:
            told = f"unknown with {n.systems} systems, expected {LEAST_SYSTEMS} at least"
        told = told or "unknown: all figures are alike"
        yield (
            f"People and recordings ({condition}) rank {n.systems} systems on {n.scenarios} scenarios alike by "
            f"Spearman's correlation: {told}."
        )
