"""What the verdicts of a judge on the content of replies come to: shares of systems, and paired tests between them.

A record that a system replied to in several trials counts by the mean of their verdicts. What has no verdict is left
out, also of the tests: these take the records on which both systems have one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fdbcore.runs.verdicts import Verdict
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings, paired
from fdbcore.suites.dialogue_acts.scoring.scores import Floats
from fdbcore.suites.dialogue_acts.sets import RecordSet

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ComparisonJson, ContentRow

CONTENT: Final = "content"
"""The measure of the comparisons: 1 for a reply whose content is right, 0 for one whose content is not."""
NOT_GIVEN: Final = Verdict(False, "")
"""On a reply that was not given: no judge is asked."""


class ReplyPlace(NamedTuple):
    """Which reply a verdict is on."""

    set: str
    id: str
    system: str
    trial: int


Verdicts = Mapping[ReplyPlace, Verdict]


def content_rows(of: RecordSet, verdicts: Verdicts) -> list[ContentRow]:
    """A row for each system; intervals are over records, or over recorded users where records are turns of these."""
    return [_row(of, system, verdicts) for system in _systems(of, verdicts)]


def content_comparisons(of: RecordSet, verdicts: Verdicts, settings: ScoringSettings) -> list[ComparisonJson]:
    """Each two systems, paired by record; `p_holm` is still missing."""
    means = {system: _means(of, system, verdicts) for system in _systems(of, verdicts)}
    names = list(combinations(means, 2))
    differences = [(means[a] - means[b])[:, None, None] for a, b in names]
    return list(paired(of.name, None, [CONTENT], names, differences, of.clusters, settings))


def _systems(of: RecordSet, verdicts: Verdicts) -> list[str]:
    return list(dict.fromkeys(place.system for place in verdicts if place.set == of.name))


def _known(of: RecordSet, system: str, verdicts: Verdicts) -> dict[str, list[bool]]:
    """The verdicts on the replies of a system, by record; none if the judge gave none at all: replies that were not
    given, of which it is not asked, would make a share of their own.
    """
    own = {place: each for place, each in verdicts.items() if (place.set, place.system) == (of.name, system)}
    found: defaultdict[str, list[bool]] = defaultdict(list)
    judged = [each.right is not None for each in own.values() if each is not NOT_GIVEN]
    if any(judged) or not judged:
        for place, verdict in own.items():
            if verdict.right is not None:
                found[place.id].append(verdict.right)
    return found


def _means(of: RecordSet, system: str, verdicts: Verdicts) -> Floats:
    """The mean verdict of each record, (records,); NaN where there is none."""
    known = _known(of, system, verdicts)
    return np.array([fmean(known[id]) if id in known else np.nan for id in of.records])


def _row(of: RecordSet, system: str, verdicts: Verdicts) -> ContentRow:
    given = sum((place.set, place.system) == (of.name, system) for place in verdicts)
    known = _known(of, system, verdicts)
    units = dict(zip(of.records, of.clusters or range(len(of.records)), strict=True))
    by_unit: defaultdict[int, list[bool]] = defaultdict(list)
    for id, own in known.items():
        by_unit[units[id]] += own
    pooled: Sequence[Sequence[bool]] = list(by_unit.values())
    n, right = sum(map(len, pooled)), sum(map(sum, pooled))
    interval = wilson_by_cluster(list(map(sum, pooled)), list(map(len, pooled))) if pooled else None
    row: ContentRow = {
        "set": of.name,
        "system": system,
        "n": n,
        "right": right,
        "unscored": given - n,
        "share": right / n if n else None,
        "ci95": None if interval is None else (interval.low, interval.high),
    }
    if of.clusters is not None:
        row["clusters"] = len(pooled)
    return row
