"""Curves of scores in the course of dialogues, and what a patient examiner wins back of what a hasty one costs.

By time: the eight bins are those of Full-Duplex-Bench v2. An event with both marks counts in each bin by the seconds of
it in that bin. The timing score is of moments, each in one bin. A bin is the mean over dialogues that have a score in
it. The slope is that of the least-squares line through the bins of all dialogues. By goals, each scenario's mean is
taken out and the mean of all put back, so that scenarios that end early do not bend the curve; what then lies beyond
the bounds of the score is put at the bound.

Two causes of low scores are told apart. Scheduling: the slow examiner less the fast one, on the same scenarios. Memory:
under the slow examiner entity tracking less the mean of the other families, each with the same weight; and the slope of
instruction following less that of turn-taking, through the same bins. In a sentence nothing is claimed that may be
chance.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct

from fdbcore.endpoints import SCRIPTED
from fdbcore.report import counted
from fdbcore.results import draws_of_ids, means_of_ids
from fdbcore.stats import Estimate, Floats, bootstrap_columns, bootstrap_times, contrast_of_means, pairs_needed
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.replies import BINS, binned_means, marks_of_events, spans_of
from fdbcore.suites.staged.rows import COMPARED, LABELS, Group, StagedPlace, paced
from fdbcore.suites.staged.scenarios import MARKS, builtin_families
from fdbcore.suites.staged.users import BOTH
from fdbcore.types import TICKS_PER_S
from fdbcore.types.scorecard import Difference, Interval

CURVES: Final = ("turn_taking", "instruction_following", "timing")
_MIDDLES_MIN: Final = np.array([(start_s + end_s) / 2 / 60 for start_s, end_s in BINS])
"""The middle of each bin, in minutes."""
MEMORY: Final = "entity"
"""The family whose scenarios need memory most."""
UNBOUNDED: Final = (-math.inf, math.inf)
KEYLESS: Final = ("timing", "goals_met")
"""The measures that findings are of without a judge; with one, those are MARKS. The last one is compared between
families."""


class CurvePoint(Struct, frozen=True):
    """A place of a curve: the mean over dialogues with its interval over scenarios."""

    at: Annotated[float, Meta(description="seconds where the bin of 15 s begins, or the number of the goal, from 1")]
    n: Annotated[int, Meta(description="dialogues with a score there")]
    mean: float | None
    ci95: Interval


class StagedCurve(StagedPlace, frozen=True):
    """A measure's curve in the course of dialogues. slope_per_min: of the line through the bins of all dialogues."""

    measure: str
    slope_per_min: float | None
    slope_ci95: Interval
    bins: list[CurvePoint]
    goals: Annotated[list[CurvePoint], Meta(description="with the effects of scenarios taken out")]


def curves_of(group: Group) -> Iterator[StagedCurve]:
    """The curves of a group, of each measure that is known of any of its dialogues."""
    over_time, by_goal = _cells(group, in_bins), _cells(group, of_goals)
    for column, measure in enumerate(CURVES):
        timed = over_time[..., column]
        if np.isnan(timed).all():
            continue
        slope = slope_of(timed)
        yield StagedCurve(
            *group.place,
            measure,
            slope.value,
            slope.interval,
            _points(timed, [start_s for start_s, _ in BINS]),
            _points(without_scenarios(by_goal[..., column]), range(1, by_goal.shape[2] + 1), COMPARED[measure]),
        )


def in_bins(case: StagedCase) -> Floats:
    """(bins, curves) of a dialogue; NaN where it has no score."""
    found = np.full((len(BINS), len(CURVES)), np.nan)
    spans_s, marks = spans_of(case.events), marks_of_events(case.events)
    is_timed = spans_s[:, 1] > spans_s[:, 0]
    found[:, :2] = binned_means(spans_s[is_timed], marks[is_timed])
    starts_s = np.array([each.tick / TICKS_PER_S for each in case.moments])
    scores = np.array([each.score for each in case.moments])
    for row, (start_s, end_s) in enumerate(BINS):
        own = scores[(start_s <= starts_s) & (starts_s < end_s)]
        found[row, 2] = own.mean() if len(own) else np.nan
    return found


def of_goals(case: StagedCase) -> Floats:
    """(goals, curves) of a dialogue: means of what begins while a goal is pursued; NaN where there is nothing."""
    found = np.full((len(case.goals), len(CURVES)), np.nan)
    starts, marks = spans_of(case.events)[:, 0] * TICKS_PER_S, marks_of_events(case.events)
    for row, goal in enumerate(case.goals):
        if goal.ticks is None:
            continue
        begin, end = goal.ticks
        own = marks[(begin <= starts) & (starts < end) & ~np.isnan(marks).any(axis=1)]
        found[row, :2] = np.mean(own, axis=0) if len(own) else np.nan
        scores = [each.score for each in case.moments if begin <= each.tick < end]
        found[row, 2] = np.mean(scores) if scores else np.nan
    return found


def _cells(group: Group, of: Callable[[StagedCase], Floats]) -> Floats:
    """(scenarios, trials, places, curves); at least one of each."""
    parts = [[of(case) for case in own] for own in group.scenarios]
    places = max((len(part) for own in parts for part in own), default=1)
    found = np.full((max(len(parts), 1), max(map(len, parts), default=1), places, len(CURVES)), np.nan)
    for row, own in enumerate(parts):
        for trial, part in enumerate(own):
            found[row, trial, : len(part)] = part
    return found


def slope_of(timed: Floats) -> Estimate:
    """The slope a minute through all bins of (scenarios, trials, bins), with its interval over scenarios."""
    known = ~np.isnan(timed)
    x, y = np.where(known, _MIDDLES_MIN, 0.0), np.where(known, timed, 0.0)
    sums = np.stack([known, x, y, x * x, x * y], axis=-1).sum(axis=(1, 2))
    there = sums[:, 0] > 0

    def slopes(counts: Floats) -> Floats:
        n, sx, sy, sxx, sxy = (counts @ sums[there]).T
        spread = n * sxx - sx * sx
        is_defined = spread > 1e-9 * n * n
        return np.where(is_defined, (n * sxy - sx * sy) / np.where(is_defined, spread, 1.0), np.nan)

    return bootstrap_times(slopes, int(there.sum()))


def without_scenarios(cells: Floats) -> Floats:
    """(scenarios, trials, places) less each scenario's own mean, plus the mean of those means."""
    means = _means(cells.reshape(len(cells), -1))
    found: Floats = cells - means[:, None, None] + _means(means[None])
    return found


def _means(values: Floats) -> Floats:
    """The mean of what is not NaN in each row of (n, columns); NaN where nothing is."""
    counts = (~np.isnan(values)).sum(axis=1)
    means: Floats = np.divide(np.nansum(values, axis=1), counts, out=np.full(len(values), np.nan), where=counts > 0)
    return means


def _points(cells: Floats, places: Iterable[float], bounds: tuple[float, float] = UNBOUNDED) -> list[CurvePoint]:
    """The mean at each place of (scenarios, trials, places), its interval over scenarios, and n of dialogues.

    bounds: of the score. Without the effects of scenarios a mean may lie beyond them: no dialogue can be as good.
    """
    counts = (~np.isnan(cells)).sum(axis=(0, 1)).tolist()

    def within(value: float) -> float:
        return min(max(value, bounds[0]), bounds[1])

    return [
        CurvePoint(
            at,
            n,
            None if estimate.value is None else within(estimate.value),
            None if estimate.interval is None else (within(estimate.interval[0]), within(estimate.interval[1])),
        )
        for at, n, estimate in zip(places, counts, bootstrap_columns(cells), strict=True)
    ]


class Contrast(Struct, frozen=True):
    """A difference of means, or of slopes, with its interval over scenarios. n: the scenarios."""

    value: float | None
    ci95: Interval
    n: int


class StagedFinding(Struct, frozen=True):
    """Scores of a system that a slow examiner wins back, and what stays low all the same."""

    system: str
    examiner: str
    slow: Annotated[str, Meta(description="pacing")]
    fast: Annotated[str, Meta(description="pacing that it is compared with")]
    won_back: Annotated[dict[str, Contrast], Meta(description="slow less fast on the same scenarios, by measure")]
    measure: Annotated[str, Meta(description="of memory")]
    memory: Annotated[Contrast | None, Meta(description="slow: entity tracking less the mean of the other families")]
    slope: Annotated[Contrast | None, Meta(description="slow, a minute: instruction following less turn-taking")]


def findings_of(groups: Sequence[Group], compared: Sequence[Difference]) -> Iterator[StagedFinding]:
    """Findings on each system with a slow examiner. compared: the differences of the document."""
    fast_ones = {pair[0]: pair[1] for pair in BOTH.values()}
    for group in groups:
        if group.pacing not in fast_ones or not group.cases:
            continue
        measures = MARKS if any(MARKS[1] in case.values for case in group.cases) else KEYLESS
        fast = fast_ones[group.pacing]
        names = (group.condition, paced(group.system, group.pacing), paced(group.system, fast))
        own = {one.measure: one for one in compared if (one.condition, one.a, one.b) == names}
        # Goals that are decided after the call: the examiner went on without them, and the fast one sooner.
        is_heard_later = any(goal.words is not None for case in group.cases for goal in case.goals)
        won_back = {
            name: Contrast(own[name].difference, own[name].ci95, own[name].n)
            for name in measures
            if name in own and not (name == "goals_met" and is_heard_later)
        }
        timed = _cells(group, in_bins)
        slope = slope_of(timed[..., 1] - timed[..., 0])  # through the bins that have both marks
        yield StagedFinding(
            group.system, group.examiner, group.pacing, fast, won_back, measures[-1], _memory(group, measures[-1]),
            None if slope.value is None else Contrast(slope.value, slope.interval, slope.clusters),
        )  # fmt: skip


def _memory(group: Group, measure: str) -> Contrast | None:
    """Entity tracking less the mean of the other families; None if one side is not known."""
    means, drawn = {}, {}
    for family in dict.fromkeys(case.family for case in group.cases):
        items = group.of_family(family).items
        if known := means_of_ids(items, measure):
            means[family] = float(np.mean([*known.values()]))
            drawn[family] = np.array([own for name, own in draws_of_ids(items, measure).items() if name in known])
    others = [family for family in drawn if family != MEMORY]
    if MEMORY not in drawn or not others:
        return None
    families, weights = [MEMORY, *others], [1.0, *(-1 / len(others) for _ in others)]
    estimate = contrast_of_means([drawn[family] for family in families], weights)
    return Contrast(
        float(np.dot([means[family] for family in families], weights)), estimate.interval, estimate.clusters
    )


def sentences(findings: Sequence[StagedFinding]) -> Iterator[str]:
    """The findings in words, a sentence a system."""
    for finding in findings:
        if clauses := list(_clauses(finding)):
            examiner = "" if finding.examiner == SCRIPTED else f" ({finding.examiner})"
            yield f"{finding.system}, {finding.slow} examiner{examiner}: {'; '.join(clauses)}."


def _clauses(finding: StagedFinding) -> Iterator[str]:
    for name, won in finding.won_back.items():
        label, fast = LABELS[name], finding.fast
        yield _clause(
            won,
            f"it wins back {{}} of {label} over the {fast} one",
            f"it loses {{}} of {label} against the {fast} one",
            f"whether it wins back any {label} over the {fast} one",
        )
    if finding.memory is not None:
        family, label = builtin_families()[MEMORY].title.lower(), LABELS[finding.measure]
        yield _clause(
            finding.memory,
            f"{family} is {{}} above the other families in {label}",
            f"{family} stays {{}} below the other families in {label}",
            f"whether {family} stays below the other families in {label}",
        )
    if finding.slope is not None:
        taking, following = (LABELS[name] for name in MARKS)
        yield _clause(
            finding.slope,
            f"over time {following} gains {{}} a minute on {taking}",
            f"over time {following} loses {{}} a minute against {taking}",
            f"whether {following} falls faster than {taking} over time",
        )


def _clause(of: Contrast, above: str, below: str, whether: str) -> str:
    """The statement of a contrast, or that it cannot be told.

    Nor can it from fewer scenarios than a test needs: where there is no difference, a tenth to a half of the intervals
    of 2 to 5 scenarios miss 0.
    """
    value, limits = of.value, of.ci95
    scenarios = counted(of.n, "scenario")
    if value is None or limits is None:
        return f"{whether} cannot be told from {scenarios}"
    if limits[0] <= 0 <= limits[1] or of.n < pairs_needed():
        return f"{whether} cannot be told from {scenarios} ({value:+.2f} [{limits[0]:+.2f}, {limits[1]:+.2f}])"
    low, high = sorted(map(abs, limits))
    return (above if value > 0 else below).format(f"{abs(value):.2f} [{low:.2f}, {high:.2f}]")
