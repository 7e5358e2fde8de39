"""Reads replies of the judge of Full-Duplex-Bench-v2, in all the forms in which it writes them.

The judge is asked for an object with "Turn-taking event and score", a list of events, and "Task-specific score". An
event has one or more intervals in seconds and two scores from 1 to 5: turn-taking, then instruction following. It is
asked to write `[8.5, 12.0]: 4, 5`, which is no JSON; many replies have `[[8.5, 12.0], 4, 5]` instead.

Of both forms this gives what the parser of the benchmark's own scripts gives (checkout of 2026-04-15). What that parser
misses is read here, and counted: `[[8.5, 12.0]: 4, 5]`, and lists that only look like JSON (single quotes, a comma too
many, words around them without a fence).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeAlias

from fdbcore.runtime import MOST_DEPTH, parsed_json
from fdbcore.suites.staged.scenarios import LEVELS

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
_STARTS: Final = ("start_time", "start", "startTime")
_ENDS: Final = ("end_time", "end", "endTime")


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
    """What a judge said of a dialogue.

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
