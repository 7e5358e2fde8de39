"""How well WLCS, WED and F1 go with people's ratings of the same replies: Pearson's and Spearman's correlation.

Ratings are CSV tables with a header, a row a reply and rater:

- `id`: of the record; `system`: whose reply it is; `rater`: who rated it.
- `rating`: a number, the higher the better; empty if it was not rated.
- `set`: the set of the record, needed only where several sets of the scores have the reply.

The unit is the reply; a measure of it is the mean over its annotations. Replies of several systems to one record
resemble each other, so intervals resample records; and turns of one recorded user do, so of these they resample
recorded users, as scores do. Beside measures stands how far people agree with each other: a
measure can hardly go with people better than people do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

import numpy as np
from msgspec import Meta

from fdbcore.analysis import groups_of_raters
from fdbcore.errors import SettingsError
from fdbcore.report import NAME_COLUMNS, ColumnGroup, compared, counted, estimates, fitted, table, wrapped
from fdbcore.results import ProblemEntry, problem_entries
from fdbcore.runs import read_kept_scores
from fdbcore.runtime import number_of
from fdbcore.sources import columns_of, rated_rows
from fdbcore.stats import Floats, bootstrap_times, interval_alpha, pearson, spearman
from fdbcore.suites.dialogue_acts.agree.agreement import AgreementMeasure, measure_json, screen_of
from fdbcore.suites.dialogue_acts.scoring.document import DOCUMENT_SCHEMA
from fdbcore.types import Problem

SCHEMA: Final = "fdbcore.acts_ratings/1"
EARLIER: Final = "fdbcore.dialogue_acts/1"
"""The schema of earlier scores, whose items have the same form."""
NEEDED: Final = ("id", "system", "rater", "rating")
PEOPLE: Final = "people"
RatedMeasure: TypeAlias = Literal["wlcs", "wed", "f1"]
NAMES: Final[Mapping[RatedMeasure, str]] = {"wlcs": "WLCS", "wed": "WED", "f1": "F1"}
LEGEND: Final = (
    "n: replies that have both; of more than two people, that two have rated. r: Pearson; rho: Spearman; alpha: "
    "Krippendorff's, of an interval scale. people: the mean of all who rated a reply. A good measure has r and rho "
    "near 1 (WLCS, F1) or near -1 (WED, which is less for better replies). Brackets: 95 %, over "
)
Statistic: TypeAlias = Callable[[Floats, Floats], Floats]


class ReplyKey(NamedTuple):
    """A reply: the set and the id of its record, and the system."""

    set: str
    id: str
    system: str


@dataclass(slots=True)
class ReplyRater:
    """A person, or a measure that stands beside people. marks: by reply."""

    name: str
    marks: dict[ReplyKey, float] = field(default_factory=dict)


class ReplyRaterJson(TypedDict):
    """A person."""

    name: str
    replies: Annotated[int, Meta(description="that were rated, and are scored")]


class ReplyComparison(TypedDict):
    """How well a measure goes with ratings, or ratings go with each other."""

    set: str
    annotator: Annotated[str | None, Meta(description="by whom the measure is; null: people alone are compared")]
    system: Annotated[str | None, Meta(description="whose replies; null: those of all systems")]
    measure: Annotated[Literal["wlcs", "wed", "f1"] | None, Meta(description="null: people alone are compared")]
    raters: Annotated[list[str], Meta(description="'people' is the mean of all who rated a reply")]
    n: Annotated[int, Meta(description="replies that have both; of more than two people, that two have rated")]
    records: int
    clusters: NotRequired[
        Annotated[int, Meta(description="of turns: the recorded users that were resampled, each with all its turns")]
    ]
    pearson: Annotated[AgreementMeasure | None, Meta(description="null: there are more than two raters")]
    spearman: AgreementMeasure | None
    alpha: Annotated[AgreementMeasure | None, Meta(description="Krippendorff's, interval scale; null for a measure")]


class RepliesRated(TypedDict):
    """How well WLCS, WED and F1 go with people's ratings of the same replies.

    Intervals resample records; of turns, recorded users.
    """

    schema: Literal["fdbcore.acts_ratings/1"]
    raters: list[ReplyRaterJson]
    comparisons: list[ReplyComparison]
    problems: list[ProblemEntry]


def holds_ratings(path: Path) -> bool:
    """Whether it is a table of ratings of replies, by its header."""
    return {*NEEDED} <= {*columns_of(path)}


def read_ratings(paths: Sequence[Path], items: Iterable[Mapping[str, Any]]) -> tuple[list[ReplyRater], list[Problem]]:
    """The people in some tables. A row that cannot be used, or whose reply has no score, is a problem.

    SettingsError for a table that cannot be read, and for a rater who rated a reply twice, and differently.
    """
    scored: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if item["kind"] == "system":
            scored.setdefault((item["id"], item["system"]), set()).add(item["set"])
    people: dict[str, ReplyRater] = {}
    problems: list[Problem] = []
    for path in paths:
        for where, row in rated_rows(path, NEEDED):
            if reason := _take(row, where, scored, people):
                problems.append(Problem(where, reason))
    return list(people.values()), problems


def _take(
    row: Mapping[str, str],
    where: str,
    scored: Mapping[tuple[str, str], set[str]],
    people: dict[str, ReplyRater],
) -> str:
    """Add the rating of a row; or say why it is left out."""
    if not all(row.get(name) for name in ("id", "system", "rater")):
        return "expected an id, a system and a rater, got an empty cell"
    if not row.get("rating"):
        return ""
    try:
        rating = number_of(row["rating"])
    except ValueError:
        return f"rating: expected a number, got {row['rating']!r}"
    sets = scored.get((row["id"], row["system"]), set())
    if named := row.get("set"):
        sets = sets & {named}
    if not sets:
        of_set = f" of {named}" if named else ""
        return f"expected a reply that is scored, got that of {row['system']} to {row['id']}{of_set}"
    if len(sets) > 1:
        return f"expected a set, one of {', '.join(sorted(sets))}, which all have {row['id']}; got none"
    (of,) = sets
    reply = ReplyKey(of, row["id"], row["system"])
    rater = people.setdefault(row["rater"], ReplyRater(row["rater"]))
    if rater.marks.setdefault(reply, rating) != rating:
        raise SettingsError(
            f"{where}: expected one rating of the reply of {reply.system} to {reply.id} by {rater.name}, "
            f"got {rater.marks[reply]:g} and {rating:g}"
        )
    return ""


def rating_agreement(paths: Sequence[Path], show: Callable[[str], None]) -> RepliesRated:
    """The document of tables of ratings, and of one scoring.

    SettingsError for a file that cannot be used, and if no reply that is scored was rated.
    """
    tables = [path for path in paths if holds_ratings(path)]
    scores = _scores([path for path in paths if path not in tables])
    people, problems = read_ratings(tables, scores["items"])
    if not people:
        reason = f" ({problems[0].where}: {problems[0].reason})" if problems else ""
        raise SettingsError(f"expected ratings of replies that are scored, got none{reason}")
    return {
        "schema": SCHEMA,
        "raters": [{"name": each.name, "replies": len(each.marks)} for each in people],
        "comparisons": list(_comparisons(scores, people, show)),
        "problems": problem_entries(problems),
    }


def _scores(paths: Sequence[Path]) -> Mapping[str, Any]:
    found = [(path, read_kept_scores(path, DOCUMENT_SCHEMA) or read_kept_scores(path, EARLIER)) for path in paths]
    for path, content in found:
        if content is None:
            raise SettingsError(
                f"{path}: expected ratings (CSV with the columns {', '.join(NEEDED)}), or a run or folder with scores "
                "by fdbcore score --suite dialogue-acts, got something else"
            )
    if len(found) != 1:
        raise SettingsError(f"expected the scores that were rated, once, got {len(found)} beside the ratings")
    scores = found[0][1] or {}
    if scores.get("turns") and any("recorded_user" not in item for item in scores["items"]):
        raise SettingsError(f"{found[0][0]}: expected the recorded user of each turn, got none: score the turns again")
    return scores


def _comparisons(
    scores: Mapping[str, Any], people: Sequence[ReplyRater], show: Callable[[str], None]
) -> Iterator[ReplyComparison]:
    """By set: people with each other; then by annotator, measure and system: the measure with people."""
    for of in (one["name"] for one in scores["sets"]):
        own = [item for item in scores["items"] if (item["set"], item["kind"]) == (of, "system")]
        users = {item["id"]: item["recorded_user"] for item in own if "recorded_user" in item}
        for _, raters in groups_of_raters(people, (), mean_of):
            show(f"{of}: comparing {' and '.join(each.name for each in raters)}")
            yield from _comparison(of, None, None, None, raters, users)
        systems = list(dict.fromkeys(item["system"] for item in own))
        for annotator in dict.fromkeys(item["annotator"] for item in own):
            for measure in NAMES:
                given: defaultdict[ReplyKey, list[float]] = defaultdict(list)
                for item in own:
                    if item["annotator"] == annotator:
                        given[ReplyKey(of, item["id"], item["system"])].append(item["scores"][measure])
                rater = ReplyRater(measure, {reply: fmean(values) for reply, values in given.items()})
                beside = [
                    raters for between, raters in groups_of_raters(people, [rater], mean_of) if between != "people"
                ]
                for system in (None, *(systems if len(systems) > 1 else ())):
                    show(f"{of}, {annotator}: comparing {measure} of {system or 'all systems'}")
                    for raters in beside:
                        yield from _comparison(of, annotator, system, measure, raters, users)


def mean_of(people: Sequence[ReplyRater]) -> ReplyRater:
    """The mean of all who rated a reply, as one rater."""
    replies = dict.fromkeys(reply for each in people for reply in each.marks)
    return ReplyRater(
        PEOPLE, {reply: fmean(each.marks[reply] for each in people if reply in each.marks) for reply in replies}
    )


def _comparison(
    of: str,
    annotator: str | None,
    system: str | None,
    measure: RatedMeasure | None,
    raters: Sequence[ReplyRater],
    users: Mapping[str, str],
) -> Iterator[ReplyComparison]:
    """Nothing if two of them have no reply in common. users: the recorded user of each record that is a turn of one."""
    replies = sorted(
        reply
        for reply in {reply for each in raters for reply in each.marks}
        if reply.set == of and system in (None, reply.system) and sum(reply in each.marks for each in raters) >= 2
    )
    if not replies:
        return
    marks = np.array([[each.marks.get(reply, np.nan) for each in raters] for reply in replies])
    units, unit_of = np.unique([users.get(reply.id, reply.id) for reply in replies], return_inverse=True)
    sizes = np.bincount(unit_of)

    def estimate(statistic: Statistic) -> AgreementMeasure:
        found = bootstrap_times(lambda times: statistic(marks, times[:, unit_of]), len(sizes), sizes=sizes)
        return measure_json(found)

    is_pair = len(raters) == 2
    found: ReplyComparison = {
        "set": of,
        "annotator": annotator,
        "system": system,
        "measure": measure,
        "raters": [each.name for each in raters],
        "n": len(replies),
        "records": len({reply.id for reply in replies}),
        "pearson": estimate(pearson) if is_pair else None,
        "spearman": estimate(spearman) if is_pair else None,
        "alpha": estimate(interval_alpha) if measure is None else None,
    }
    if users:
        found["clusters"] = len(units)
    yield found


def ratings_screen(content: RepliesRated, width: int) -> str:
    """The document of ratings in at most `width` columns (60 or more), without a newline at the end."""
    blocks = [[f"{each['name']}: {counted(each['replies'], 'reply')}" for each in content["raters"]]]
    for (of, annotator), found in groupby(content["comparisons"], lambda each: (each["set"], each["annotator"])):
        title = f"{of}: people with each other" if annotator is None else f"{of}, annotated by {annotator}"
        blocks.append([*wrapped(title, width, 2), *_table(list(found), width, is_of_people=annotator is None)])
    users = max((each["clusters"] for each in content["comparisons"] if "clusters" in each), default=None)
    over = "records" if users is None else f"recorded users (at most {users}), each with all its turns"
    return screen_of(blocks, f"{LEGEND}{over}.", content["problems"], width)


def _table(comparisons: Sequence[ReplyComparison], width: int, *, is_of_people: bool) -> list[str]:
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in comparisons]),
        estimates("r", [each["pearson"] for each in comparisons]),
        estimates("rho", [each["spearman"] for each in comparisons]),
    ]
    if is_of_people:
        groups.append(estimates("alpha", [each["alpha"] for each in comparisons]))
    return table([fitted(_name(each), NAME_COLUMNS) for each in comparisons], groups, width)


def _name(one: ReplyComparison) -> str:
    if one["measure"] is None:
        return compared(one["raters"], {})
    return f"{NAMES[one['measure']]}, {one['raters'][1]}" + (f", {one['system']}" if one["system"] else "")
