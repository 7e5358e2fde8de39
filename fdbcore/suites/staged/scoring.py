"""Scores of staged dialogues: the document of everything that can be computed from runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from fdbcore._version import __version__
from fdbcore.errors import InputError, SettingsError, told_as
from fdbcore.protocols import Judge, Transcriber
from fdbcore.registry import judge, transcriber
from fdbcore.stats.bootstrap import LEVEL, RESAMPLES, SEED
from fdbcore.stats.significance import POWER
from fdbcore.suites.staged.cases import NOT_HEARD, LostCase, StagedCase, cases_of
from fdbcore.suites.staged.comparisons import comparisons_of
from fdbcore.suites.staged.judging import DialogueMarks, judge_dialogue
from fdbcore.suites.staged.passes import JUDGED, RULE, passes_of, rule_of
from fdbcore.suites.staged.rows import groups_of, overall_of, rows_of
from fdbcore.suites.staged.users import families_of
from fdbcore.types import TICKS_PER_S, Problem
from fdbcore.types.scorecard import Scored

if TYPE_CHECKING:
    from fdbcore.suites.staged.document_types import StagedDocument, StagedGoalJson, StagedItem

SCHEMA: Final = "fdbcore.staged/1"
DEFAULT_REQUESTS: Final = 4


def score(runs: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Callable[[str], None]) -> Scored:
    """The document of all dialogues of some runs; see `fdbcore.protocols.Suite.score`."""
    if not runs:
        raise InputError("expected one RUN or more, got none: fdbcore run --suite staged --system ADDRESS makes one")
    hears = None
    if options["transcriber"] is not None:
        with told_as("--transcriber", "asr"):
            hears = transcriber(options["transcriber"])
    rule = rule_of(options["passes"] or RULE)
    if options["passes"] and options["judge"] is None and (needed := [name for name in rule if name in JUDGED]):
        raise SettingsError(f"--passes: expected --judge for {needed[0]}, got none")
    marks = None
    if options["judge"] is not None:
        if hears is None:
            raise SettingsError("--judge: expected --transcriber ADDRESS, whose words of the system it reads, got none")
        with told_as("--judge", "judge"):
            marks = judge(options["judge"])
    cases: list[StagedCase] = []
    lost: list[LostCase] = []
    for run in runs:
        own, own_lost = cases_of(run, hears, show)
        cases += own
        lost += own_lost
    problems = [each.problem for each in lost]
    if not cases:
        why = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"expected staged dialogues, found none{why}")
    if marks is not None and hears is not None:
        problems += _judge_all(cases, marks, hears, jobs or DEFAULT_REQUESTS, show)
    return Scored(
        cast("Mapping[str, Any]", document(cases, problems, options["transcriber"], options["judge"], lost, rule))
    )


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
            family = families[case.path.parent].get(case.family)
            case.has_task_score = family is not None and bool(family.rubric)
            case.values.update(judged.values())
            problems += [Problem(str(case.path), f"unscored: {reason}") for reason in judged.unscored]
    return problems


def document(
    cases: Sequence[StagedCase],
    problems: Sequence[Problem],
    hears: str | None = None,
    marks: str | None = None,
    lost: Sequence[LostCase] = (),
    rule: Mapping[str, float] | None = None,
) -> StagedDocument:
    """Everything that can be computed from these dialogues, as JSON values.

    hears, marks: the recogniser, the judge. lost: the calls that are not scored, which are counted beside each mean.
    rule: what a dialogue needs to pass, see `passes.rule_of`.
    """
    rule = rule_of(RULE) if rule is None else rule
    groups = groups_of(cases, lost)
    families = list(dict.fromkeys(case.family for case in cases))
    parts = [None, *(families if len(families) > 1 else [])]
    compared = comparisons_of(groups)
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
            "passes": dict(rule),
            "family": len(compared),
        },
        "rows": [row for group in groups for row in rows_of(group, parts)],
        "overall": [row for group in groups if (row := overall_of(group, families)) is not None],
        "comparisons": compared,
        "passes": [row for group in groups for row in passes_of(group, parts, rule)],
        "items": [_item(case) for case in cases],
        "problems": [{"where": each.where, "reason": each.reason} for each in problems],
        "warnings": _warnings(cases),
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
        "examiner": case.examiner,
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
