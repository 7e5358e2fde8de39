"""How often a system passes scenarios: pass@k and pass^k (`fdbcore.stats.passes`), means over the scenarios with k
trials or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.runtime.numbers import number_of
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.passes import pass_all, pass_at
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.rows import BOUNDS, Group

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedPasses

RULE: Final = "goals_met=1,task_score=4"
"""What passes unless the user says otherwise. Where there is no task score, goals are enough; where a reciter meets all
goals, the task score is."""
ALLOWED: Final = ("goals_met", "all_goals_met", "task_score", "turn_taking", "instruction_following", "timing")
"""The measures that a rule may name; more is better of all of them."""
JUDGED: Final = ("task_score", "turn_taking", "instruction_following")


def rule_of(text: str) -> dict[str, float]:
    """The least value of each measure that a dialogue needs to pass: "goals_met=1,task_score=4". SettingsError."""
    found: dict[str, float] = {}
    for part in text.split(","):
        measure, equals, least = (each.strip() for each in part.partition("="))
        if not equals or measure not in ALLOWED:
            raise SettingsError(f"--passes: expected MEASURE=LEAST of {', '.join(ALLOWED)}, got {part.strip()!r}")
        if measure in found:
            raise SettingsError(f"--passes: {measure}: expected it once, got it again: {least!r}")
        low, high = BOUNDS[measure]
        try:
            found[measure] = number_of(least)
        except ValueError:
            found[measure] = np.nan
        if not low <= found[measure] <= high:
            raise SettingsError(f"--passes: {measure}: expected a number from {low:g} to {high:g}, got {least!r}")
    return found


def passes(case: StagedCase, rule: Mapping[str, float]) -> bool | None:
    """Whether a dialogue passes; None if that cannot be told, because a measure that decides is not known."""
    has_none = {"task_score": not case.has_task_score, "goals_met": case.is_recited}
    needed = {name: least for name, least in rule.items() if not has_none.get(name)}
    if any(case.values[name] < least for name, least in needed.items() if name in case.values):
        return False
    return None if not needed or any(name not in case.values for name in needed) else True


def passes_of(group: Group, families: Sequence[str | None], rule: Mapping[str, float]) -> Iterator[StagedPasses]:
    """pass@k and pass^k of a group and its families (None: all), for each k up to the trials of a scenario.

    None where a measure that decides is known of no dialogue: only those that fail could be told.
    """
    known = {name for own in group.cases.values() for case in own for name in case.values}
    if {*rule} - {*known, "task_score"}:
        return
    for family in families:
        cases = group.of_family(family).cases
        told = {
            name: [verdict for case in own if (verdict := passes(case, rule)) is not None]
            for name, own in cases.items()
        }
        most = max(map(len, told.values()), default=0)
        if not most:
            continue
        counts = [(len(own), sum(own)) for own in told.values()]
        cells = [
            [formula(k, n, c) if k <= n else np.nan for formula in (pass_at, pass_all) for k in range(1, most + 1)]
            for n, c in counts
        ]
        estimates = bootstrap_columns(cells)
        yield {
            **group.place,
            "family": family,
            "dialogues": sum(n for n, _ in counts),
            "passed": sum(c for _, c in counts),
            "unknown": sum(map(len, cases.values())) - sum(n for n, _ in counts),
            "by_k": [
                {
                    "k": k,
                    "n": at_least.clusters,
                    "pass_at_k": at_least.value,
                    "pass_at_k_ci95": at_least.interval,
                    "pass_all_k": every.value,
                    "pass_all_k_ci95": every.interval,
                }
                for k, at_least, every in zip(range(1, most + 1), estimates[:most], estimates[most:], strict=True)
            ],
        }
