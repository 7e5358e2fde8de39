"""What a patient examiner wins back of what a hasty one costs, and what stays low all the same: two causes told apart.

Scheduling: the slow examiner less the fast one, on the same scenarios. Memory: under the slow examiner entity tracking
less the mean of the other families, each with the same weight; and the slope of instruction following less that of
turn-taking, through the same bins. In a sentence a system nothing is claimed that may be chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.report.format import counted
from fdbcore.stats.significance import pairs_needed
from fdbcore.stats.strata import contrast_of_means
from fdbcore.suites.staged.cases import SCRIPTED
from fdbcore.suites.staged.curves import slope_of_difference
from fdbcore.suites.staged.families import builtin_families
from fdbcore.suites.staged.rows import Group
from fdbcore.suites.staged.users import BOTH

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedComparison, StagedContrast, StagedDocument, StagedFinding

MEMORY: Final = "entity"
"""The family whose scenarios need memory most."""
JUDGED: Final = ("turn_taking", "instruction_following")
KEYLESS: Final = ("timing", "goals_met")
"""The measures that findings are of, with a judge and without one; the last one is compared between families."""


def findings_of(groups: Sequence[Group], compared: Sequence[StagedComparison]) -> Iterator[StagedFinding]:
    """What can be said of each system with a slow examiner. compared: the comparisons of the document."""
    fast_ones = {pair[0]: pair[1] for pair in BOTH.values()}
    for group in groups:
        if group.pacing not in fast_ones or not group.cases:
            continue
        is_judged = any(JUDGED[1] in case.values for own in group.cases.values() for case in own)
        measures = JUDGED if is_judged else KEYLESS
        slow, fast = (f"{group.system}, {pacing}" for pacing in (group.pacing, fast_ones[group.pacing]))
        own = {
            one["measure"]: one
            for one in compared
            if (one["between"], one["examiner"], one["a"], one["b"]) == ("pacings", group.examiner, slow, fast)
        }
        yield {
            "system": group.system,
            "examiner": group.examiner,
            "slow": group.pacing,
            "fast": fast_ones[group.pacing],
            "won_back": {
                name: {"value": own[name]["difference"], "ci95": own[name]["ci95"], "n": own[name]["n"]}
                for name in measures
                if name in own and not (name == "goals_met" and _is_heard_later(group))
            },
            "measure": measures[-1],
            "memory": _memory(group, measures[-1]),
            "slope": _slope(group),
        }


def _is_heard_later(group: Group) -> bool:
    """Whether goals were decided after the call: then the examiner went on without them, and the fast one sooner."""
    return any(goal.words is not None for own in group.cases.values() for case in own for goal in case.goals)


def _memory(group: Group, measure: str) -> StagedContrast | None:
    """Entity tracking less the mean of the other families; None if one side is not known."""
    means, drawn = {}, {}
    for family in dict.fromkeys(own[0].family for own in group.cases.values()):
        part = group.of_family(family)
        each = part.drawn_means(list(part.cases), [measure])[..., 0]
        known = ~np.isnan(each).all(axis=1)
        if known.any():
            drawn[family] = each[known]
            means[family] = float(np.nanmean(np.nanmean(part.values(list(part.cases), [measure])[known, :, 0], axis=1)))
    others = [family for family in drawn if family != MEMORY]
    if MEMORY not in drawn or not others:
        return None
    families, weights = [MEMORY, *others], [1.0, *(-1 / len(others) for _ in others)]
    estimate = contrast_of_means([drawn[family] for family in families], weights)
    value = float(np.dot([means[family] for family in families], weights))
    return {"value": value, "ci95": estimate.interval, "n": estimate.clusters}


def _slope(group: Group) -> StagedContrast | None:
    """The slope a minute of instruction following less that of turn-taking; None if no event has both marks."""
    found = slope_of_difference(group, JUDGED[1], JUDGED[0])
    return None if found.value is None else {"value": found.value, "ci95": found.interval, "n": found.clusters}


def sentences(document: StagedDocument, labels: Mapping[str, str]) -> Iterator[str]:
    """The findings of a document in words, a sentence a system. labels: of measures."""
    for finding in document["findings"]:
        if clauses := list(_clauses(finding, labels)):
            examiner = "" if finding["examiner"] == SCRIPTED else f" ({finding['examiner']})"
            yield f"{finding['system']}, {finding['slow']} examiner{examiner}: {'; '.join(clauses)}."


def _clauses(finding: StagedFinding, labels: Mapping[str, str]) -> Iterator[str]:
    for name, won in finding["won_back"].items():
        label, fast = labels[name], finding["fast"]
        yield _clause(
            won,
            f"it wins back {{}} of {label} over the {fast} one",
            f"it loses {{}} of {label} against the {fast} one",
            f"whether it wins back any {label} over the {fast} one",
        )
    if (memory := finding["memory"]) is not None:
        family, label = builtin_families()[MEMORY].title.lower(), labels[finding["measure"]]
        yield _clause(
            memory,
            f"{family} is {{}} above the other families in {label}",
            f"{family} stays {{}} below the other families in {label}",
            f"whether {family} stays below the other families in {label}",
        )
    if (slope := finding["slope"]) is not None:
        following, taking = labels["instruction_following"], labels["turn_taking"]
        yield _clause(
            slope,
            f"over time {following} gains {{}} a minute on {taking}",
            f"over time {following} loses {{}} a minute against {taking}",
            f"whether {following} falls faster than {taking} over time",
        )


def _clause(of: StagedContrast, above: str, below: str, whether: str) -> str:
    """What a contrast says, or that it cannot be told.

    Nor can it from fewer scenarios than a test needs: where there is no difference, a tenth to a half of the intervals
    of 2 to 5 scenarios miss 0.
    """
    value, limits = of["value"], of["ci95"]
    scenarios = counted(of["n"], "scenario")
    if value is None or limits is None:
        return f"{whether} cannot be told from {scenarios}"
    if limits[0] <= 0 <= limits[1] or of["n"] < pairs_needed():
        return f"{whether} cannot be told from {scenarios} ({value:+.2f} [{limits[0]:+.2f}, {limits[1]:+.2f}])"
    low, high = sorted(map(abs, limits))
    return (above if value > 0 else below).format(f"{abs(value):.2f} [{low:.2f}, {high:.2f}]")
