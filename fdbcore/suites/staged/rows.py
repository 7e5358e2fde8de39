"""The rows, differences and passes of a scores document: of systems with one examiner under one pacing each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fdbcore.endpoints import PACINGS, SCRIPTED
from fdbcore.errors import SettingsError
from fdbcore.results import Pair, ScoredItem, differences, draws_of_ids, figure_of_ids, means_of_ids, passes_of
from fdbcore.runtime import number_of
from fdbcore.stats import bootstrap_ci, mean_of_means
from fdbcore.suites.staged.cases import LostCase, StagedCase
from fdbcore.suites.staged.goals import FLOORS, MET, UNMET, goal_values
from fdbcore.suites.staged.replied import UNKNOWN
from fdbcore.suites.staged.scales import COMPARED, EVENTS_MEAN, FAMILIES_MEAN, LABELS, SCALES
from fdbcore.suites.staged.scenarios import MARKS
from fdbcore.suites.staged.users import BOTH
from fdbcore.types.scorecard import Difference, Figure, Passes, Scale, ScoreRow

ORDER: Final = (*PACINGS, UNKNOWN)
RULE: Final = "goals_met=1,task_score=4"
"""What passes unless the user says otherwise. Where there is no task score, goals are enough; where a reciter meets all
goals, the task score is."""
ALLOWED: Final = {
    name: COMPARED["goals_met" if name == "all_goals_met" else name]
    for name in ("goals_met", "all_goals_met", "task_score", "turn_taking", "instruction_following", "timing")
}
"""The measures that a rule may name, with their bounds; more is better of all of them."""
JUDGED: Final = ("task_score", *MARKS)


class StagedCondition(Struct, frozen=True):
    """A condition: an examiner, who plays side A, under one pacing. Different ones are never put together."""

    pacing: str
    examiner: str

    @property
    def heading(self) -> str:
        """It in words; the scripted examiner has no name."""
        paced = "examiner of unknown pacing" if self.pacing == UNKNOWN else f"{self.pacing} examiner"
        return paced if self.examiner == SCRIPTED else f"{paced}: {self.examiner}"


class StagedPlace(StagedCondition, frozen=True):
    """Whose figures they are: those of a system under a condition."""

    system: str


class Group(NamedTuple):
    """A system's dialogues under a condition, by scenario and trial; and its calls that are not scored."""

    condition: str
    pacing: str
    examiner: str
    system: str
    cases: Sequence[StagedCase]
    lost: Sequence[LostCase] = ()

    @property
    def place(self) -> tuple[str, str, str]:
        """Whose figures it gives: the fields of a `StagedPlace`."""
        return self.pacing, self.examiner, self.system

    @property
    def items(self) -> list[ScoredItem]:
        """The dialogues, ready to be pooled."""
        return [
            ScoredItem(
                self.condition, self.system, case.scenario, {k: (v,) for k, v in case.values.items()}, draws=case.draws
            )
            for case in self.cases
        ]

    @property
    def scenarios(self) -> list[list[StagedCase]]:
        """The dialogues of each scenario."""
        found: dict[str, list[StagedCase]] = {}
        for case in self.cases:
            found.setdefault(case.scenario, []).append(case)
        return list(found.values())

    def of_family(self, family: str) -> Group:
        """The part that belongs to a family; "": all of it."""
        if not family:
            return self
        cases = [case for case in self.cases if case.family == family]
        return self._replace(cases=cases, lost=[each for each in self.lost if each.family == family])


def groups_of(cases: Sequence[StagedCase], lost: Sequence[LostCase] = ()) -> list[Group]:
    """The groups of these dialogues, by pacing in the order of `PACINGS`, then by examiner and system."""
    found: dict[tuple[str, str, str], tuple[list[StagedCase], list[LostCase]]] = {}
    for case in sorted(cases, key=lambda case: (case.scenario, case.trial)):
        found.setdefault((case.pacing, case.examiner, case.system), ([], []))[0].append(case)
    for each in lost:
        if each.pacing in ORDER:  # otherwise it is a call of another kind
            found.setdefault((each.pacing, each.examiner, each.system), ([], []))[1].append(each)
    several = len({examiner for _, examiner, _ in found}) > 1
    return [
        Group(f"{key[0]}, {key[1]}" if several else key[0], *key, *found[key])
        for key in sorted(found, key=lambda key: (ORDER.index(key[0]), key))
    ]


def rows_of(groups: Sequence[Group], families: Sequence[str]) -> Iterator[ScoreRow]:
    """For each group the row of all its dialogues, one for each family that it has any of, and the means over families
    and over events; then what each of FLOORS would have under the same conditions.
    """
    parts = ["", *(families if len(families) > 1 else [])]
    for group in groups:
        own = [(family, part) for family in parts if (part := group.of_family(family)).cases or part.lost]
        yield from (_row(part, family) for family, part in own)
        yield from _over_families([part for family, part in own if family and part.cases])
        yield from (row for family, part in own for row in _over_events(part, family))
    for condition in dict.fromkeys(group.condition for group in groups):
        yield from _floors([group for group in groups if group.condition == condition], parts)


def _row(part: Group, family: str) -> ScoreRow:
    goals = [goal for first, *_ in part.scenarios for goal in first.goals]
    lost = Counter(each.kind for each in part.lost)
    counts = {
        "dialogues": len(part.cases),
        "silent": sum(case.reason is not None for case in part.cases),
        "only_echo": sum(case.only_echo for case in part.cases),
        "spoke_first": sum(case.spoke_first for case in part.cases),
        **{kind: lost[kind] for kind in ("failed", "invalid", "missing")},
        "goals": len(goals),
        "recited": sum(goal.is_recited for goal in goals),
    }
    n, measures = len(part.scenarios), _figures(part)
    note = ", ".join(_counted(counts, n, measures))
    return ScoreRow(part.condition, "system", part.system, n, measures, note, family, counts)


def _figures(part: Group, scales: Sequence[Scale] = SCALES) -> dict[str, Figure]:
    items = part.items
    found = {scale.id: figure_of_ids(items, scale) for scale in scales}
    return {name: figure for name, figure in found.items() if figure is not None}


def _counted(counts: Mapping[str, int], n: int, measures: Mapping[str, Figure]) -> Iterator[str]:
    """What stands beside the means of n scenarios: dialogues that say little, and calls that are not among them."""
    if counts["dialogues"] != n:
        yield f"{counts['dialogues']} dialogues"
    for name in COMPARED:
        if name in measures and (known := measures[name].n) != counts["dialogues"]:
            yield f"{LABELS[name]} of {known}"
    if counts["recited"] and "all_goals_met" in measures:
        yield f"{counts['recited']} of {counts['goals']} goals that a reciter meets are left out"
    told = {
        "silent": "silent",
        "only_echo": "only echo of the examiner",
        "spoke_first": "opened by the system",
        "failed": "failed, not scored",
        "invalid": "invalid, not scored",
        "missing": "missing",
    }
    yield from (f"{counts[name]} {what}" for name, what in told.items() if counts[name])


def _over_families(parts: Sequence[Group]) -> Iterator[ScoreRow]:
    """The mean over the means of two families or more. The n of a figure is that of the families that have it."""
    if len(parts) < 2:
        return
    parts = sorted(parts, key=lambda part: part.cases[0].family)
    items, measures = [part.items for part in parts], {}
    drawn = [
        np.stack([np.array([*draws_of_ids(own, scale.id).values()]) for scale in SCALES], axis=-1) for own in items
    ]
    for scale, estimate in zip(SCALES, mean_of_means(drawn), strict=True):
        if found := [means.values() for own in items if (means := means_of_ids(own, scale.id))]:
            mean = sum(sum(own) / len(own) for own in found) / len(found)
            measures[scale.id] = Figure(mean, None, estimate.interval, len(found))
    n = sum(len(part.scenarios) for part in parts)
    yield ScoreRow(parts[0].condition, "overall", parts[0].system, n, measures, subset=FAMILIES_MEAN)


def _over_events(part: Group, family: str) -> Iterator[ScoreRow]:
    """The marks over all events, each with the same weight; none without a judge. Intervals resample scenarios."""
    judged = [(case.scenario, each) for case in part.cases for each in case.events]
    measures = {}
    for name in MARKS:
        known = [(each["marks"][name], scenario) for scenario, each in judged if each["marks"].get(name) is not None]
        if known:
            marks, scenarios = zip(*known, strict=True)
            estimate = bootstrap_ci(np.array(marks, float), np.unique(scenarios, return_inverse=True)[1])
            measures[name] = Figure(float(np.mean(marks)), None, estimate.interval, len(marks))
    if measures:
        subset = f"{EVENTS_MEAN}, {family}" if family else EVENTS_MEAN
        yield ScoreRow(part.condition, "overall", part.system, len(part.scenarios), measures, subset=subset)


def _floors(groups: Sequence[Group], families: Sequence[str]) -> Iterator[ScoreRow]:
    """What FLOORS would have of a condition's scenarios whose goals words decided: the briefs alone tell it."""
    decided = {
        case.scenario: case
        for group in groups
        for case in group.cases
        if "all_goals_met" in case.values and all(goal.floors is not None for goal in case.goals)
    }
    scales = [scale for scale in SCALES if scale.id in ("goals_met", "all_goals_met")]
    for floor, does in FLOORS.items():
        whole = groups[0]._replace(system=floor, cases=[_of_floor(decided[name], floor) for name in sorted(decided)])
        for family in families:
            part = whole.of_family(family)
            goals = [goal for case in part.cases for goal in case.goals]
            counts = {"goals": len(goals), "met": sum(goal.verdict == MET for goal in goals)}
            note = f"{does}; {counts['met']} of all {counts['goals']} goals met"
            if goals:
                n, measures = len(part.cases), _figures(part, scales)
                yield ScoreRow(part.condition, "baseline", floor, n, measures, note, family, counts)


def _of_floor(case: StagedCase, floor: str) -> StagedCase:
    goals = [replace(goal, verdict=MET if floor in (goal.floors or ()) else UNMET) for goal in case.goals]
    return replace(case, goals=goals, values=goal_values(goals), draws=())


def differences_of(groups: Sequence[Group]) -> list[Difference]:
    """Paired differences of systems under one condition, and of the two pacings of one system, corrected together."""
    pairs = []
    for a, b in combinations(groups, 2):
        if a.examiner != b.examiner:
            continue
        if a.pacing == b.pacing:
            pairs.append(Pair(a.condition, a.system, b.system, a.items, b.items))
        elif a.system == b.system and {a.pacing, b.pacing} in map(set, BOTH.values()):
            slow, fast = (a, b) if "slow" in a.pacing else (b, a)
            one, other = (f"{each.system}, {each.pacing}" for each in (slow, fast))
            pairs.append(Pair(slow.condition, one, other, slow.items, fast.items))
    return differences(pairs, SCALES)


def rule_of(text: str) -> dict[str, float]:
    """The least value of each measure that a dialogue needs to pass: "goals_met=1,task_score=4". SettingsError."""
    found: dict[str, float] = {}
    for part in text.split(","):
        measure, equals, least = (each.strip() for each in part.partition("="))
        if not equals or measure not in ALLOWED:
            raise SettingsError(f"--passes: expected MEASURE=LEAST of {', '.join(ALLOWED)}, got {part.strip()!r}")
        if measure in found:
            raise SettingsError(f"--passes: {measure}: expected it once, got it again: {least!r}")
        low, high = ALLOWED[measure]
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


def passes_of_group(group: Group, families: Sequence[str], rule: Mapping[str, float]) -> Iterator[Passes]:
    """How often a group passes, in all and by family; nothing where a measure that decides is known of no dialogue."""
    known = {name for case in group.cases for name in case.values}
    if {*rule} - {*known, "task_score"}:
        return
    for family in ["", *(families if len(families) > 1 else [])]:
        part = group.of_family(family)
        verdicts = [passes(case, rule) for case in part.cases]
        items = [
            replace(item, values={} if verdict is None else {"passed": (float(verdict),)})
            for item, verdict in zip(part.items, verdicts, strict=True)
        ]
        found = passes_of(items, lambda item: bool(item.values["passed"][0]) if item.values else None, family)
        if found is not None:
            yield found
