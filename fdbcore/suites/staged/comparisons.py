"""Paired differences of systems under one pacing, and of the pacings of one system, on the same scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from fdbcore.stats.significance import detectable_difference, holm, pairs_needed, sign_flip_p, spread_of
from fdbcore.suites.staged.rows import COMPARED, Group, intervals_over_scenarios
from fdbcore.suites.staged.users import BOTH

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedComparison


def comparisons_of(groups: Sequence[Group]) -> list[StagedComparison]:
    """Paired differences of systems under one pacing, and of the two pacings of one system, corrected together."""
    found: list[StagedComparison] = []
    for a, b in combinations(groups, 2):
        if a.examiner != b.examiner:
            continue
        if a.pacing == b.pacing:
            found += _compared("systems", a, b)
        elif a.system == b.system and {a.pacing, b.pacing} in map(set, BOTH.values()):
            slow, fast = (a, b) if "slow" in a.pacing else (b, a)
            found += _compared("pacings", slow, fast)
    corrected = iter(holm([one["p"] for one in found if one["p"] is not None]))
    for one in found:
        one["p_holm"] = next(corrected) if one["p"] is not None else None
    return found


def _compared(between: Literal["systems", "pacings"], a: Group, b: Group) -> Iterator[StagedComparison]:
    scenarios = [name for name in a.cases if name in b.cases]
    if not scenarios:
        return
    differences = a.means(scenarios) - b.means(scenarios)
    p_values, needed = sign_flip_p(differences), pairs_needed()
    estimates = intervals_over_scenarios(a.drawn_means(scenarios) - b.drawn_means(scenarios))
    for column, (measure, estimate) in enumerate(zip(COMPARED, estimates, strict=True)):
        there = differences[~np.isnan(differences[:, column]), column]
        if not len(there):
            continue
        yield {
            "between": between,
            "pacing": a.pacing,
            "examiner": a.examiner,
            "measure": measure,
            "a": a.system if between == "systems" else f"{a.system}, {a.pacing}",
            "b": b.system if between == "systems" else f"{b.system}, {b.pacing}",
            "n": len(there),
            "difference": float(there.mean()),
            "ci95": estimate.interval,
            "p": p_values[column],
            "p_holm": None,
            "detectable": None if len(there) < needed else detectable_difference(spread_of(there), len(there)),
        }
