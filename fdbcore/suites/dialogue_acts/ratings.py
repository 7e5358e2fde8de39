"""Agreement of the measures with people's ratings of the same replies.

Ratings are CSV tables with a header, a row a reply and rater:

- `id`: of the record; `system`: whose reply it is; `rater`: who rated it.
- `rating`: a number, the higher the better; empty if it was not rated.
- `set`: the set of the record, needed only where several sets of the scores have the reply.

The unit is the reply; a measure of it is the mean over its annotations. Replies of several systems to one record
resemble each other, so intervals resample records; and turns of one recorded user do, so of these they resample
recorded users, as scores do. Beside measures stands how far people agree with each other: a measure can hardly go with
people better than people do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from fdbcore.errors import SettingsError
from fdbcore.report import NAME_COLUMNS, agreement_screen, comparison_tables, counted, fitted, wrapped
from fdbcore.results import RatedMeasure, Rater, RaterAgreement, RaterComparison, RaterEntry, compared, problem_entries
from fdbcore.runs import read_kept_scores
from fdbcore.runtime import number_of
from fdbcore.sources import columns_of, rated_rows
from fdbcore.suites.dialogue_acts.scoring.document import DOCUMENT_SCHEMA
from fdbcore.types import Problem

SCHEMA: Final = "fdbcore.acts_ratings/1"
EARLIER: Final = "fdbcore.dialogue_acts/1"
"""The schema of earlier scores, whose items have the same form."""
NEEDED: Final = ("id", "system", "rater", "rating")
RATED_BY: Final = {"wlcs": "WLCS", "wed": "WED", "f1": "F1"}
FIGURES: Final = {"r": "pearson", "rho": "spearman", "alpha": "alpha"}
LEGEND: Final = (
    "n: replies that have both; of more than two people, that two have rated. r: Pearson; rho: Spearman; alpha: "
    "Krippendorff's, of an interval scale. people: the mean of all who rated a reply. A good measure has r and rho "
    "near 1 (WLCS, F1) or near -1 (WED, which is less for better replies). Brackets: 95 %, over "
)


class ReplyKey(NamedTuple):
    """A reply: the set and the id of its record, and the system."""

    set: str
    id: str
    system: str

    def rated(self, score: float) -> dict[RatedMeasure, float | None]:
        """A score of the reply: it is compared among those of all systems of the set, and among those of its own."""
        return {("rating", self.set): score, ("rating", self.set, self.system): score}


def holds_ratings(path: Path) -> bool:
    """True if it is a table of ratings of replies, by its header."""
    return {*NEEDED} <= {*columns_of(path)}


def read_ratings(paths: Sequence[Path], items: Iterable[Mapping[str, Any]]) -> tuple[list[Rater], list[Problem]]:
    """The people in some tables. A row that cannot be used, or whose reply has no score, is a problem.

    SettingsError for a table that cannot be read, and for a rater who rated a reply twice, and differently.
    """
    scored: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if item["kind"] == "system":
            scored.setdefault((item["id"], item["system"]), set()).add(item["set"])
    people: dict[str, Rater] = {}
    problems: list[Problem] = []
    for path in paths:
        for where, row in rated_rows(path, NEEDED):
            if reason := _take(row, where, scored, people):
                problems.append(Problem(where, reason))
    return list(people.values()), problems


def _take(
    row: Mapping[str, str], where: str, scored: Mapping[tuple[str, str], set[str]], people: dict[str, Rater]
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
    rater = people.setdefault(row["rater"], Rater(row["rater"], "person"))
    rater.take(reply, reply.rated(rating), where, f"rating of the reply of {reply.system} to {reply.id}")
    return ""


def rating_agreement(paths: Sequence[Path], show: Callable[[str], None]) -> RaterAgreement:
    """The document of tables of ratings, and of one scoring.

    SettingsError for a file that cannot be used, and if no reply that is scored was rated.
    """
    tables = [path for path in paths if holds_ratings(path)]
    scores = _scores([path for path in paths if path not in tables])
    people, problems = read_ratings(tables, scores["items"])
    if not people:
        reason = f" ({problems[0].where}: {problems[0].reason})" if problems else ""
        raise SettingsError(f"expected ratings of replies that are scored, got none{reason}")
    told = [RaterEntry(name=each.name, replies=len(each.scores)) for each in people]
    return RaterAgreement(SCHEMA, told, list(_comparisons(scores, people, show)), problem_entries(problems))


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
    scores: Mapping[str, Any], people: Sequence[Rater], show: Callable[[str], None]
) -> Iterator[RaterComparison]:
    """By set: people with each other; then by annotator, measure and system: the measure with people."""
    for of in (one["name"] for one in scores["sets"]):
        own = [item for item in scores["items"] if (item["set"], item["kind"]) == (of, "system")]
        users = {item["id"]: item["recorded_user"] for item in own if "recorded_user" in item}
        show(f"{of}: comparing people")
        yield from _compared(people, users, {"set": of, "annotator": None, "system": None, "measure": None})
        systems = list(dict.fromkeys(item["system"] for item in own))
        for annotator in dict.fromkeys(item["annotator"] for item in own):
            for measure in RATED_BY:
                given: defaultdict[ReplyKey, list[float]] = defaultdict(list)
                for item in own:
                    if item["annotator"] == annotator:
                        given[ReplyKey(of, item["id"], item["system"])].append(item["scores"][measure])
                rater = Rater(measure, "judge", {reply: reply.rated(fmean(each)) for reply, each in given.items()})
                for system in (None, *(systems if len(systems) > 1 else ())):
                    show(f"{of}, {annotator}: comparing {measure} of {system or 'all systems'}")
                    what = {"set": of, "annotator": annotator, "system": system, "measure": measure}
                    yield from _compared([*people, rater], users, what)


def _compared(raters: Sequence[Rater], users: Mapping[str, str], what: dict[str, Any]) -> Iterator[RaterComparison]:
    """People with each other, or a measure with people. users: the recorded user of each record that is a turn of one.

    what: the set, the annotator, the system and the measure, each None where there is none.
    """
    alone = what["measure"] is None
    for each in compared(raters, ("rating", what["set"], *filter(None, [what["system"]]))):
        if each.items and (alone or each.between != "people"):
            ids = [str(id) for _, id, _ in each.items]
            clusters = [users.get(id, id) for id in ids]
            fields = {**what, "records": len({*ids}), **({"clusters": len({*clusters})} if users else {})}
            if alone:
                yield each.entry(("pearson", "spearman", "alpha"), fields, clusters)
            else:
                yield each.entry(("pearson", "spearman"), {**fields, "alpha": None}, clusters)


def ratings_screen(content: Mapping[str, Any], width: int) -> str:
    """The document of ratings in at most `width` columns (60 or more), without a newline at the end."""
    users = max((each["clusters"] for each in content["comparisons"] if "clusters" in each), default=None)
    over = "records" if users is None else f"recorded users (at most {users}), each with all its turns"
    told = [f"{each['name']}: {counted(each['replies'], 'reply')}" for each in content["raters"]]
    tables = comparison_tables(content, width, _title, FIGURES, _name)
    return agreement_screen(content, told, [*tables, wrapped(f"{LEGEND}{over}.", width)], width)


def _title(one: Mapping[str, Any]) -> str:
    whose = one["annotator"]
    return f"{one['set']}: people with each other" if whose is None else f"{one['set']}, annotated by {whose}"


def _name(one: Mapping[str, Any]) -> str:
    if one["measure"] is None:
        return ""
    return fitted(", ".join(filter(None, (RATED_BY[one["measure"]], one["raters"][1], one["system"]))), NAME_COLUMNS)
