"""Scores of staged dialogues: means over scenarios with intervals, and paired differences of systems and pacings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fdbcore._version import __version__
from fdbcore.endpoints.examiner.pacing import PACINGS
from fdbcore.errors import InputError, SettingsError, told_as
from fdbcore.protocols import Judge, Transcriber
from fdbcore.registry import judge, transcriber
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED, bootstrap_columns
from fdbcore.stats.significance import POWER, detectable_difference, holm, sign_flip_p
from fdbcore.suites.staged.cases import NOT_HEARD, StagedCase, cases_of
from fdbcore.suites.staged.judging import DialogueMarks, judge_dialogue
from fdbcore.suites.staged.users import BOTH, families_of
from fdbcore.types import TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import (
        StagedComparison,
        StagedDocument,
        StagedGoalJson,
        StagedItem,
        StagedRow,
    )

SCHEMA: Final = "fdbcore.staged/1"
MEASURES: Final = (
    "turn_taking", "instruction_following", "task_score", "turn_taking_worst", "instruction_following_worst",
    "goals_met", "timing", "wordings", "goal_s", "answer_ms", "answered_per_turn", "premature_per_turn", "talked_over",
)  # fmt: skip
COMPARED: Final = ("turn_taking", "instruction_following", "task_score", "goals_met", "timing")
"""The measures by which systems and pacings are compared; Holm's family is all comparisons of a document."""

DEFAULT_REQUESTS: Final = 4
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


def score(runs: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Callable[[str], None]) -> Scored:
    """The document of all dialogues of some runs; see `fdbcore.protocols.Suite.score`."""
    if not runs:
        raise InputError("expected one RUN or more, got none: fdbcore run --suite staged --system ADDRESS makes one")
    hears = None
    if options["transcriber"] is not None:
        with told_as("--transcriber", "asr"):
            hears = transcriber(options["transcriber"])
    marks = None
    if options["judge"] is not None:
        if hears is None:
            raise SettingsError("--judge: expected --transcriber ADDRESS, whose words of the system it reads, got none")
        with told_as("--judge", "judge"):
            marks = judge(options["judge"])
    cases: list[StagedCase] = []
    problems: list[Problem] = []
    for run in runs:
        own, left_out = cases_of(run, hears, show)
        cases += own
        problems += left_out
    if not cases:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected staged dialogues, found none{why}")
    if marks is not None and hears is not None:
        problems += _judge_all(cases, marks, hears, jobs or DEFAULT_REQUESTS, show)
    return Scored(cast("Mapping[str, Any]", document(cases, problems, options["transcriber"], options["judge"])))


def _judge_all(
    cases: Sequence[StagedCase], marks: Judge, hears: Transcriber, jobs: int, show: Callable[[str], None]
) -> list[Problem]:
    """Let the judge mark all dialogues, `jobs` at a time; returns what it left unscored. PartyError if it is away."""

    def one(case: StagedCase) -> DialogueMarks:
        return judge_dialogue(case.path, families[case.path.parent].get(case.family), marks, hears)

    families = {run: families_of(run) for run in dict.fromkeys(case.path.parent for case in cases)}
    problems = []
    with ThreadPoolExecutor(jobs) as pool:
        for number, (case, judged) in enumerate(zip(cases, pool.map(one, cases), strict=True), 1):
            show(f"{marks.name}: {number} of {len(cases)} dialogues judged")
            case.judged = judged
            case.values.update(judged.values())
            problems += [Problem(str(case.path), f"unscored: {reason}") for reason in judged.unscored]
    return problems


def document(
    cases: Sequence[StagedCase], problems: Sequence[Problem], hears: str | None = None, marks: str | None = None
) -> StagedDocument:
    """Everything that can be computed from these dialogues, as JSON values. hears, marks: the recogniser, the judge."""
    groups = list(_groups(cases))
    families = list(dict.fromkeys(case.family for case in cases))
    compared = _comparisons(groups)
    return {
        "schema": SCHEMA,
        "settings": {
            "fdbcore": __version__,
            "transcriber": hears,
            "judge": marks,
            "resamples": RESAMPLES,
            "seed": SEED,
            "level": LEVEL,
            "power": POWER,
            "family": len(compared),
        },
        "rows": [row for group in groups for row in _rows(group, [None, *(families if len(families) > 1 else [])])],
        "comparisons": compared,
        "items": [_item(case) for case in cases],
        "problems": [{"where": each.where, "reason": each.reason} for each in problems],
        "warnings": _warnings(cases),
    }


def _groups(cases: Sequence[StagedCase]) -> Iterator[Group]:
    found: dict[tuple[str, str], dict[str, list[StagedCase]]] = {}
    for case in cases:
        found.setdefault((case.pacing, case.system), {}).setdefault(case.scenario, []).append(case)
    for (pacing, system), own in sorted(found.items(), key=lambda item: (ORDER.index(item[0][0]), item[0][1])):
        yield Group(pacing, system, own)


def _rows(group: Group, families: Sequence[str | None]) -> Iterator[StagedRow]:
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


def _comparisons(groups: Sequence[Group]) -> list[StagedComparison]:
    """Paired differences of systems under one pacing, and of the two pacings of one system, corrected together."""
    found: list[StagedComparison] = []
    for a, b in combinations(groups, 2):
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
    p_values = sign_flip_p(differences)
    for column, (measure, estimate) in enumerate(zip(COMPARED, bootstrap_columns(differences), strict=True)):
        there = differences[~np.isnan(differences[:, column]), column]
        if not len(there):
            continue
        sd = float(np.std(there, ddof=1)) if len(there) > 1 else None
        yield {
            "between": between,
            "pacing": a.pacing,
            "measure": measure,
            "a": a.system if between == "systems" else f"{a.system}, {a.pacing}",
            "b": b.system if between == "systems" else f"{b.system}, {b.pacing}",
            "n": len(there),
            "difference": estimate.value,
            "ci95": estimate.interval,
            "p": p_values[column],
            "p_holm": None,
            "detectable": None if sd is None else detectable_difference(sd, len(there)),
        }


def _item(case: StagedCase) -> StagedItem:
    goals: list[StagedGoalJson] = [
        {
            "goal": goal.goal,
            "verdict": goal.verdict,
            "sayings": goal.sayings,
            "start_s": None if goal.start_tick is None else goal.start_tick / TICKS_PER_S,
            "end_s": None if goal.end_tick is None else goal.end_tick / TICKS_PER_S,
            "words": goal.words,
        }
        for goal in case.goals
    ]
    return {
        "call": str(case.path),
        "system": case.system,
        "trial": case.trial,
        "scenario": case.scenario,
        "family": case.family,
        "class_": case.class_,
        "pacing": case.pacing,
        "language": case.language,
        "reason": case.reason,
        "spoke_first": case.spoke_first,
        "goals": goals,
        "measures": case.values,
        "events": [] if case.judged is None else case.judged.events,
        "task": None if case.judged is None else case.judged.task,
    }


def _warnings(cases: Sequence[StagedCase]) -> list[str]:
    unheard = sum(any(goal.verdict == NOT_HEARD for goal in case.goals) for case in cases)
    if not unheard:
        return []
    return [
        f"examiner without ears: in {unheard} of {len(cases)} dialogues it is not known whether goals were met; "
        "--transcriber whisper hears them now, fdbcore run --ears whisper during the call"
    ]
