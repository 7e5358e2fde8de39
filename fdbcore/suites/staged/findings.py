"""What a patient examiner wins back of what a hasty one costs, and what stays low all the same: two causes told apart.

Scheduling: the slow examiner less the fast one, on the same scenarios. Memory: under the slow examiner entity tracking
less the mean of the other families, each with the same weight; and the slope of instruction following less that of
turn-taking, through the same bins. In a sentence a system nothing is claimed that may be chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import numpy as np
from msgspec import Meta, Struct

from fdbcore.endpoints.examiner.actor import SCRIPTED
from fdbcore.report.format import counted
from fdbcore.results.pooling import draws_of_ids, means_of_ids
from fdbcore.stats.significance import pairs_needed
from fdbcore.stats.strata import contrast_of_means
from fdbcore.suites.staged.curves import slope_of_difference
from fdbcore.suites.staged.families import MARKS, builtin_families
from fdbcore.suites.staged.rows import Group
from fdbcore.suites.staged.scales import LABELS
from fdbcore.suites.staged.users import BOTH
from fdbcore.types.scorecard import Difference, Interval

MEMORY: Final = "entity"
"""The family whose scenarios need memory most."""
KEYLESS: Final = ("timing", "goals_met")
"""The measures that findings are of without a judge; with one, those are MARKS. The last one is compared between
families."""


class Contrast(Struct, frozen=True):
    """A difference of means, or of slopes, with its interval over scenarios. n: the scenarios."""

    value: float | None
    ci95: Interval
    n: int


class StagedFinding(Struct, frozen=True):
    """What a slow examiner wins back of a system's scores, and what stays low all the same."""

    system: str
    examiner: str
    slow: Annotated[str, Meta(description="pacing")]
    fast: Annotated[str, Meta(description="pacing that it is compared with")]
    won_back: Annotated[dict[str, Contrast], Meta(description="slow less fast on the same scenarios, by measure")]
    measure: Annotated[str, Meta(description="of memory")]
    memory: Annotated[Contrast | None, Meta(description="slow: entity tracking less the mean of the other families")]
    slope: Annotated[Contrast | None, Meta(description="slow, a minute: instruction following less turn-taking")]


def findings_of(groups: Sequence[Group], compared: Sequence[Difference]) -> Iterator[StagedFinding]:
    """What can be said of each system with a slow examiner. compared: the differences of the document."""
    fast_ones = {pair[0]: pair[1] for pair in BOTH.values()}
    for group in groups:
        if group.pacing not in fast_ones or not group.cases:
            continue
        measures = MARKS if any(MARKS[1] in case.values for case in group.cases) else KEYLESS
        fast = fast_ones[group.pacing]
        names = (group.condition, f"{group.system}, {group.pacing}", f"{group.system}, {fast}")
        own = {one.measure: one for one in compared if (one.condition, one.a, one.b) == names}
        won_back = {
            name: Contrast(own[name].difference, own[name].ci95, own[name].n)
            for name in measures
            if name in own and not (name == "goals_met" and _is_heard_later(group))
        }
        memory = _memory(group, measures[-1])
        yield StagedFinding(
            group.system, group.examiner, group.pacing, fast, won_back, measures[-1], memory, _slope(group)
        )


def _is_heard_later(group: Group) -> bool:
    """Whether goals were decided after the call: then the examiner went on without them, and the fast one sooner."""
    return any(goal.words is not None for case in group.cases for goal in case.goals)


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


def _slope(group: Group) -> Contrast | None:
    """The slope a minute of instruction following less that of turn-taking; None if no event has both marks."""
    found = slope_of_difference(group, MARKS[1], MARKS[0])
    return None if found.value is None else Contrast(found.value, found.interval, found.clusters)


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
    """What a contrast says, or that it cannot be told.

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
