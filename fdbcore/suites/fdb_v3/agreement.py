"""Agreement of raters: on verdicts on calls, yes or no, and on the disfluencies of recordings.

A table of verdicts is a CSV with a header, a row a call and rater:

- `recording`: its id; `system`: its name in the scores; `trial`: its number, 1 if the column is missing; `rater`;
  `condition`: its name in the scores, where these have a system under several.
- `arguments`: all expected calls were made with the right arguments. `response`: the answer is right. `interruption`:
  the system began before the user had finished. `turn_take`: the system answered. Each `yes`, `no`, `cannot tell`, or
  empty where it was not rated.

Scores of the suite stand for the judge, if one was asked, for the exact matcher, and for the published measures and
ours. A table of tags is a CSV with a header, a row a recording and rater:

- `recording`: its id; `rater`: who tagged it, the file's name if the column is missing.
- `disfluencies`: the classes that it has, with spaces between; empty for none.

A file of recorded scenarios stands for its labels.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Meta, Struct, to_builtins

from fdbcore.errors import SettingsError
from fdbcore.recording import of_form
from fdbcore.report import (
    ColumnGroup,
    agreement_screen,
    comparison_tables,
    counted,
    estimates,
    number_text,
    table,
    wrapped,
)
from fdbcore.results import (
    ItemKey,
    Mark,
    ProblemEntry,
    Rater,
    RaterAgreement,
    RaterEntry,
    compared,
    compared_all,
    marks_in,
    problem_entries,
)
from fdbcore.runs import read_kept_scores
from fdbcore.runtime import read_whole
from fdbcore.sources import columns_of, rated_rows
from fdbcore.suites.fdb_v3.judge import MATCHER
from fdbcore.suites.fdb_v3.scenarios import SCHEMA as SCENARIOS
from fdbcore.suites.fdb_v3.scenarios import Disfluency, look_at
from fdbcore.types import Problem

METRICS: Final = ("arguments", "response", "interruption", "turn_take")
NEEDED: Final = ("recording", "system", "rater")
CONDITION: Final = "condition"
SCORES: Final = ("fdbcore.fdb_v3/2", "fdbcore.fdb_v3/1")
"""The schemas of scores whose items are read; those of /1 have the same."""
ANSWERS: Final[Mapping[str, Mark]] = {"yes": 1.0, "no": 0.0, "cannot tell": None}
COMPAT: Final = "published measures"
OURS: Final = "our measures"
_OURS: Final = {"arguments": "arguments", "interruption": "interrupted", "turn_take": "answered"}
"""Measures of ours that say the same."""

FIGURES: Final = ("identical", "alpha", "kappa")
LEGEND: Final = (
    "n: calls on which both gave a verdict; of more than two raters, those on which two did. yes: of these, by each. "
    "identical: share on which all say the same. alpha: Krippendorff's, nominal; kappa: Cohen's; none where all say "
    "the same throughout. people: what most of them say. Brackets: 95 %, over calls."
)

CallKey: TypeAlias = ItemKey
"""The recording, the system, the trial, and the condition; "" for that of tables that name none."""


class RatedItem(Struct, frozen=True):
    """The part that is read of an item of scores, also of earlier ones. verdicts: as JSON values."""

    record: str
    system: str
    condition: str
    matched: list[bool]
    values: dict[str, float]
    trial: int = 1
    verdicts: dict[str, Any] | None = None

    def said(self, judge: str) -> dict[str, dict[str, bool | None]]:
        """Verdicts of the judge, the matcher, and the published measures and ours; of missing verdicts none is no."""
        published: dict[str, bool | None] = {}
        if (first_s := self.values.get("compat_first_response")) is not None:
            published["interruption"] = first_s < 0
        if (taken := self.values.get("compat_turn_take")) is not None:
            published["turn_take"] = bool(taken)
        judged: dict[str, bool | None] = {}
        if self.verdicts is not None:
            right = [each is not None and each["right"] for each in self.verdicts["arguments"]]
            judged["arguments"] = False if False in right else None if None in right else True
            if self.verdicts["response"] is not None:
                judged["response"] = self.verdicts["response"]["right"]
        ours = {metric: self.values[name] == 1 for metric, name in _OURS.items() if name in self.values}
        return {judge: judged, MATCHER: {"arguments": all(self.matched)}, COMPAT: published, OURS: {**ours}}


class KeptVerdicts(Struct, frozen=True):
    """The part that is read of scores."""

    items: list[RatedItem]
    judging: dict[str, Any] | None = None


def holds_verdicts(path: Path) -> bool:
    """True if it is a table of verdicts, by its header, or has scores of the suite."""
    found = {*columns_of(path)}
    return ({*NEEDED} <= found and bool({*METRICS} & found)) or _kept(path) is not None


def _kept(path: Path) -> Mapping[str, Any] | None:
    return next(filter(None, (read_kept_scores(path, schema) for schema in SCORES)), None)


def read_verdicts(paths: Sequence[Path]) -> tuple[list[Rater], list[Problem]]:
    """All raters in tables and scores, people first, and what was left out: a cell or row that cannot be used.

    SettingsError for a file that cannot be used, and for a rater who rated a call twice, and differently.
    """
    people: dict[str, Rater] = {}
    scored: list[Rater] = []
    problems: list[Problem] = []
    tables: list[Path] = []
    for path in paths:
        if (scores := _kept(path)) is not None:
            kept: KeptVerdicts = of_form(path, scores, KeptVerdicts)
            scored += _of_scores(kept, path, [each.name for each in scored])
        else:
            tables.append(path)
    calls = {call for each in scored for call in each.marks}
    for path in tables:
        for where, row in rated_rows(path, NEEDED, METRICS):
            _take(row, where, calls, people, problems)
    if scored:
        problems += _unscored_calls(list(people.values()), calls, problems)
    return [*people.values(), *scored], problems


def _unscored_calls(
    people: Sequence[Rater], scored: Collection[CallKey], problems: Sequence[Problem]
) -> Iterator[Problem]:
    """Calls that people rated and no scores have. SettingsError if these are all. problems: of reading the tables."""
    left = {each.name: [call for call in each.marks if call not in scored] for each in people}
    if people and all(len(left[each.name]) == len(each.marks) for each in people):
        shown = next((f"{call[1]} on {call[0]}" for calls in left.values() for call in calls), "none")
        why = f"got those on others, such as {shown}{first_of(problems)}"
        raise SettingsError(f"expected verdicts on calls of the scores, {why}")
    for name, calls in left.items():
        if calls:
            yield Problem(name, f"{len(calls)} rated calls are in no scores, such as {calls[0][1]} on {calls[0][0]}")


def _take(
    row: Mapping[str, str], where: str, scored: Collection[CallKey], people: dict[str, Rater], problems: list[Problem]
) -> None:
    """Add the verdicts of a row. scored: the calls of all scores."""
    trial = row.get("trial") or "1"
    if lacking := [name for name in NEEDED if not row.get(name)]:
        problems.append(Problem(where, f"{lacking[0]}: left out: expected a name, got none"))
        return
    if not re.fullmatch("[1-9][0-9]{0,8}", trial):
        problems.append(Problem(where, f"trial: left out: expected a number from 1, got {trial!r}"))
        return
    given = marks_in(row, where, METRICS, _mark, ", ".join(ANSWERS), problems)
    rater = people.setdefault(row["rater"], Rater(row["rater"], "person"))
    of_call = row["recording"], row["system"], int(trial)
    call: CallKey = (*of_call, _condition(row, where, of_call, scored))
    rater.take(call, {(name,): mark for name, mark in given.items()}, where, f"verdict on {call[1]} on {call[0]}")


def _mark(text: str) -> Mark:
    """A verdict as it is written. ValueError if it is none."""
    if text.lower() not in ANSWERS:
        raise ValueError
    return ANSWERS[text.lower()]


def _condition(row: Mapping[str, str], where: str, of_call: tuple[str, str, int], scored: Collection[CallKey]) -> str:
    """The condition of a row: the one that the scores have of such a call, if it names none."""
    there = sorted(str(condition) for *call, condition in scored if tuple(call) == of_call)
    if not row.get(CONDITION) and len(there) > 1:
        raise SettingsError(f"{where}: {CONDITION}: expected one of {'; '.join(there)}, got none")
    return row.get(CONDITION) or next(iter(there), "")


def first_of(problems: Sequence[Problem]) -> str:
    """The problems that may have led to an error, for its text."""
    return f" ({problems[0].where}: {problems[0].reason})" if problems else ""


def _of_scores(scores: KeptVerdicts, path: Path, known: Sequence[str]) -> Iterator[Rater]:
    """The judge of scores, if there is one, and what was computed. Of several scores each has its path in its name."""
    judge = "" if scores.judging is None else next(iter(scores.judging["judges"]), "")
    found: dict[str, Rater] = {}
    for item in scores.items:
        for name, verdicts in item.said(judge).items():
            if name and verdicts:
                rater = found.setdefault(name, Rater(f"{name} ({path})" if name in known else name, "judge"))
                call: CallKey = item.record, item.system, item.trial, item.condition
                rater.marks[call] = {(name,): None if said is None else float(said) for name, said in verdicts.items()}
    yield from (found[name] for name in (judge, MATCHER, COMPAT, OURS) if name in found)


def verdict_agreement(paths: Sequence[Path]) -> RaterAgreement:
    """The agreement of all raters in these tables and scores.

    SettingsError for a file that cannot be used, and if no two raters gave verdicts on the same call.
    """
    raters, problems = read_verdicts(paths)
    found = []
    for metric in METRICS:
        for each in compared(raters, (metric,), _most):
            yes = [int(count) for count in np.nansum(each.ratings, axis=0)]
            if each.items:
                found.append(each.entry(FIGURES, {"metric": metric, "between": each.between, "yes": yes}))
    if not found:
        why = first_of(problems) or ": do recording and system fit?"
        raise SettingsError(f"expected calls on which two raters gave verdicts, got none{why}")
    told = [RaterEntry(name=each.name, kind=each.kind, calls=len(each.marks)) for each in raters]
    return RaterAgreement("fdbcore.verdict_agreement/1", told, found, problem_entries(problems))


def _most(verdicts: Sequence[float]) -> Mark:
    """The verdict of more than half of the people who can tell; None where they are split."""
    twice = 2 * sum(verdicts)
    return None if twice == len(verdicts) else float(twice > len(verdicts))


def verdicts_screen(content: Mapping[str, Any], width: int) -> str:
    """The agreement in at most `width` columns (60 or more), without a newline at the end."""
    told = [f"{each['name']}: {counted(each['calls'], 'call')}" for each in content["raters"]]
    tables = comparison_tables(
        content,
        width,
        lambda each: "turn-take" if each["metric"] == "turn_take" else each["metric"],
        dict(zip(FIGURES, FIGURES, strict=True)),
        counts={"yes": lambda each: " ".join(map(str, each["yes"]))},
    )
    return agreement_screen(content, told, [*tables, wrapped(LEGEND, width)], width)


TAGS_LEGEND: Final = (
    "n: recordings that two raters or more tagged. tagged: by how many of them each rater has that class. identical: "
    "share on which all say the same. alpha: Krippendorff's, nominal; none where all say the same throughout. "
    "Brackets: 95 %, over recordings."
)
RECORDING, RATER, TAGS = "recording", "rater", "disfluencies"
CLASSES: Final[Sequence[Disfluency]] = get_args(Disfluency)


class TagRater(Struct, frozen=True):
    """Who tagged recordings."""

    name: str
    recordings: int


class TagAgreement(Struct, frozen=True):
    """The agreement of raters on one class of disfluency."""

    kind: Disfluency
    n: Annotated[int, Meta(description="recordings that two raters or more tagged")]
    tagged: Annotated[list[int], Meta(description="of these by each rater with this class, in the order of raters")]
    identical: Annotated[float | None, Meta(description="share on which all of its raters say the same")]
    alpha: Annotated[float | None, Meta(description="Krippendorff's, nominal; null if all say the same throughout")]
    ci95: Annotated[tuple[float, float] | None, Meta(description="of alpha, over recordings; null where there is none")]
    reason: Annotated[str, Meta(description="why alpha, or its interval, is null")]


class DisfluencyAgreement(Struct, frozen=True):
    """The document of `fdbcore agree` for tags."""

    schema: Literal["fdbcore.disfluency_agreement/1"]
    raters: list[TagRater]
    classes: list[TagAgreement]
    problems: list[ProblemEntry]


def holds_tags(path: Path) -> bool:
    """True if it is a table of tags, by its header, or a file of recorded scenarios."""
    if path.suffix.lower() != ".json":
        return {RECORDING, TAGS} <= {*columns_of(path)}
    try:
        return SCENARIOS.encode() in read_whole(path)[:1000]
    except OSError:
        return False


def tag_agreement(paths: Sequence[Path]) -> DisfluencyAgreement:
    """The agreement of all raters in these files. SettingsError for a file that cannot be used, or too few raters."""
    raters: dict[str, Rater] = {}
    problems: list[Problem] = []
    for path in paths:
        for name, recording, tags, where in _labels(path) if path.suffix.lower() == ".json" else _rows(path, problems):
            rater = raters.setdefault(name, Rater(name, "person"))
            rater.take((recording,), {(kind,): float(kind in tags) for kind in CLASSES}, where, f"row for {recording}")
    if len(raters) < 2:
        given = ", ".join(raters) or "nobody"
        raise SettingsError(f"expected tags by two raters or more, got those of {given}{first_of(problems)}")
    classes = [_agreement(kind, list(raters.values())) for kind in CLASSES]
    if not classes[0].n:
        raise SettingsError(f"expected recordings that two raters tagged, got none{first_of(problems)}")
    return DisfluencyAgreement(
        "fdbcore.disfluency_agreement/1",
        [TagRater(each.name, len(each.marks)) for each in raters.values()],
        classes,
        problem_entries(problems),
    )


def _agreement(kind: Disfluency, raters: Sequence[Rater]) -> TagAgreement:
    """Of one class, between all raters."""
    found = compared_all("people", raters, (kind,))
    identical, alpha = found.figure("identical"), found.figure("alpha")
    tagged = [int(count) for count in np.nansum(found.ratings, axis=0)]
    return TagAgreement(kind, len(found.items), tagged, identical.value, alpha.value, alpha.ci95, alpha.reason)


def _labels(path: Path) -> Iterator[tuple[str, str, frozenset[str], str]]:
    """The labels of a file of recorded scenarios: as `_rows`."""
    file, faults = look_at(path)
    if file is None:
        raise SettingsError("; ".join(f"{fault.where}: {fault.reason}" for fault in faults))
    for record in file.record:
        yield path.stem, record.id, frozenset(record.disfluencies), str(path)


def _rows(path: Path, problems: list[Problem]) -> Iterator[tuple[str, str, frozenset[str], str]]:
    """Of each row of a table that can be used the rater, the recording, its classes, and its place."""
    for where, row in rated_rows(path, (RECORDING, TAGS)):
        recording, rater = row[RECORDING], row.get(RATER, path.stem)
        tags = frozenset(row.get(TAGS, "").upper().replace("-", "_").split())
        if not (recording and rater):
            column = RATER if recording else RECORDING
            problems.append(Problem(where, f"{column}: left out: expected a name, got none"))
        elif unknown := sorted(tags - {*CLASSES}):
            reason = f"{TAGS}: left out: expected of {', '.join(CLASSES)}, got {', '.join(unknown)}"
            problems.append(Problem(where, reason))
        else:
            yield rater, recording, tags, where


def tags_screen(content: Mapping[str, Any], width: int) -> str:
    """The agreement in at most `width` columns (60 or more), without a newline at the end."""
    raters, classes = content["raters"], content["classes"]
    counts = [[str(count) for count in each["tagged"]] for each in classes]
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in classes]),
        ColumnGroup("tagged by", [str(n) for n in range(1, len(raters) + 1)], [4] * len(raters), counts),
        ColumnGroup("identical", [""], [9], [[number_text(each["identical"])] for each in classes]),
        estimates("alpha", [{"value": each["alpha"], "ci95": each["ci95"]} for each in classes]),
    ]
    names = [each["kind"].lower().replace("_", " ") for each in classes]
    told = [f"{each['name']}: {counted(each['recordings'], 'recording')}" for each in raters]
    return agreement_screen(content, told, [table(names, groups, width), wrapped(TAGS_LEGEND, width)], width)


def holds_labels(path: Path) -> bool:
    """True if it is a table of verdicts or of tags, or has scores of the suite or recorded scenarios."""
    return holds_tags(path) or holds_verdicts(path)


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """The agreement on verdicts, if some are there, else on tags; see `fdbcore.protocols.suite.Labels`."""
    if any(map(holds_verdicts, paths)):
        verdicts = to_builtins(verdict_agreement(paths))
        return verdicts, verdicts_screen(verdicts, width)
    tags = to_builtins(tag_agreement(paths))
    return tags, tags_screen(tags, width)
