"""What people, judges, the exact matcher and our measures say of calls, yes or no, and how far they agree.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Meta, Struct, to_builtins

from fdbcore.analysis import Between, groups_of_raters
from fdbcore.errors import SettingsError
from fdbcore.recording import of_form
from fdbcore.report import ColumnGroup, compared, counted, estimates, problem_lines, table, wrapped
from fdbcore.results import ProblemEntry, problem_entries
from fdbcore.runs import read_kept_scores
from fdbcore.sources import columns_of, rated_rows
from fdbcore.stats import Floats, bootstrap_times, interval_alpha, kappas
from fdbcore.suites.fdb_v3.judge_agreement import MATCHER, AgreementFigure
from fdbcore.types import Problem

RatedMetric: TypeAlias = Literal["arguments", "response", "interruption", "turn_take"]
METRICS: Final[Sequence[RatedMetric]] = get_args(RatedMetric)
NEEDED: Final = ("recording", "system", "rater")
CONDITION: Final = "condition"
SCORES: Final = ("fdbcore.fdb_v3/2", "fdbcore.fdb_v3/1")
"""The schemas of scores whose items are read; those of /1 have the same."""
ANSWERS: Final[Mapping[str, bool | None]] = {"yes": True, "no": False, "cannot tell": None}
PEOPLE: Final = "people"
COMPAT: Final = "published measures"
OURS: Final = "our measures"
_OURS: Final[Mapping[RatedMetric, str]] = {
    "arguments": "arguments",
    "interruption": "interrupted",
    "turn_take": "answered",
}
"""Measures of ours that say the same."""

TITLES: Final = {"turn_take": "turn-take"}
LEGEND: Final = (
    "n: calls on which both gave a verdict; of more than two raters, those on which two did. yes: of these, by each. "
    "identical: share on which all say the same. alpha: Krippendorff's, nominal; kappa: Cohen's; none where all say "
    "the same throughout. people: what most of them say. Brackets: 95 %, over calls."
)

CallKey: TypeAlias = tuple[str, str, int, str]
"""The recording, the system, the trial, and the condition; "" for that of tables that name none."""


@dataclass(slots=True)
class VerdictRater:
    """A person, a judge or a measure. verdicts: by call and metric; None: cannot tell."""

    name: str
    kind: Literal["person", "judge"]
    verdicts: dict[CallKey, dict[RatedMetric, bool | None]] = field(default_factory=dict)


class RatedItem(Struct, frozen=True):
    """What is read of an item of scores, also of earlier ones. verdicts: as JSON values."""

    record: str
    system: str
    condition: str
    matched: list[bool]
    values: dict[str, float]
    trial: int = 1
    verdicts: dict[str, Any] | None = None

    def said(self, judge: str) -> dict[str, dict[RatedMetric, bool | None]]:
        """What the judge, the matcher, and the published measures and ours say; of missing verdicts none is no."""
        published: dict[RatedMetric, bool | None] = {}
        if (first_s := self.values.get("compat_first_response")) is not None:
            published["interruption"] = first_s < 0
        if (taken := self.values.get("compat_turn_take")) is not None:
            published["turn_take"] = bool(taken)
        judged: dict[RatedMetric, bool | None] = {}
        if self.verdicts is not None:
            right = [each is not None and each["right"] for each in self.verdicts["arguments"]]
            judged["arguments"] = False if False in right else None if None in right else True
            if self.verdicts["response"] is not None:
                judged["response"] = self.verdicts["response"]["right"]
        ours = {metric: self.values[name] == 1 for metric, name in _OURS.items() if name in self.values}
        return {judge: judged, MATCHER: {"arguments": all(self.matched)}, COMPAT: published, OURS: {**ours}}


class KeptVerdicts(Struct, frozen=True):
    """What is read of scores."""

    items: list[RatedItem]
    judging: dict[str, Any] | None = None


class VerdictRaterJson(Struct, frozen=True):
    """Who gave verdicts. kind: a judge is a model, the exact matcher, or a measure."""

    name: str
    kind: Literal["person", "judge"]
    calls: int


class VerdictComparison(Struct, frozen=True):
    """How far raters agree in one metric."""

    metric: RatedMetric
    between: Between
    raters: Annotated[list[str], Meta(description="two, or all people; 'people' is what most of them say")]
    n: Annotated[int, Meta(description="calls on which all, or of more than two raters two, gave a verdict")]
    yes: Annotated[list[int], Meta(description="of these by each rater")]
    identical: Annotated[AgreementFigure, Meta(description="share on which all say the same")]
    alpha: Annotated[AgreementFigure, Meta(description="Krippendorff's, nominal")]
    kappa: Annotated[AgreementFigure | None, Meta(description="Cohen's; null: there are more than two raters")]


class VerdictAgreement(Struct, frozen=True):
    """How far people, judges, the exact matcher and measures agree on calls. Intervals are over calls."""

    schema: Literal["fdbcore.verdict_agreement/1"]
    raters: list[VerdictRaterJson]
    comparisons: list[VerdictComparison]
    problems: list[ProblemEntry]


def holds_verdicts(path: Path) -> bool:
    """Whether it is a table of verdicts, by its header, or has scores of the suite."""
    found = {*columns_of(path)}
    return ({*NEEDED} <= found and bool({*METRICS} & found)) or _kept(path) is not None


def _kept(path: Path) -> Mapping[str, Any] | None:
    return next(filter(None, (read_kept_scores(path, schema) for schema in SCORES)), None)


def read_verdicts(paths: Sequence[Path]) -> tuple[list[VerdictRater], list[Problem]]:
    """All raters in tables and scores, people first, and what was left out: a cell or row that cannot be used.

    SettingsError for a file that cannot be used, and for a rater who rated a call twice, and differently.
    """
    people: dict[str, VerdictRater] = {}
    scored: list[VerdictRater] = []
    problems: list[Problem] = []
    tables: list[Path] = []
    for path in paths:
        if (scores := _kept(path)) is not None:
            kept: KeptVerdicts = of_form(path, scores, KeptVerdicts)
            scored += _of_scores(kept, path, [each.name for each in scored])
        else:
            tables.append(path)
    calls = {call for each in scored for call in each.verdicts}
    for path in tables:
        for where, row in rated_rows(path, NEEDED, METRICS):
            _take(row, where, calls, people, problems)
    if scored:
        problems += _unscored_calls(list(people.values()), calls, problems)
    return [*people.values(), *scored], problems


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


def _of_scores(scores: KeptVerdicts, path: Path, known: Sequence[str]) -> Iterator[VerdictRater]:
    """The judge of scores, if there is one, and what was computed. Of several scores each has its path in its name."""
    judge = "" if scores.judging is None else next(iter(scores.judging["judges"]), "")
    found: dict[str, VerdictRater] = {}
    for item in scores.items:
        for name, verdicts in item.said(judge).items():
            if name and verdicts:
                rater = found.setdefault(name, VerdictRater(f"{name} ({path})" if name in known else name, "judge"))
                rater.verdicts[item.record, item.system, item.trial, item.condition] = verdicts
    yield from (found[name] for name in (judge, MATCHER, COMPAT, OURS) if name in found)


def verdict_agreement(paths: Sequence[Path]) -> VerdictAgreement:
    """The agreement of all raters in these tables and scores.

    SettingsError for a file that cannot be used, and if no two raters gave verdicts on the same call.
    """
    raters, problems = read_verdicts(paths)
    people, judges = ([each for each in raters if each.kind == kind] for kind in ("person", "judge"))
    groups = list(groups_of_raters(people, judges, most_of))
    every = [_comparison(metric, between, group) for metric in METRICS for between, group in groups]
    found = [each for each in every if each is not None]
    if not found:
        why = first_of(problems) or ": do recording and system fit?"
        raise SettingsError(f"expected calls on which two raters gave verdicts, got none{why}")
    told = [VerdictRaterJson(each.name, each.kind, len(each.verdicts)) for each in raters]
    return VerdictAgreement("fdbcore.verdict_agreement/1", told, found, problem_entries(problems))


def most_of(people: Sequence[VerdictRater]) -> VerdictRater:
    """What more than half of those say who can tell, as one rater; it cannot tell where they are split."""
    most = VerdictRater(PEOPLE, "person")
    for call in dict.fromkeys(call for each in people for call in each.verdicts):
        for metric in METRICS:
            given = [each.verdicts[call][metric] for each in people if metric in each.verdicts.get(call, {})]
            known = [each for each in given if each is not None]
            if given:
                is_split = 2 * sum(known) == len(known)
                most.verdicts.setdefault(call, {})[metric] = None if is_split else 2 * sum(known) > len(known)
    return most


def _comparison(metric: RatedMetric, between: Between, raters: Sequence[VerdictRater]) -> VerdictComparison | None:
    """None if there is no call on which two of them gave a verdict."""
    calls = sorted({call for each in raters for call in each.verdicts})
    given = [[each.verdicts.get(call, {}).get(metric) for each in raters] for call in calls]
    kept = [row for row in given if sum(each is not None for each in row) >= 2]
    if not kept:
        return None
    ratings = np.array([[np.nan if each is None else float(each) for each in row] for row in kept])
    alike = (np.nanmin(ratings, axis=1) == np.nanmax(ratings, axis=1)).astype(float)

    def figure(statistic: Callable[[Floats], Floats]) -> AgreementFigure:
        return AgreementFigure.of(bootstrap_times(statistic, len(kept)))

    return VerdictComparison(
        metric,
        between,
        [each.name for each in raters],
        len(kept),
        [int(each) for each in np.nansum(ratings, axis=0)],
        figure(lambda times: times @ alike / times.sum(axis=1)),
        figure(partial(interval_alpha, ratings)),
        figure(_kappa_of(ratings)) if len(raters) == 2 else None,
    )


def _kappa_of(ratings: Floats) -> Callable[[Floats], Floats]:
    pairs = np.eye(4)[(2 * ratings[:, 0] + ratings[:, 1]).astype(int)]
    return lambda times: kappas(times @ pairs)


def verdicts_screen(content: VerdictAgreement, width: int) -> str:
    """The agreement in at most `width` columns (60 or more), without a newline at the end."""
    numbers = {each.name: str(number) for number, each in enumerate(content.raters, 1)}
    tables = [
        [TITLES.get(metric, metric), *_table(list(own), numbers, width)]
        for metric, own in groupby(content.comparisons, lambda each: each.metric)
    ]
    told = [f"{each.name}: {counted(each.calls, 'call')}" for each in content.raters]
    return agreement_screen(told, tables, LEGEND, content.problems, width)


def agreement_screen(
    raters: Iterable[str], tables: Iterable[list[str]], legend: str, problems: Iterable[ProblemEntry], width: int
) -> str:
    """Who rated, which are numbered; tables; what they show; and what was left out."""
    blocks = [
        [line for number, told in enumerate(raters, 1) for line in wrapped(f"{number} {told}", width, 2)],
        *tables,
        list(wrapped(legend, width)),
        list(problem_lines([Problem(each.where, each.reason) for each in problems], width)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(comparisons: Sequence[VerdictComparison], numbers: dict[str, str], width: int) -> list[str]:
    names = [compared(each.raters, numbers) for each in comparisons]
    counts = [[f"{each.n:,}", " ".join(map(str, each.yes))] for each in comparisons]
    groups = [ColumnGroup("", ["n", "yes"], [5, max(len(each[1]) for each in counts)], counts)]
    for name in ("identical", "alpha", "kappa"):
        groups.append(estimates(name, to_builtins([getattr(each, name) for each in comparisons])))
    return table(names, groups, width)
