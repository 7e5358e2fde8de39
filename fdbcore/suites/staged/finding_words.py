"""A sentence a system: what a slow examiner wins back, and what stays low. Nothing is claimed that may be chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fdbcore.report.format import counted
from fdbcore.stats.significance import pairs_needed
from fdbcore.suites.staged.cases import SCRIPTED
from fdbcore.suites.staged.families import builtin_families
from fdbcore.suites.staged.findings import MEMORY

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedContrast, StagedDocument, StagedFinding


def sentences(document: StagedDocument, labels: Mapping[str, str]) -> Iterator[str]:
    """The findings of a document in words. labels: of measures."""
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
