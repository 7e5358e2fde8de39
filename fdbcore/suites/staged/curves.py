"""How scores move in the course of dialogues: by the time since the beginning, and by the number of the goal.

The eight bins are those of Full-Duplex-Bench v2: an event with both marks counts in each bin by the seconds of it in
that bin. The timing score is of moments, each in one bin. A bin is the mean over dialogues that have a score in it. The
slope is that of the least-squares line through the bins of all dialogues. By goals, the mean of each scenario is taken
out and the mean of all put back, so that scenarios that end early do not bend the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.stats.bootstrap import Estimate, Floats, bootstrap_columns, bootstrap_times
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.fdb2.replies import JudgedEvent
from fdbcore.suites.staged.fdb2.scores import BINS, binned
from fdbcore.suites.staged.rows import Group, mean_of_known
from fdbcore.types import TICKS_PER_S

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedCurve, StagedCurvePoint

CURVES: Final = ("turn_taking", "instruction_following", "timing")
_MIDDLES_MIN: Final = np.array([(start_s + end_s) / 2 / 60 for start_s, end_s in BINS])
"""The middle of each bin, in minutes."""


def curves_of(group: Group) -> Iterator[StagedCurve]:
    """The curves of a group, of each measure that is known of any of its dialogues."""
    scenarios = list(group.cases.values())
    over_time, by_goal = _cells(scenarios, in_bins), _cells(scenarios, of_goals)
    for column, measure in enumerate(CURVES):
        timed = over_time[..., column]
        if np.isnan(timed).all():
            continue
        slope = slope_of(timed)
        yield {
            **group.place,
            "measure": measure,
            "slope_per_min": slope.value,
            "slope_ci95": slope.interval,
            "bins": _points(timed, [start_s for start_s, _ in BINS]),
            "goals": _points(without_scenarios(by_goal[..., column]), range(1, by_goal.shape[2] + 1)),
        }


def in_bins(case: StagedCase) -> Floats:
    """(bins, curves) of a dialogue; NaN where it has no score."""
    found = np.full((len(BINS), len(CURVES)), np.nan)
    for row, means in enumerate(binned(each for each, _ in _judged(case))):
        found[row, :2] = np.nan if means is None else means
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
        if goal.start_tick is None or goal.end_tick is None:
            continue
        marks = [
            marks for each, marks in _judged(case) if goal.start_tick <= each.start_s * TICKS_PER_S < goal.end_tick
        ]
        scores = [each.score for each in case.moments if goal.start_tick <= each.tick < goal.end_tick]
        if marks:
            found[row, :2] = np.mean(marks, axis=0)
        if scores:
            found[row, 2] = np.mean(scores)
    return found


def _judged(case: StagedCase) -> Iterator[tuple[JudgedEvent, tuple[float, float]]]:
    """The events with both marks."""
    for each in () if case.judged is None else case.judged.events:
        event = JudgedEvent(each["from_s"], each["to_s"], *(each["marks"].get(name) for name in CURVES[:2]))
        if event.scores is not None:
            yield event, event.scores


def _cells(scenarios: Sequence[Sequence[StagedCase]], of: Callable[[StagedCase], Floats]) -> Floats:
    """(scenarios, trials, places, curves); at least one of each."""
    parts = [[of(case) for case in own] for own in scenarios]
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
    timed = _cells(list(group.cases.values()), in_bins)
    return slope_of(timed[..., CURVES.index(measure)] - timed[..., CURVES.index(other)])


def without_scenarios(cells: Floats) -> Floats:
    """(scenarios, trials, places) less each scenario's own mean, plus the mean of those means."""
    means = mean_of_known(cells.reshape(len(cells), -1), axis=1)
    found: Floats = cells - means[:, None, None] + mean_of_known(means, axis=0)
    return found


def _points(cells: Floats, places: Iterable[float]) -> list[StagedCurvePoint]:
    """The mean at each place of (scenarios, trials, places), its interval over scenarios, and n of dialogues."""
    counts = (~np.isnan(cells)).sum(axis=(0, 1)).tolist()
    return [
        {"at": at, "n": n, "mean": estimate.value, "ci95": estimate.interval}
        for at, n, estimate in zip(places, counts, bootstrap_columns(cells), strict=True)
    ]
