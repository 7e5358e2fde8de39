"""How scores move in the course of dialogues: by the time since the beginning, and by the number of the goal.

The eight bins are those of Full-Duplex-Bench v2: an event with both marks counts in each bin by the seconds of it in
that bin. The timing score is of moments, each in one bin. A bin is the mean over dialogues that have a score in it. The
slope is that of the least-squares line through the bins of all dialogues. By goals, the mean of each scenario is taken
out and the mean of all put back, so that scenarios that end early do not bend the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct

from fdbcore.stats.bootstrap import Estimate, Floats, bootstrap_columns, bootstrap_times
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.judging import BINS, binned_means, marks_of_events, spans_of
from fdbcore.suites.staged.rows import Group, StagedPlace
from fdbcore.types import TICKS_PER_S
from fdbcore.types.scorecard import Interval

CURVES: Final = ("turn_taking", "instruction_following", "timing")
_MIDDLES_MIN: Final = np.array([(start_s + end_s) / 2 / 60 for start_s, end_s in BINS])
"""The middle of each bin, in minutes."""


class CurvePoint(Struct, frozen=True):
    """A place of a curve: the mean over dialogues with its interval over scenarios."""

    at: Annotated[float, Meta(description="seconds where the bin of 15 s begins, or the number of the goal, from 1")]
    n: Annotated[int, Meta(description="dialogues with a score there")]
    mean: float | None
    ci95: Interval


class StagedCurve(StagedPlace, frozen=True):
    """How a measure moves in the course of dialogues. slope_per_min: of the line through the bins of all dialogues."""

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
            _points(without_scenarios(by_goal[..., column]), range(1, by_goal.shape[2] + 1)),
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
    for row, goal in enumerate(case.goals):
        if (ticks := goal.ticks) is None:
            continue
        starts, marks = spans_of(case.events)[:, 0] * TICKS_PER_S, marks_of_events(case.events)
        own = marks[(ticks.start <= starts) & (starts < ticks.end) & ~np.isnan(marks).any(axis=1)]
        found[row, :2] = np.mean(own, axis=0) if len(own) else np.nan
        scores = [each.score for each in case.moments if ticks.start <= each.tick < ticks.end]
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


def slope_of_difference(group: Group, measure: str, other: str) -> Estimate:
    """The slope a minute of one measure less that of another, through the bins that have both, as of `slope_of`."""
    timed = _cells(group, in_bins)
    return slope_of(timed[..., CURVES.index(measure)] - timed[..., CURVES.index(other)])


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


def _points(cells: Floats, places: Iterable[float]) -> list[CurvePoint]:
    """The mean at each place of (scenarios, trials, places), its interval over scenarios, and n of dialogues."""
    counts = (~np.isnan(cells)).sum(axis=(0, 1)).tolist()
    return [
        CurvePoint(at, n, estimate.value, estimate.interval)
        for at, n, estimate in zip(places, counts, bootstrap_columns(cells), strict=True)
    ]
