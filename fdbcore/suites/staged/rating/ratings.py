"""Reads what raters gave: tables of people's ratings, and judges' marks from scores.

A table of ratings is a CSV with a header, a row a dialogue and rater:

- `dialogue`: its name on the page; `rater`: who rated; `sample`: which sample it is of (may be missing).
- `turn_taking`, `instruction_following`, `task_score`: 1 to 5, or `cannot tell`, or empty where it was not rated.
- `family`: of the task score. Other columns, such as `checks` and `note`, are for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from fdbcore.errors import InputError, SettingsError
from fdbcore.runtime.numbers import number_of
from fdbcore.sources.tables import columns_of, rated_rows
from fdbcore.suites.staged.families import LEVELS
from fdbcore.suites.staged.rating.sample import RatingKey
from fdbcore.types import Problem

Metric: TypeAlias = Literal["turn_taking", "instruction_following", "task_score"]
METRICS: Final[Sequence[Metric]] = get_args(Metric)
DIALOGUE: Final = "dialogue"
"""The column by which a table of ratings is known."""
COLUMNS: Final = ("sample", DIALOGUE, "rater", "family", *METRICS, "checks", "note")
"""The columns of the tables that the page gives."""
CANNOT_TELL: Final = "cannot tell"
PEOPLE: Final = "people"
"""The rater that is the mean of all people."""


@dataclass(slots=True)
class DialogueRater:
    """A person or a judge. marks: by dialogue and metric; None: cannot tell. families: of the dialogues."""

    name: str
    kind: Literal["person", "judge"]
    marks: dict[str, dict[Metric, float | None]] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Ratings:
    """What people gave, by rater. samples: of which samples they are."""

    raters: dict[str, DialogueRater] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def is_ratings(path: Path) -> bool:
    """Whether it is a table of ratings: a CSV whose header has the column `dialogue`."""
    return DIALOGUE in columns_of(path)


def read_ratings(paths: Sequence[Path]) -> Ratings:
    """The ratings in some tables. A cell or row that cannot be used is a problem, and the others are read.

    SettingsError for a table that cannot be read, for ratings of several samples, and for a rater who rated a dialogue
    twice, and differently.
    """
    found = Ratings()
    for path in paths:
        for where, row in rated_rows(path, (DIALOGUE, "rater"), METRICS):
            _take(row, where, found)
    if len(found.samples) > 1:
        raise SettingsError(f"expected ratings of one sample, got those of {', '.join(sorted(found.samples))}")
    return found


def _take(row: Mapping[str, str], where: str, found: Ratings) -> None:
    """Add the ratings of a row."""
    dialogue, name = row[DIALOGUE], row.get("rater", "")
    if not (dialogue and name):
        found.problems.append(Problem(where, "left out: expected a dialogue and a rater, got none"))
        return
    marks: dict[Metric, float | None] = {}
    for metric in METRICS:
        if text := row.get(metric, ""):
            try:
                marks[metric] = _mark(text)
            except ValueError:
                expected = f"a number from 1 to {LEVELS}, or {CANNOT_TELL}"
                found.problems.append(Problem(where, f"{metric}: left out: expected {expected}, got {text!r}"))
    if "task_score" in marks and not row.get("family"):
        found.problems.append(Problem(where, "task_score: left out: expected the family of the dialogue, got none"))
        del marks["task_score"]
    if row.get("sample"):
        found.samples.add(row["sample"])
    rater = found.raters.setdefault(name, DialogueRater(name, "person"))
    if marks:
        known = rater.marks.setdefault(dialogue, marks)
        if differing := [metric for metric in known.keys() & marks if known[metric] != marks[metric]]:
            raise SettingsError(
                f"{where}: expected one rating of {dialogue} by {name}, got a second one that differs in {differing[0]}"
            )
        known |= marks
        rater.families[dialogue] = row.get("family", "")


def _mark(text: str) -> float | None:
    """A rating as it is written; None: cannot tell. ValueError if it is neither."""
    if text.lower() == CANNOT_TELL:
        return None
    mark = number_of(text.replace(",", "."))
    if not 1 <= mark <= LEVELS:
        raise ValueError
    return mark


def judge_of(scores: Mapping[str, Any], path: Path, key: RatingKey | None, problems: list[Problem]) -> DialogueRater:
    """The marks of the judge of some scores, means over the events of each dialogue.

    key: that of the sample, whose names the dialogues then have; without it, they are named by their recordings. A
    metric of which the judge gave no mark of any event is one that it cannot tell. problems: gets what is left out, as
    it is no mark. SettingsError if nobody judged, or if two dialogues of a sample cannot be told apart.
    """
    if scores["settings"]["judge"] is None:
        raise SettingsError(f"{path}: expected the marks of a judge (fdbcore score --judge), got scores without any")
    names = None if key is None else {_call(each.call): each.dialogue for each in key.dialogues}
    if key is not None and names is not None and len(names) < len(key.dialogues):
        raise SettingsError(f"{path}: expected runs of different names in a sample, got several of one name")
    judge = DialogueRater(scores["settings"]["judge"], "judge")
    for item in scores["items"]:
        call = _call(item["call"])
        name = call if names is None else names.get(call)
        if name is None:
            continue
        judge.families[name] = item["family"]
        judge.marks[name] = marks = {metric: item["measures"].get(metric) for metric in METRICS}
        for metric, mark in list(marks.items()):
            if not (mark is None or (type(mark) in (int, float) and 1 <= mark <= LEVELS)):
                expected = f"a number from 1 to {LEVELS}"
                problems.append(
                    Problem(f"{path}: {call}", f"{metric}: left out: expected {expected}, got {mark!r:.40}")
                )
                del marks[metric]
        if item["task"] is None:
            marks.pop("task_score", None)  # the family has none, or it is unscored
    if not judge.marks:
        raise InputError(f"{path}: expected scores of the dialogues of the sample, got those of others")
    return judge


def _call(folder: str) -> str:
    """The name of a recording that it keeps when its run is moved: RUN/CALL."""
    return "/".join(Path(folder).parts[-2:])
