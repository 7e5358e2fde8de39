"""Reads what people, judges, the exact matcher and our measures say of calls: yes or no.

A table of verdicts is a CSV with a header, a row a call and rater:

- `recording`: its id; `system`: its name in the scores; `trial`: its number, 1 if the column is missing; `rater`;
  `condition`: its name in the scores, where these have a system under several.
- `arguments`: all expected calls were made with the right arguments. `response`: the answer is right. `interruption`:
  the system began before the user had finished. `turn_take`: the system answered. Each `yes`, `no`, `cannot tell`, or
  empty where it was not rated.

Scores of the suite stand for the judge, if one was asked, for the exact matcher, and for the published measures and
ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from fdbcore.errors import SettingsError
from fdbcore.runs.kept_scores import kept_scores
from fdbcore.sources.tables import columns_of, rated_rows
from fdbcore.suites.fdb_v3.judging.agreement import MATCHER
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Document, V3Item, V3Verdict

RatedMetric: TypeAlias = Literal["arguments", "response", "interruption", "turn_take"]
METRICS: Final[Sequence[RatedMetric]] = get_args(RatedMetric)
NEEDED: Final = ("recording", "system", "rater")
CONDITION: Final = "condition"
SCORES: Final = "fdbcore.fdb_v3/1"
ANSWERS: Final[Mapping[str, bool | None]] = {"yes": True, "no": False, "cannot tell": None}
COMPAT: Final = "published measures"
OURS: Final = "our measures"
_OURS: Final[Mapping[RatedMetric, str]] = {
    "arguments": "arguments",
    "interruption": "interrupted",
    "turn_take": "answered",
}
"""Measures of ours that say the same."""

CallKey: TypeAlias = tuple[str, str, int, str]
"""The recording, the system, the trial, and the condition; "" for that of tables that name none."""


@dataclass(slots=True)
class VerdictRater:
    """A person, a judge or a measure. verdicts: by call and metric; None: cannot tell."""

    name: str
    kind: Literal["person", "judge"]
    verdicts: dict[CallKey, dict[RatedMetric, bool | None]] = field(default_factory=dict)


@dataclass(slots=True)
class VerdictTables:
    """All raters, people first. problems: what was left out."""

    raters: list[VerdictRater] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def holds_verdicts(path: Path) -> bool:
    """Whether it is a table of verdicts, by its header, or has scores of the suite."""
    found = {*columns_of(path)}
    return ({*NEEDED} <= found and bool({*METRICS} & found)) or kept_scores(path, SCORES) is not None


def read_verdicts(paths: Sequence[Path]) -> VerdictTables:
    """All raters in tables and scores. A cell or row that cannot be used is a problem, and the others are read.

    SettingsError for a file that cannot be used, and for a rater who rated a call twice, and differently.
    """
    people: dict[str, VerdictRater] = {}
    scored: list[VerdictRater] = []
    problems: list[Problem] = []
    tables: list[Path] = []
    for path in paths:
        if (scores := kept_scores(path, SCORES)) is not None:
            scored += _of_scores(cast("V3Document", scores), path, [each.name for each in scored])
        else:
            tables.append(path)
    calls = {call for each in scored for call in each.verdicts}
    for path in tables:
        for where, row in rated_rows(path, NEEDED, METRICS):
            _take(row, where, calls, people, problems)
    if scored:
        problems += _unscored_calls(list(people.values()), calls, problems)
    return VerdictTables([*people.values(), *scored], problems)


def _unscored_calls(
    people: Sequence[VerdictRater], scored: Collection[CallKey], problems: Sequence[Problem]
) -> Iterator[Problem]:
    """Calls that people rated and no scores have. SettingsError if these are all. problems: of reading the tables."""
    left = {each.name: [call for call in each.verdicts if call not in scored] for each in people}
    if people and all(len(left[each.name]) == len(each.verdicts) for each in people):
        shown = next((f"{call[1]} on {call[0]}" for calls in left.values() for call in calls), "none")
        why = f"got those on others, such as {shown}{first_of(problems)}"
        raise SettingsError(f"expected verdicts on calls of the scores, {why}")
    for name, calls in left.items():
        if calls:
            yield Problem(name, f"{len(calls)} rated calls are in no scores, such as {calls[0][1]} on {calls[0][0]}")


def _take(
    row: Mapping[str, str],
    where: str,
    scored: Collection[CallKey],
    people: dict[str, VerdictRater],
    problems: list[Problem],
) -> None:
    """Add the verdicts of a row. scored: the calls of all scores."""
    trial = row.get("trial") or "1"
    if lacking := [name for name in NEEDED if not row.get(name)]:
        problems.append(Problem(where, f"{lacking[0]}: left out: expected a name, got none"))
        return
    if not re.fullmatch("[1-9][0-9]{0,8}", trial):
        problems.append(Problem(where, f"trial: left out: expected a number from 1, got {trial!r}"))
        return
    given: dict[RatedMetric, bool | None] = {}
    for metric in METRICS:
        if text := row.get(metric, "").lower():
            if text in ANSWERS:
                given[metric] = ANSWERS[text]
            else:
                problems.append(Problem(where, f"{metric}: left out: expected {', '.join(ANSWERS)}, got {text!r}"))
    rater = people.setdefault(row["rater"], VerdictRater(row["rater"], "person"))
    of_call = row["recording"], row["system"], int(trial)
    known = rater.verdicts.setdefault((*of_call, _condition(row, where, of_call, scored)), {})
    if differing := [metric for metric in known.keys() & given if known[metric] is not given[metric]]:
        call = f"{row['system']} on {row['recording']}"
        raise SettingsError(
            f"{where}: expected one verdict on {call} by {rater.name}, got a second one that differs in {differing[0]}"
        )
    known |= given


def _condition(row: Mapping[str, str], where: str, of_call: tuple[str, str, int], scored: Collection[CallKey]) -> str:
    """The condition of a row: the one that the scores have of such a call, if it names none."""
    there = sorted(condition for *call, condition in scored if tuple(call) == of_call)
    if not row.get(CONDITION) and len(there) > 1:
        raise SettingsError(f"{where}: {CONDITION}: expected one of {'; '.join(there)}, got none")
    return row.get(CONDITION) or next(iter(there), "")


def first_of(problems: Sequence[Problem]) -> str:
    """What an error says of the problems that may have led to it."""
    return f" ({problems[0].where}: {problems[0].reason})" if problems else ""


def _of_scores(scores: V3Document, path: Path, known: Sequence[str]) -> Iterator[VerdictRater]:
    """The judge of scores, if there is one, and what was computed. Of several scores each has its path in its name."""
    judges = (scores["judging"] or {"judges": []})["judges"]
    by_judge = [(name, _by_judge) for name in judges[:1]]
    for name, said_of in (*by_judge, (MATCHER, _by_matcher), (COMPAT, _as_published), (OURS, _by_ours)):
        rater = VerdictRater(f"{name} ({path})" if name in known else name, "judge")
        for item in scores["items"]:
            if found := said_of(item):
                rater.verdicts[item["record"], item["system"], item["trial"], item["condition"]] = found
        if rater.verdicts:
            yield rater


def _by_judge(item: V3Item) -> dict[RatedMetric, bool | None]:
    verdicts = item["verdicts"]
    if verdicts is None:
        return {}
    found: dict[RatedMetric, bool | None] = {"arguments": _all_right(verdicts["arguments"])}
    if verdicts["response"] is not None:
        found["response"] = verdicts["response"]["right"]
    return found


def _all_right(verdicts: Sequence[V3Verdict | None]) -> bool | None:
    """None if a verdict is missing, and none is no."""
    right = [each is not None and each["right"] for each in verdicts]
    return False if False in right else None if None in right else True


def _by_matcher(item: V3Item) -> dict[RatedMetric, bool | None]:
    return {"arguments": all(item["matched"])}


def _as_published(item: V3Item) -> dict[RatedMetric, bool | None]:
    found: dict[RatedMetric, bool | None] = {}
    if (first_s := item["values"].get("compat_first_response")) is not None:
        found["interruption"] = first_s < 0
    if (taken := item["values"].get("compat_turn_take")) is not None:
        found["turn_take"] = bool(taken)
    return found


def _by_ours(item: V3Item) -> dict[RatedMetric, bool | None]:
    return {metric: item["values"][name] == 1 for metric, name in _OURS.items() if name in item["values"]}
