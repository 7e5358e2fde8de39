"""Dialogues of Full-Duplex-Bench v2 that are there as replies of its judge alone, and the tables of its scripts.

Scores are those of its scripts. Of a dialogue: the mean of each event score over the events that have both; the task
score; and eight bins of 15 s, each the mean of the event scores, weighted by how long an event lies in the bin. An
event without length is in no bin. The scripts stop there. The published tables are means over families and over the
bins of the first 75 s; how they were weighted is not said.

The scripts keep a reply as SETUP/TASK.json, where SETUP is a family or an experiment, and make TASK_processed.json of
it. Of a task that has both, the reply itself is read.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from fdbcore.errors import InputError
from fdbcore.recording import is_recorded
from fdbcore.report import counted
from fdbcore.runtime import read_whole
from fdbcore.sources import marked
from fdbcore.stats import Floats
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.judging import BINS, binned_means, early_means
from fdbcore.suites.staged.replies import JudgeReply, read_reply
from fdbcore.suites.staged.scenarios import LEVELS, MARKS
from fdbcore.types import Problem

EXAMINER: Final = "Full-Duplex-Bench v2"
JUDGE: Final = "replies of the judge of Full-Duplex-Bench v2"
UNKNOWN: Final = "unknown"
"""The pacing: replies do not tell it."""
SUMMARY: Final = "judge_summary.csv"
BINNED: Final = "judge_summary_binned.csv"
"""The tables, by the names that the scripts give them."""

NO_TASK_SCORE: Final = "Daily"
"""The family whose task score has no rubric: the judge is asked for one, and no table has it."""

_PROCESSED: Final = "_processed"
_RAW: Final = ".raw_api"
_OTHERS: Final = frozenset({"A.json", "B.json", "prompt.json", "transcripts.json"})
"""What else lies beside recordings."""
_DIGITS: Final = 3
_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DialogueScores:
    """The scores of one dialogue.

    setup: the folder that the reply lies in. task_id: such as "Daily.ordering.001". n_timed: the events that can be in
    a bin. n_tasks: how many replies have a task score: one, unless several are of the same setup and task. means: of
    turn-taking and instruction following, (2,); bins: the same, (bins, 2); NaN where no event has both scores.
    """

    setup: str
    task_id: str
    n_events: int
    n_timed: int
    n_tasks: int
    means: Floats
    task: float | None
    bins: Floats

    @property
    def family(self) -> str:
        """The family of its task."""
        return self.task_id.partition(".")[0]


def dialogue_scores(setup: str, task_id: str, replies: Sequence[JudgeReply]) -> DialogueScores:
    """The scores of a dialogue by its replies: one, as a rule; the events of several are taken together."""
    events = [event for reply in replies for event in reply.events if event.scores is not None]
    timed = [event for event in events if event.end_s > event.start_s]
    scores, timed_scores = (np.array([each.scores for each in own], float).reshape(-1, 2) for own in (events, timed))
    spans_s = np.array([(event.start_s, event.end_s) for event in timed], float).reshape(-1, 2)
    tasks = [reply.task for reply in replies if reply.task is not None]
    means = scores.mean(axis=0) if len(events) else np.full(2, np.nan)
    task, bins = float(np.mean(tasks)) if tasks else None, binned_means(spans_s, timed_scores)
    return DialogueScores(setup, task_id, len(events), len(timed), len(tasks), means, task, bins)


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
    """The dialogues whose replies lie below a folder; other files are problems. InputError if there are none."""
    found: dict[_Key, list[JudgeReply]] = defaultdict(list)
    problems: list[Problem] = []
    for path, key in _files(folder):
        try:
            reply = read_reply(read_whole(path).decode("utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(str(path), f"expected a reply of a judge, got: {error}"))
            continue
        found[key].append(reply)
        if reply.left_out:
            problems.append(Problem(str(path), f"left out: {counted(reply.left_out, 'score')} not from 1 to {LEVELS}"))
        if not reply.events and reply.task is None:
            problems.append(Problem(str(path), "expected a reply of a judge with events, got one without"))
    replies = [reply for each in found.values() for reply in each]
    if not any(reply.events or reply.task is not None for reply in replies):
        raise InputError(f"{folder}: expected replies of a judge, such as Daily/Daily.ordering.001.json, found none")
    beyond = [reply.beyond_reference for reply in replies if reply.beyond_reference]
    warning = (
        f"{folder}: {counted(sum(beyond), 'event')} read here in replies that only look like JSON, in which the "
        f"benchmark's own scripts do not find {'it' if sum(beyond) == 1 else 'them'}"
    )
    dialogues = [dialogue_scores(*key, found[key]) for key in sorted(found)]
    cases = [_case(folder, each) for each in dialogues]
    return Replied(cases, problems, [warning] if beyond else [], tables_of(dialogues))


def _case(folder: Path, scores: DialogueScores) -> StagedCase:
    """A dialogue; an experiment is a system, and a folder of families is one experiment."""
    is_family = scores.setup.lower() == scores.family.lower()
    has_task_score = scores.family != NO_TASK_SCORE
    system = folder.resolve().name if is_family else scores.setup
    call, family = str(folder / scores.setup / scores.task_id), scores.family.lower()
    case = StagedCase(
        call, system, 1, scores.task_id, family, "", UNKNOWN, "", [], EXAMINER, has_task_score=has_task_score
    )
    if scores.n_events:
        case.values |= dict(zip(MARKS, scores.means.tolist(), strict=True))
    case.values |= early_means(scores.bins)
    if has_task_score and scores.task is not None:
        case.values["task_score"] = scores.task
    return case


def tables_of(dialogues: Sequence[DialogueScores]) -> dict[str, str]:
    """The tables of the scripts `score.py` and `score_time.py`, by name: scores and bins of each dialogue, rounded."""
    head = ["setup", "subtask", "n_files", "n_events"]
    scores = ["avg_turn_taking", "avg_instruction_following", "avg_task_specific"]
    bins = [f"{name}[{start_s:g}-{end_s:g}]" for start_s, end_s in BINS for name in ("TT", "IF")]
    named = [(each, [each.setup, each.task_id, each.n_tasks]) for each in dialogues]
    return {
        SUMMARY: _csv([*head, *scores], ([*own, d.n_events, *_cells([*d.means.tolist(), d.task])] for d, own in named)),
        BINNED: _csv([*head, *bins], ([*own, d.n_timed, *_cells(d.bins.ravel().tolist())] for d, own in named)),
    }


def _files(folder: Path) -> list[tuple[Path, _Key]]:
    """The files of replies below a folder, each with its setup and task."""
    replies: list[tuple[Path, _Key]] = []
    for path in sorted(folder.rglob("*.json")):
        if path.name in _OTHERS or path.stem.endswith(_RAW):
            continue
        task = path.stem.removesuffix(_PROCESSED)
        if path.stem != task and path.with_name(f"{task}.json").is_file():
            continue
        above = path.relative_to(folder).parts[:-1]
        replies.append((path, (above[0] if above else folder.resolve().name, task)))
    return replies


def _cells(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else round(value, _DIGITS) for value in values]


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(map(marked, row) for row in (head, *rows))
    return text.getvalue()
