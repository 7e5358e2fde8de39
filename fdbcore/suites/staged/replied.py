"""Dialogues of Full-Duplex-Bench v2 that are there as replies of its judge alone, and the tables of its scripts.

The scripts keep a reply as SETUP/TASK.json, where SETUP is a family or an experiment, and make TASK_processed.json of
it. Of a task that has both, the reply itself is read.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from fdbcore.errors import InputError
from fdbcore.recording.run import is_recorded
from fdbcore.report.format import counted
from fdbcore.runtime.whole_files import read_whole
from fdbcore.sources.text_cells import marked
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.families import LEVELS, MARKS
from fdbcore.suites.staged.fdb2.replies import JudgeReply, read_reply
from fdbcore.suites.staged.fdb2.scores import BINS, NO_TASK_SCORE, DialogueScores, Means, dialogue_scores
from fdbcore.types import Problem

EXAMINER: Final = "Full-Duplex-Bench v2"
JUDGE: Final = "replies of the judge of Full-Duplex-Bench v2"
UNKNOWN: Final = "unknown"
"""The pacing: replies do not tell it."""
SUMMARY: Final = "judge_summary.csv"
BINNED: Final = "judge_summary_binned.csv"
"""The tables, by the names that the scripts give them."""

_PROCESSED: Final = "_processed"
_RAW: Final = ".raw_api"
_OTHERS: Final = frozenset({"A.json", "B.json", "prompt.json", "transcripts.json"})
"""What else lies beside recordings."""
_DIGITS: Final = 3
_Key: TypeAlias = tuple[str, str]


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
    """The dialogues whose replies lie below a folder. InputError if there are none.

    A file that is no reply is a problem, and as in the scripts a dialogue without scores.
    """
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
    tables = {SUMMARY: summary_csv(dialogues), BINNED: binned_csv(dialogues)}
    return Replied([_case(folder, each) for each in dialogues], problems, [warning] if beyond else [], tables)


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


def summary_csv(dialogues: Sequence[DialogueScores]) -> str:
    """A row for each dialogue, as the script `score.py` writes it: rounded, empty where there is no score."""
    head = ["setup", "subtask", "n_files", "n_events"]
    head += ["avg_turn_taking", "avg_instruction_following", "avg_task_specific"]
    return _csv(head, ([d.setup, d.task_id, d.n_tasks, d.n_events, *_cells(d.means), _cell(d.task)] for d in dialogues))


def binned_csv(dialogues: Sequence[DialogueScores]) -> str:
    """A row for each dialogue with its bins, as the script `score_time.py` writes it."""
    head = ["setup", "subtask", "n_files", "n_events"]
    head += [f"{name}[{start_s:g}-{end_s:g}]" for start_s, end_s in BINS for name in ("TT", "IF")]
    rows = (
        [d.setup, d.task_id, d.n_tasks, d.n_timed, *(cell for means in d.bins for cell in _cells(means))]
        for d in dialogues
    )
    return _csv(head, rows)


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


def _cells(means: Means) -> list[float | None]:
    return [None, None] if means is None else [_cell(means[0]), _cell(means[1])]


def _cell(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(map(marked, row) for row in (head, *rows))
    return text.getvalue()
