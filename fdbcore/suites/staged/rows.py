"""The measures of staged dialogues, in plain words, and what a scores document has of them: the rows, differences and
passes of systems with one examiner under one pacing each.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fdbcore.analysis import LostCall
from fdbcore.endpoints import PACINGS, SCRIPTED
from fdbcore.errors import SettingsError
from fdbcore.measures import MEASURES, answers, overlaps, stop_share
from fdbcore.report import TERMS as GLOSSARY
from fdbcore.report import in_words, shown_unit
from fdbcore.results import Pair, ScoredItem, differences, draws_of_ids, figure_of_ids, means_of_ids, passes_of
from fdbcore.runtime import number_of
from fdbcore.stats import bootstrap_ci, mean_of_means
from fdbcore.suites.staged.cases import BY_CHANCE, PLANTED, TIMING, StagedCase, place_of
from fdbcore.suites.staged.goals import FLOORS, MET, UNMET, goal_values
from fdbcore.suites.staged.replies import UNKNOWN
from fdbcore.suites.staged.scenarios import MARKS
from fdbcore.suites.staged.users import BOTH
from fdbcore.types import TurnSettings
from fdbcore.types.scorecard import DETECTABLE, Difference, Figure, Measure, Passes, ScoreRow

FAMILIES_MEAN: Final = "mean of families"
EVENTS_MEAN: Final = "mean of events"
TERMS: Final = {
    "turn-taking": "A judge's score of every event, 1 to 5: how smoothly the system took, kept and left the floor.",
    "instruction following": "A judge's score of every event, 1 to 5: how well it does what was asked so far.",
    "task score": "A judge's score of the dialogue, 1 to 5, by the rubric of its family; daily dialogues have none.",
    "goals met": "Share of a scenario's goals after which the system had said what shows that the goal is met. Where a "
    "program decides this by words, goals that a reciter meets are left out; a scenario without others has no score.",
    "all goals met": "The same share of all goals.",
    **{floor: f"No system: what one would have that {does}." for floor, does in FLOORS.items()},
    "timing score": "0 to 1, over all opportunities of the system: an answer scores 1 from 0.5 to 2 s, 0 at -0.5 "
    "and at 3.5 s; no response scores 0; a premature one at most 0.5, from where "
    "the examiner would have ended; yielding scores 1 at once and 0 after 2 s "
    "(after EVA-Bench, arXiv 2605.13841).",
    "to 75 s": "The mean of a dialogue's first five bins of 15 s, as published tables have it; an event with both "
    "scores counts in each bin by the seconds of it in that bin.",
    "attempts a goal": "How often the examiner had to say it: 1 is the least.",
    "probes a goal": "How often the scripted examiner then had to ask for what was missing.",
    "time a goal": "From its first wording to the examiner's decision.",
    "response latency": "Median from the end of the examiner's turn to the system's first sound.",
    "talked over": "Share of what the examiner said for goals that it broke off, because the system began in it.",
    **{name: in_words(GLOSSARY[name], TurnSettings()) for name in ("A and B", "Opportunity")},
    **{MEASURES[name].label: in_words(MEASURES[name].meaning, TurnSettings()) for name in (*TIMING, *PLANTED)},
    **{
        f"{MEASURES[name].label}, by chance": "What a deaf system has there: so often its own pauses look like a stop."
        for name in BY_CHANCE.values()
    },
    "unscored at worst": "The mean with 1 in place of every score that is missing.",
    EVENTS_MEAN: "The mean over all events of all dialogues; one with many events weighs more.",
    FAMILIES_MEAN: "The mean over families of their means: each family that has the score counts the same.",
    "95 % interval": "Bootstrap over scenarios, and over the trials of each. There is none of a single scenario, "
    "and where all are alike.",
    "SD": "The standard deviation of single dialogues.",
    "p": "How often a difference as large would come about by chance: the sign of each pair's difference is flipped at "
    "random. A pair is a scenario that both have. Of n pairs p is at least 2 / 2^n.",
    "Holm": "p, corrected for the number of comparisons (Holm 1979): pairs of systems and of pacings, in each score.",
    DETECTABLE: "The least true difference that so many pairs find four times in five, by a t test without the "
    "correction. None where p cannot fall below 0.05.",
    "pass": "How many dialogues pass by the rule that stands above the table (--passes).",
    "pass@k": "The chance that at least one of k trials of a scenario passes (arXiv 2107.03374).",
    "pass^k": "The chance that all of k trials of a scenario pass (arXiv 2406.12045).",
    "slope a minute": "How much the score changes in a minute of a call, by a line through its bins of 15 s.",
    "by goal": "Means of the first goal, the second, ..., with each scenario's own mean taken out, so that those that "
    "end early do not bend the curve.",
    "silent": "Dialogues in which the system said nothing. They count.",
    "only echo of the examiner": "Dialogues in which all that was heard of the system is echo. They count.",
    "scored in part": "Dialogues that are scored, but for what needs words or scores that are missing.",
}
ORDER: Final = (*PACINGS, UNKNOWN)
RULE: Final = "goals_met=1,task_score=4"
"""The rule to pass unless the user says otherwise. Where there is no task score, goals are enough; where a reciter
meets all goals, the task score is."""
JUDGED: Final = ("task_score", *MARKS)


def _catalogued(name: str, part: str = "") -> Measure:
    """A measure that runs are compared by as a scale; one with a part is of what the examiner planted."""
    of = MEASURES[name]
    unit, decimals = {"share": ("", 2), "ms": ("ms", 0)}.get(of.unit, (shown_unit(of.shown_in), 1))
    planted: Literal[-1, 1] = 1 if name in (stop_share("interruption"), "b_selectivity") else -1
    direction = planted if part else of.direction
    return Measure(name, of.label, direction, unit, decimals, part=part or of.group.title)


def _with_chance(scales: Iterable[Measure]) -> Iterator[Measure]:
    """The scales, each followed by what a system that hears nothing has in it, where that is known."""
    beside = {name: scale for scale, name in BY_CHANCE.items()}
    for scale in scales:
        yield scale
        if scale.id in beside:
            yield replace(scale, id=beside[scale.id], label=f"{scale.label}, by chance", direction=0)


def _compared(name: str, label: str, low: float, high: float) -> Measure:
    """A measure that systems and pacings are compared by."""
    return Measure(name, label, 1, decimals=2, main=True, bounds=(low, high), compared=True)


SCALES: Final = (
    _compared("turn_taking", "turn-taking", 1, 5),
    _compared("instruction_following", "instruction following", 1, 5),
    _compared("task_score", "task score", 1, 5),
    Measure("turn_taking_worst", "turn-taking", 1, decimals=2, part="unscored at worst"),
    Measure("instruction_following_worst", "instruction following", 1, decimals=2, part="unscored at worst"),
    Measure("turn_taking_75_s", "turn-taking to 75 s", 1, decimals=2, part="first five bins"),
    Measure("instruction_following_75_s", "instruction following to 75 s", 1, decimals=2, part="first five bins"),
    _compared("goals_met", "goals met", 0, 1),
    _compared("timing", "timing score", 0, 1),
    Measure("all_goals_met", "all goals met", 1, decimals=2, part="goals"),
    Measure("wordings", "attempts a goal", -1, decimals=2, part="goals"),
    Measure("probes", "probes a goal", -1, decimals=2, part="goals"),
    Measure("goal_s", "time a goal", -1, "s", 1, part="goals"),
    Measure("answer_ms", "response latency", -1, "ms", 0, part=answers.GROUP.title),
    *(_catalogued(name) for name in TIMING if MEASURES[name].group is answers.GROUP),
    Measure("talked_over", "talked over", -1, decimals=2, part=overlaps.GROUP.title),
    *_with_chance(_catalogued(name) for name in TIMING if MEASURES[name].group is not answers.GROUP),
    *_with_chance(_catalogued(name, "What the examiner planted") for name in PLANTED),
)
COMPARED: Final = {scale.id: scale.bounds or (0.0, 1.0) for scale in SCALES if scale.compared}
"""The measures by which systems and pacings are compared, each with the least and the most that it can be."""
LABELS: Final = {scale.id: scale.label for scale in SCALES if not scale.id.endswith(("_worst", "_75_s"))}

ALLOWED: Final = {
    name: COMPARED["goals_met" if name == "all_goals_met" else name]
    for name in ("goals_met", "all_goals_met", "task_score", "turn_taking", "instruction_following", "timing")
}
"""The measures that a rule may name, with their bounds; more is better of all of them."""


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
    """The place of figures: those of a system under a condition."""

    system: str


class Group(NamedTuple):
    """A system's dialogues under a condition, by scenario and trial; and its calls that are not scored."""

    condition: str
    pacing: str
    examiner: str
    system: str
    cases: Sequence[StagedCase]
    lost: Sequence[LostCall] = ()

    @property
    def place(self) -> tuple[str, str, str]:
        """The place of its figures: the fields of a `StagedPlace`."""
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

    def of_family(self, family: str) -> "Group":
        """The part that belongs to a family; "": all of it."""
        if not family:
            return self
        cases = [case for case in self.cases if case.family == family]
        return self._replace(cases=cases, lost=[each for each in self.lost if each.columns.get("family") == family])


def groups_of(cases: Sequence[StagedCase], lost: Sequence[LostCall] = ()) -> list[Group]:
    """The groups of these dialogues, by pacing in the order of `PACINGS`, then by examiner and system."""
    found: dict[tuple[str, str, str], tuple[list[StagedCase], list[LostCall]]] = {}
    for case in sorted(cases, key=lambda case: (case.scenario, case.trial)):
        found.setdefault((case.pacing, case.examiner, case.system), ([], []))[0].append(case)
    for each in lost:
        pacing, examiner = place_of(each)
        if pacing in ORDER:  # otherwise it is a call of another kind
            found.setdefault((pacing, examiner, each.system), ([], []))[1].append(each)
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


def _figures(part: Group, scales: Sequence[Measure] = SCALES) -> dict[str, Figure]:
    items = part.items
    found = {scale.id: figure_of_ids(items, scale) for scale in scales}
    return {name: figure for name, figure in found.items() if figure is not None}


def _counted(counts: Mapping[str, int], n: int, measures: Mapping[str, Figure]) -> Iterator[str]:
    """Remarks beside the means of n scenarios: dialogues that say little, and calls that are not among them."""
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
    """Scores that FLOORS would have of a condition's scenarios whose goals words decided: the briefs alone tell it."""
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
            one, other = (paced(each.system, each.pacing) for each in (slow, fast))
            pairs.append(Pair(slow.condition, one, other, slow.items, fast.items))
    return differences(pairs, SCALES)


def paced(system: str, pacing: str) -> str:
    """A system under one pacing of the examiner, beside itself under another: "slow [fast examiner]"."""
    return f"{system} [{pacing} examiner]"


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
    """True if a dialogue passes; None if that cannot be told, because a measure that decides is not known."""
    has_none = {"task_score": not case.has_task_score, "goals_met": case.is_recited}
    needed = {name: least for name, least in rule.items() if not has_none.get(name)}
    if any(case.values[name] < least for name, least in needed.items() if name in case.values):
        return False
    return None if not needed or any(name not in case.values for name in needed) else True


def passes_of_group(group: Group, families: Sequence[str], rule: Mapping[str, float]) -> Iterator[Passes]:
    """Pass rates of a group, in all and by family; nothing where a measure that decides is known of no dialogue."""
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
