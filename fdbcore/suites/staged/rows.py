"""The rows of a scores document: means over scenarios with intervals, of systems under pacings; and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.stats.bootstrap import Estimate, bootstrap_ci, bootstrap_columns
from fdbcore.stats.significance import detectable_difference, holm, pairs_needed, sign_flip_p, spread_of
from fdbcore.stats.strata import mean_of_means
from fdbcore.suites.staged.cases import BY_CHANCE, MET, PLANTED, TIMING, UNMET, LostCase, StagedCase, goal_values
from fdbcore.suites.staged.families import MARKS
from fdbcore.suites.staged.floors import FLOORS
from fdbcore.suites.staged.replied import UNKNOWN
from fdbcore.suites.staged.users import BOTH

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import (
        StagedComparison,
        StagedEventMean,
        StagedEventMeans,
        StagedFloor,
        StagedMean,
        StagedOverall,
        StagedPlace,
        StagedRow,
    )

MEASURES: Final = (
    "turn_taking", "instruction_following", "task_score", "turn_taking_worst", "instruction_following_worst",
    "turn_taking_75_s", "instruction_following_75_s",
    "goals_met", "timing", "all_goals_met", "wordings", "probes", "goal_s", "answer_ms", *TIMING, "talked_over",
    *PLANTED, *BY_CHANCE,
)  # fmt: skip
GOALS: Final = ("goals_met", "all_goals_met")
COMPARED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met", "timing")
"""The measures by which systems and pacings are compared; Holm's family is all comparisons of a document."""
BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(("turn_taking", "instruction_following", "task_score"), (1.0, 5.0)),
    **dict.fromkeys(("goals_met", "all_goals_met", "timing"), (0.0, 1.0)),
}
"""The least and the most that a compared measure can be, or one that a rule of passing may name."""

ORDER: Final = (*PACINGS, UNKNOWN)

Values = npt.NDArray[np.float64]


class Group(NamedTuple):
    """The dialogues of a system with one examiner under one pacing, by scenario; and its calls that are not scored."""

    pacing: str
    examiner: str
    system: str
    cases: Mapping[str, Sequence[StagedCase]]
    lost: Sequence[LostCase] = ()

    @property
    def place(self) -> StagedPlace:
        """Whose figures it gives."""
        return {"pacing": self.pacing, "examiner": self.examiner, "system": self.system}

    def of_family(self, family: str | None) -> Group:
        """The part that belongs to a family; None: all of it."""
        if family is None:
            return self
        cases = {name: own for name, own in self.cases.items() if own[0].family == family}
        return self._replace(cases=cases, lost=[each for each in self.lost if each.family == family])

    def values(self, scenarios: Sequence[str], measures: Sequence[str] = MEASURES) -> Values:
        """(scenarios, trials, measures), one row at least; NaN where a measure is not known."""
        return self._cells(scenarios, measures, 0)[:, :, 0]

    def draws(self, scenarios: Sequence[str], measures: Sequence[str] = MEASURES) -> Values:
        """(scenarios, trials, draws, measures): what intervals draw from; the values if there are no draws."""
        own = [case for each in scenarios for case in self.cases[each]]
        return self._cells(scenarios, measures, max((len(case.draws) for case in own), default=0))

    def means(self, scenarios: Sequence[str]) -> Values:
        """(scenarios, compared measures), over trials."""
        return mean_of_known(self.values(scenarios, COMPARED), axis=1)

    def drawn_means(self, scenarios: Sequence[str], measures: Sequence[str] = COMPARED) -> Values:
        """(scenarios, draws, measures), over trials: what intervals draw from."""
        return mean_of_known(self.draws(scenarios, measures), axis=1)

    def _cells(self, scenarios: Sequence[str], measures: Sequence[str], draws: int) -> Values:
        """The values of draws; of the values themselves if there are none."""
        trials = max((len(self.cases[each]) for each in scenarios), default=1)
        found = np.full((max(len(scenarios), 1), trials, max(draws, 1), len(measures)), np.nan)
        for row, scenario in enumerate(scenarios):
            for trial, case in enumerate(self.cases[scenario]):
                found[row, trial] = [case.values.get(measure, np.nan) for measure in measures]
                for draw, drawn in enumerate(case.draws[:draws]):
                    found[row, trial, draw] = [{**case.values, **drawn}.get(each, np.nan) for each in measures]
        return found


def mean_of_known(values: Values, axis: int) -> Values:
    """The mean over an axis of what is not NaN; NaN where nothing is."""
    counts = (~np.isnan(values)).sum(axis=axis)
    means: Values = np.divide(np.nansum(values, axis=axis), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means


def intervals_over_scenarios(drawn: Values) -> list[Estimate]:
    """`bootstrap_columns` of (scenarios, draws, columns), each column over the scenarios where it is known."""
    measured: npt.NDArray[np.bool_] = ~np.all(np.isnan(drawn), axis=1)
    return [
        bootstrap_columns(drawn[measured[:, k] if measured[:, k].any() else slice(None)][..., k : k + 1])[0]
        for k in range(drawn.shape[-1])
    ]


def _mean_of_scenarios(values: Values) -> Values:
    """Of (scenarios, trials, measures) the mean over scenarios of their means: each scenario has the same weight."""
    return mean_of_known(mean_of_known(values, axis=1), axis=0)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def groups_of(cases: Sequence[StagedCase], lost: Sequence[LostCase] = ()) -> list[Group]:
    """The groups of these dialogues, by pacing in the order of `PACINGS`, then by examiner and system.

    Scenarios are in the order of their names, and dialogues of one in that of their trials.
    """
    found: dict[tuple[str, str, str], dict[str, list[StagedCase]]] = {}
    for case in sorted(cases, key=lambda case: (case.scenario, case.trial)):
        found.setdefault((case.pacing, case.examiner, case.system), {}).setdefault(case.scenario, []).append(case)
    lost_by: dict[tuple[str, str, str], list[LostCase]] = {}
    for each in lost:
        if each.pacing in ORDER:  # otherwise it is a call of another kind
            lost_by.setdefault((each.pacing, each.examiner, each.system), []).append(each)
    keys = sorted({**found, **lost_by}, key=lambda key: (ORDER.index(key[0]), key))
    return [Group(*key, found.get(key, {}), lost_by.get(key, ())) for key in keys]


def overall_of(group: Group, families: Sequence[str]) -> StagedOverall | None:
    """The mean over families of their means, each with the same weight; None with fewer than two families."""
    parts = [group.of_family(family) for family in families]
    parts = [part for part in parts if part.cases]
    if len(parts) < 2:
        return None
    values = [part.values(list(part.cases)) for part in parts]
    drawn = [part.drawn_means(list(part.cases), MEASURES) for part in parts]
    means = mean_of_known(np.array([_mean_of_scenarios(own) for own in values]), 0)
    present = [[not np.isnan(own[..., column]).all() for own in values] for column in range(len(MEASURES))]
    return {
        **group.place,
        "families": [next(iter(part.cases.values()))[0].family for part in parts],
        "n": len(group.cases),
        "measures": {
            measure: {"mean": mean, "ci95": estimate.interval, "families": sum(there)}
            for measure, mean, estimate, there in zip(
                MEASURES, map(_or_none, means.tolist()), mean_of_means(drawn), present, strict=True
            )
        },
    }


def event_means_of(group: Group, families: Sequence[str | None]) -> Iterator[StagedEventMeans]:
    """The marks over all events of the group, and of each of these families; none without a judge."""
    for family in families:
        part = group.of_family(family)
        marked = [
            (scenario, event["marks"])
            for scenario, own in part.cases.items()
            for case in own
            if case.judged is not None
            for event in case.judged.events
        ]
        known = {
            name: [(each[name], scenario) for scenario, each in marked if each.get(name) is not None] for name in MARKS
        }
        if any(known.values()):
            yield {
                **group.place,
                "family": family,
                "measures": {name: _event_mean(own) for name, own in known.items() if own},
            }


def _event_mean(marked: Sequence[tuple[float, str]]) -> StagedEventMean:
    marks, scenarios = zip(*marked, strict=True)
    estimate = bootstrap_ci(np.array(marks, float), np.unique(scenarios, return_inverse=True)[1])
    return {"mean": float(np.mean(marks)), "ci95": estimate.interval, "n": len(marks)}


def rows_of(group: Group, families: Sequence[str | None]) -> Iterator[StagedRow]:
    """A row for each of these families that the group has; None: all families."""
    for family in families:
        part = group.of_family(family)
        if not part.cases and not part.lost:
            continue
        own = [case for of_scenario in part.cases.values() for case in of_scenario]
        goals = [goal for of_scenario in part.cases.values() for goal in of_scenario[0].goals]
        yield {
            **group.place,
            "family": family,
            "n": len(part.cases),
            "dialogues": len(own),
            "silent": sum(case.reason is not None for case in own),
            "failed": sum(each.kind == "failed" for each in part.lost),
            "invalid": sum(each.kind == "invalid" for each in part.lost),
            "missing": sum(each.kind == "missing" for each in part.lost),
            "only_echo": sum(case.only_echo for case in own),
            "spoke_first": sum(case.spoke_first for case in own),
            "goals": len(goals),
            "recited": sum(goal.is_recited for goal in goals),
            "measures": _means_of(part, MEASURES),
        }


def _means_of(group: Group, measures: Sequence[str]) -> dict[str, StagedMean]:
    scenarios = list(group.cases)
    values = group.values(scenarios, measures)
    means = _mean_of_scenarios(values).tolist()
    estimates = intervals_over_scenarios(group.drawn_means(scenarios, measures))
    there = [values[..., column][~np.isnan(values[..., column])] for column in range(len(measures))]
    return {
        measure: {
            "mean": _or_none(mean),
            "sd": float(np.std(known, ddof=1)) if len(known) > 1 else None,
            "ci95": estimate.interval,
            "n": len(known),
        }
        for measure, mean, estimate, known in zip(measures, means, estimates, there, strict=True)
    }


def floors_of(cases: Sequence[StagedCase], families: Sequence[str | None]) -> Iterator[StagedFloor]:
    """What each of FLOORS would have of the scenarios whose goals words decided, in each of these families (None: all).

    They hang on the briefs alone: one dialogue of a scenario tells them.
    """
    decided = {
        (case.pacing, case.examiner, case.scenario): case
        for case in cases
        if "all_goals_met" in case.values and all(goal.floors is not None for goal in case.goals)
    }
    for group in groups_of([_of_floor(case, floor) for case in decided.values() for floor in FLOORS]):
        for family in families:
            part = group.of_family(family)
            goals = [goal for (case,) in part.cases.values() for goal in case.goals]
            if goals:
                yield {
                    "pacing": group.pacing,
                    "examiner": group.examiner,
                    "floor": group.system,
                    "family": family,
                    "n": len(part.cases),
                    "goals": len(goals),
                    "met": sum(goal.verdict == MET for goal in goals),
                    "measures": _means_of(part, GOALS),
                }


def _of_floor(case: StagedCase, floor: str) -> StagedCase:
    goals = [replace(goal, verdict=MET if floor in (goal.floors or ()) else UNMET) for goal in case.goals]
    return replace(case, system=floor, goals=goals, values=goal_values(goals), draws=())


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
