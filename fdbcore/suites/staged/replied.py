"""Dialogues of Full-Duplex-Bench v2 that are there as replies of its judge alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fdbcore.recording.run import is_recorded
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.fdb2.files import BINNED, SUMMARY, binned_csv, judged, summary_csv
from fdbcore.suites.staged.fdb2.scores import NO_TASK_SCORE, DialogueScores
from fdbcore.suites.staged.rubrics import MARKS
from fdbcore.types import Problem

EXAMINER: Final = "Full-Duplex-Bench v2"
JUDGE: Final = "replies of the judge of Full-Duplex-Bench v2"
UNKNOWN: Final = "unknown"
"""The pacing: replies do not tell it."""


@dataclass(frozen=True, slots=True)
class Replied:
    """The dialogues of a folder of replies. files: the tables that the benchmark's own scripts write, by name."""

    cases: list[StagedCase]
    problems: list[Problem]
    warnings: list[str]
    files: Mapping[str, str]


def is_of_replies(path: Path) -> bool:
    """Whether a path can be a folder of replies: it is a folder with JSON in it, and holds no recordings."""
    return path.is_dir() and not is_recorded(path) and any(path.rglob("*.json"))


def replied(folder: Path) -> Replied:
    """The dialogues whose replies lie below a folder. InputError if there are none."""
    found = judged(folder)
    replies, events = found.beyond_reference
    warning = (
        f"{folder}: {events} events of {replies} replies are not in JSON: read here, though the benchmark's own "
        "scripts find none of them"
    )
    tables = {SUMMARY: summary_csv(found.dialogues), BINNED: binned_csv(found.dialogues)}
    cases = [_case(folder, each) for each in found.dialogues]
    return Replied(cases, list(found.problems), [warning] if events else [], tables)


def _case(folder: Path, scores: DialogueScores) -> StagedCase:
    """A dialogue; an experiment is a system, and a folder of families is one experiment."""
    is_family = scores.setup.lower() == scores.family.lower()
    has_task_score = scores.family != NO_TASK_SCORE
    case = StagedCase(
        path=folder / scores.setup / scores.task_id,
        system=folder.resolve().name if is_family else scores.setup,
        trial=1,
        scenario=scores.task_id,
        family=scores.family.lower(),
        class_="",
        pacing=UNKNOWN,
        language="",
        goals=[],
        examiner=EXAMINER,
        has_task_score=has_task_score,
    )
    for suffix, means in (("", scores.means), ("_75_s", scores.early)):
        if means is not None:
            case.values |= {f"{mark}{suffix}": mean for mark, mean in zip(MARKS, means, strict=True)}
    if has_task_score and scores.task is not None:
        case.values["task_score"] = scores.task
    return case
