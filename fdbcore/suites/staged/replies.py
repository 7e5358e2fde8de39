"""Replies of the judge of Full-Duplex-Bench v2: what they say, the scores by them, and the tables of its scripts.

The judge is asked for an object with "Turn-taking event and score", a list of events, and "Task-specific score". An
event has one or more intervals in seconds and two scores from 1 to 5: turn-taking, then instruction following. It is
asked to write `[8.5, 12.0]: 4, 5`, which is no JSON; many replies have `[[8.5, 12.0], 4, 5]` instead. Of both forms
this gives what the parser of the benchmark's own scripts gives (checkout of 2026-04-15). What that parser misses is
read here, and counted: `[[8.5, 12.0]: 4, 5]`, and lists that only look like JSON (single quotes, a comma too many,
words around them without a fence).

Scores are those of its scripts. Of a dialogue: the mean of each event score over the events that have both; the task
score; and eight bins of 15 s, each the mean of the event scores, weighted by how long an event lies in the bin. An
event without length is in no bin. The scripts stop there. The published tables are means over families and over the
bins of the first 75 s; how they were weighted is not said.

The scripts keep a reply as SETUP/TASK.json, where SETUP is a family or an experiment, and make TASK_processed.json of
it. Of a task that has both, the reply itself is read.
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from fdbcore.errors import InputError
from fdbcore.recording import is_recorded
from fdbcore.report import counted
from fdbcore.runtime import MOST_DEPTH, parsed_json, read_whole
from fdbcore.sources import marked
from fdbcore.stats import Floats
from fdbcore.suites.staged.cases import StagedCase
from fdbcore.suites.staged.scenarios import LEVELS, MARKS
from fdbcore.types import Problem

EVENTS: Final = "Turn-taking event and score"
TASK: Final = "Task-specific score"

Interval: TypeAlias = tuple[float, float]

_FENCED: Final = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
_EVENTS_NAME: Final = re.compile(rf"""["']{EVENTS}["']""")
_TASK: Final = re.compile(rf"""["']{TASK}["']\s*:\s*("[^"]*"|'[^']*'|[^\s,}}\]]+)""")
_TOKEN: Final = re.compile(r"""\][\s,]*:|[\[\]{}]|"[^"]*"|'[^']*'|[^\s,:\[\]{}"']+""")
"""A bracket, perhaps with a colon behind it, a text or a word; other commas and colons separate alike."""
_BRACED: Final = re.compile(r"""\{\s*("?[\d.:+-]+"?)\s*,\s*("?[\d.:+-]+"?)\s*\}""")
"""An interval in braces, which is no JSON."""
_COLON: Final = ":"
"""Stands for a colon behind a list, by which the benchmark's parser finds the events of a reply that is no JSON."""

BINS: Final = tuple((start_s, start_s + 15.0) for start_s in np.arange(0.0, 120.0, 15.0).tolist())
"""The bins of Full-Duplex-Bench v2, in seconds."""

EARLY_BINS: Final = 5
"""Its published tables have the bins up to 75 s alone."""

_STARTS: Final = ("start_time", "start", "startTime")
_ENDS: Final = ("end_time", "end", "endTime")

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
"""Other files that lie beside recordings."""
_DIGITS: Final = 3
_Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JudgedEvent:
    """An interval of side B, in seconds, with its scores; a score that the judge left open is None."""

    start_s: float
    end_s: float
    turn_taking: float | None
    instruction_following: float | None

    @property
    def scores(self) -> tuple[float, float] | None:
        """Both scores, or None if one is missing: such an event is in no mean."""
        if self.turn_taking is None or self.instruction_following is None:
            return None
        return self.turn_taking, self.instruction_following


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """The reply of a judge on a dialogue.

    task: the task score as a number; None if there is none. beyond_reference: how many of the events the parser of the
    benchmark does not find. left_out: how many scores are no numbers from 1 to 5: they count as missing.
    """

    events: Sequence[JudgedEvent]
    task: float | None
    beyond_reference: int = 0
    left_out: int = 0


def read_reply(text: str) -> JudgeReply:
    """The reply in a text, which may have words around it, or several fenced blocks.

    Events of all blocks count; of several task scores the last one does. An event with several intervals becomes
    several events. Event scores are cut to whole numbers; those that are no number from 1 to 5 are missing.
    """
    blocks = [block for block in _FENCED.findall(text) if EVENTS in block] or [text]
    events: list[JudgedEvent] = []
    tasks: list[Any] = []
    beyond = 0
    for block in blocks:
        content = _json_object(block)
        if content is not None:
            events += _events_in(content.get(EVENTS))
            tasks.append(content.get(TASK))
        else:
            loose, task, missed = _in_loose_text(block)
            events += loose
            tasks.append(task)
            beyond += missed
    last: Any = next((task for task in reversed(tasks) if task is not None), None)
    number = float(last) if type(last) in (int, float) and 1 <= last <= LEVELS else math.nan
    pairs = [(event.turn_taking, event.instruction_following) for event in events]
    scores = [None if last is None else number, *chain(*pairs)]
    known = [
        JudgedEvent(event.start_s, event.end_s, *map(_usable, pair)) for event, pair in zip(events, pairs, strict=True)
    ]
    return JudgeReply(known, _usable(scores[0]), beyond, sum(score != _usable(score) for score in scores))


def _usable(score: float | None) -> float | None:
    return None if score is None or math.isnan(score) else score


def _json_object(block: str) -> dict[str, Any] | None:
    """The object that a block is; None if it is no JSON, or has nothing that a judge is asked for."""
    try:
        content = parsed_json(_BRACED.sub(r"[\1, \2]", block))
    except ValueError:
        return None
    return content if isinstance(content, dict) and (EVENTS in content or TASK in content) else None


def _events_in(items: object) -> list[JudgedEvent]:
    """The events in a list of items of the form [INTERVAL, ..., SCORE, SCORE]; others are left out."""
    listed = items if isinstance(items, list) else []
    whole = [item for item in listed if isinstance(item, list) and len(item) > 2]
    return [event for item in whole for event in _events_at(item[:-2], item[-2:])]


def _events_at(intervals: list[Any], scores: Sequence[object]) -> list[JudgedEvent]:
    """An event for each interval; missing scores are None."""
    turn_taking, following, *_ = *map(_score, scores), None, None
    return [JudgedEvent(start_s, end_s, turn_taking, following) for start_s, end_s in _intervals(intervals)]


def _in_loose_text(block: str) -> tuple[list[JudgedEvent], float | None, int]:
    """Events and task score of a block that is no JSON, and how many of the events the benchmark's parser misses.

    A list that never closes, as of a reply cut off, has none.
    """
    name = _EVENTS_NAME.search(block)
    start = block.find("[", name.end()) + 1 if name else 0
    items, end = _listed(block, start) if start else (None, 0)
    if items is None:
        return [], None, 0
    events: list[JudgedEvent] = []
    intervals: list[Any] = []
    scores: list[object] = []
    known = missed = 0
    for item in [*items, []]:  # the empty list ends the last event
        if item == _COLON:
            known = 0 if "'" in block[start:end] else len(list(_intervals(intervals[-1:])))
            continue
        if not isinstance(item, list | dict):
            scores.append(item)
            continue
        if scores:
            found = _events_at(intervals, scores)
            events, missed = events + found, missed + len(found) - known
            intervals, scores, known = [], [], 0
        if isinstance(item, list) and len(item) > 2 and not any(isinstance(each, list | dict) for each in item[-2:]):
            found = _events_in([item])
            events, missed = events + found, missed + len(found)
        else:
            intervals.append(item)
    return events, _task_in(block[end:]) or _task_in(block), missed


def _task_in(text: str) -> float | None:
    found = _TASK.search(text)
    return _score(found[1].strip("\"'")) if found else None


def _listed(text: str, start: int) -> tuple[list[Any] | None, int]:
    """The items from a place inside a list up to its end, and where that is; None if it has no end, or is too deep.

    `{8, 12}` is taken as a list, and `{"start_time": 8, "end_time": 12}` as an object.
    """
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.finditer(text, start):
        word = token[0]
        if word in "[{":
            stack.append([])
            if len(stack) > MOST_DEPTH:
                break
        elif word[0] in "]}":
            closed = stack.pop()
            if not stack:
                return closed, token.end()
            is_object = word == "}" and closed and closed[0] in (*_STARTS, *_ENDS)
            stack[-1].append(dict(zip(closed[::2], closed[1::2], strict=False)) if is_object else closed)
            stack[-1] += _COLON if word[-1] == _COLON else ""
        else:
            stack[-1].append(word.strip("\"'"))
    return None, len(text)


def _intervals(value: object) -> Iterator[Interval]:
    """All intervals in a value: pairs of times, as lists or objects, at any depth."""
    if isinstance(value, dict):
        start, end = (next((value[name] for name in names if name in value), None) for names in (_STARTS, _ENDS))
        value = [start, end]
    if not isinstance(value, list):
        return
    if len(value) == 2 and all(isinstance(each, str | int | float) for each in value):
        try:
            yield seconds_of(value[0]), seconds_of(value[1])
        except (ValueError, OverflowError):
            return
    else:
        for each in value:
            yield from _intervals(each)


def seconds_of(time: str | float) -> float:
    """Seconds from a number, or from a text such as "12.5", "1:05.5" or "0:01:05"; ValueError for another."""
    if not isinstance(time, str):
        return float(time)
    seconds = 0.0
    for part in time.strip().split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def _score(value: Any) -> float | None:  # noqa: ANN401
    """The whole part of a score; None if it was left open, and NaN if it is no number from 1 to 5."""
    if value in (None, "", "null"):
        return None
    try:
        score = 0 if isinstance(value, bool) else int(float(value))
    except (TypeError, ValueError, OverflowError):
        score = 0
    return score if 1 <= score <= LEVELS else math.nan


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
    """True if a path can be a folder of replies: it is a folder with JSON in it, and holds no recordings."""
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


def spans_of(events: Sequence[Mapping[str, Any]]) -> Floats:
    """(events, 2): where each begins and ends, in seconds."""
    return np.array([(event["from_s"], event["to_s"]) for event in events], float).reshape(-1, 2)


def marks_of_events(events: Sequence[Mapping[str, Any]]) -> Floats:
    """(events, 2): MARKS of each; NaN where one is missing."""
    found = [[event["marks"].get(name) for name in MARKS] for event in events]
    return np.array(found, float).reshape(-1, 2)


def binned_means(spans_s: Floats, marks: Floats) -> Floats:
    """The means of MARKS in each of BINS, (bins, 2), weighted by how long an event lies in it; NaN where none does.

    spans_s, marks: (n, 2); an event that lacks a mark is NaN, and counts nowhere, as one without length.
    """
    known, edges_s = ~np.isnan(marks).any(axis=1), np.array(BINS)
    starts_s, ends_s = spans_s[known].T
    overlaps_s = np.maximum(np.minimum(ends_s, edges_s[:, 1:]) - np.maximum(starts_s, edges_s[:, :1]), 0.0)
    total_s = overlaps_s.sum(axis=1, keepdims=True)
    found: Floats = np.divide(
        overlaps_s @ marks[known], total_s, out=np.full((len(BINS), 2), np.nan), where=total_s > 0
    )
    return found


def early_means(binned: Floats) -> dict[str, float]:
    """The means over those bins up to 75 s in which an event with both marks lies, by the ids of their scales."""
    early = binned[:EARLY_BINS]
    known = early[~np.isnan(early[:, 0])]
    means = known.mean(axis=0).tolist() if len(known) else []
    return {f"{mark}_75_s": mean for mark, mean in zip(MARKS, means, strict=False)}
