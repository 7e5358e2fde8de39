"""The rows of a scores document: means over scenarios with intervals, of each system under each pacing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.staged.cases import StagedCase

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedRow

MEASURES: Final = (
    "turn_taking", "instruction_following", "task_score", "turn_taking_worst", "instruction_following_worst",
    "goals_met", "timing", "wordings", "goal_s", "answer_ms", "answered_per_turn", "premature_per_turn", "talked_over",
)  # fmt: skip
COMPARED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met", "timing")
"""The measures by which systems and pacings are compared; Holm's family is all comparisons of a document."""

ORDER: Final = tuple(PACINGS)

Values = npt.NDArray[np.float64]


class Group(NamedTuple):
    """The dialogues of a system under one pacing, by scenario."""

    pacing: str
    system: str
    cases: Mapping[str, Sequence[StagedCase]]

    def values(self, scenarios: Sequence[str], measures: Sequence[str] = MEASURES) -> Values:
        """(scenarios, trials, measures); NaN where a measure is not known."""
        trials = max((len(self.cases[each]) for each in scenarios), default=1)
        found = np.full((len(scenarios), trials, len(measures)), np.nan)
        for row, scenario in enumerate(scenarios):
            for trial, case in enumerate(self.cases[scenario]):
                found[row, trial] = [case.values.get(measure, np.nan) for measure in measures]
        return found

    def means(self, scenarios: Sequence[str]) -> Values:
        """(scenarios, compared measures), over trials."""
        values = self.values(scenarios, COMPARED)
        counts = (~np.isnan(values)).sum(axis=1)
        means: Values = np.divide(
            np.nansum(values, axis=1), counts, out=np.full(counts.shape, np.nan), where=counts > 0
        )
        return means


def groups_of(cases: Sequence[StagedCase]) -> list[Group]:
    """The groups of these dialogues, by pacing in the order of `PACINGS`, then by system."""
    found: dict[tuple[str, str], dict[str, list[StagedCase]]] = {}
    for case in cases:
        found.setdefault((case.pacing, case.system), {}).setdefault(case.scenario, []).append(case)
    ordered = sorted(found.items(), key=lambda item: (ORDER.index(item[0][0]), item[0][1]))
    return [Group(pacing, system, own) for (pacing, system), own in ordered]


def rows_of(group: Group, families: Sequence[str | None]) -> Iterator[StagedRow]:
    """A row for each of these families that the group has; None: all families."""
    for family in families:
        scenarios = [name for name, own in group.cases.items() if family in (None, own[0].family)]
        if not scenarios:
            continue
        own = [case for name in scenarios for case in group.cases[name]]
        values = group.values(scenarios)
        estimates = bootstrap_columns(values)
        there = [values[..., column][~np.isnan(values[..., column])] for column in range(len(MEASURES))]
        yield {
            "pacing": group.pacing,
            "system": group.system,
            "family": family,
            "n": len(scenarios),
            "silent": sum(case.reason is not None for case in own),
            "spoke_first": sum(case.spoke_first for case in own),
            "measures": {
                measure: {
                    "mean": estimate.value,
                    "sd": float(np.std(known, ddof=1)) if len(known) > 1 else None,
                    "ci95": estimate.interval,
                }
                for measure, estimate, known in zip(MEASURES, estimates, there, strict=True)
            },
        }
