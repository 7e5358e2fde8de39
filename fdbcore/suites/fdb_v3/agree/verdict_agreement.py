"""How far people, judges, the exact matcher and measures agree on calls: the share, alpha and kappa, by metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.analysis.rater_groups import Between, rater_groups
from fdbcore.errors import SettingsError
from fdbcore.stats.bootstrap import Floats, bootstrap_times
from fdbcore.stats.raters import interval_alpha, kappas
from fdbcore.suites.fdb_v3.agree.verdict_tables import METRICS, RatedMetric, VerdictRater, first_of, read_verdicts
from fdbcore.suites.fdb_v3.judging.agreement import figure_of

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.agree.agreement_types import VerdictAgreement, VerdictComparison

SCHEMA: Final = "fdbcore.verdict_agreement/1"
PEOPLE: Final = "people"


def verdict_agreement(paths: Sequence[Path]) -> VerdictAgreement:
    """The agreement of all raters in these tables and scores.

    SettingsError for a file that cannot be used, and if no two raters gave verdicts on the same call.
    """
    tables = read_verdicts(paths)
    people = [each for each in tables.raters if each.kind == "person"]
    judges = [each for each in tables.raters if each.kind == "judge"]
    groups = list(rater_groups(people, judges, most_of))
    compared = [_comparison(metric, between, raters) for metric in METRICS for between, raters in groups]
    found = [each for each in compared if each is not None]
    if not found:
        why = first_of(tables.problems) or ": do recording and system fit?"
        raise SettingsError(f"expected calls on which two raters gave verdicts, got none{why}")
    return {
        "schema": SCHEMA,
        "raters": [{"name": each.name, "kind": each.kind, "calls": len(each.verdicts)} for each in tables.raters],
        "comparisons": found,
        "problems": [{"where": each.where, "reason": each.reason} for each in tables.problems],
    }


def most_of(people: Sequence[VerdictRater]) -> VerdictRater:
    """What more than half of those say who can tell, as one rater; it cannot tell where they are split."""
    most = VerdictRater(PEOPLE, "person")
    for call in dict.fromkeys(call for each in people for call in each.verdicts):
        for metric in METRICS:
            given = [each.verdicts[call][metric] for each in people if metric in each.verdicts.get(call, {})]
            known = [each for each in given if each is not None]
            if given:
                is_split = 2 * sum(known) == len(known)
                most.verdicts.setdefault(call, {})[metric] = None if is_split else 2 * sum(known) > len(known)
    return most


def _comparison(metric: RatedMetric, between: Between, raters: Sequence[VerdictRater]) -> VerdictComparison | None:
    """None if there is no call on which two of them gave a verdict."""
    calls = sorted({call for each in raters for call in each.verdicts})
    given = [[each.verdicts.get(call, {}).get(metric) for each in raters] for call in calls]
    kept = [row for row in given if sum(each is not None for each in row) >= 2]
    if not kept:
        return None
    ratings = np.array([[np.nan if each is None else float(each) for each in row] for row in kept])
    alike = (np.nanmin(ratings, axis=1) == np.nanmax(ratings, axis=1)).astype(float)
    return {
        "metric": metric,
        "between": between,
        "raters": [each.name for each in raters],
        "n": len(kept),
        "yes": [int(each) for each in np.nansum(ratings, axis=0)],
        "identical": figure_of(bootstrap_times(lambda times: times @ alike / times.sum(axis=1), len(kept))),
        "alpha": figure_of(bootstrap_times(partial(interval_alpha, ratings), len(kept))),
        "kappa": figure_of(bootstrap_times(_kappa_of(ratings), len(kept))) if len(raters) == 2 else None,
    }


def _kappa_of(ratings: Floats) -> Callable[[Floats], Floats]:
    pairs = np.eye(4)[(2 * ratings[:, 0] + ratings[:, 1]).astype(int)]
    return lambda times: kappas(times @ pairs)
