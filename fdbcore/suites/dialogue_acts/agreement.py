"""Agreement of annotators, and of the measures with people's ratings of the same replies.

Two annotators of the acts of replies, be they people or models, are compared reply by reply. Ratings are CSV tables
with a header, a row a reply and rater:

- `id`: of the record; `system`: whose reply it is; `rater`: who rated it.
- `rating`: a number, the higher the better; empty if it was not rated.
- `set`: the set of the record, needed only where several sets of the scores have the reply.

Of ratings the unit is the reply; a measure of it is the mean over its annotations. Replies of several systems to one
record resemble each other, so intervals resample records; and turns of one recorded user do, so of these they resample
recorded users, as scores do. Beside measures stands how far people agree with each other: a measure can hardly go with
people better than people do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from msgspec import to_builtins

from fdbcore.errors import InputError, SettingsError
from fdbcore.report import (
    NAME_COLUMNS,
    ColumnGroup,
    agreement_screen,
    comparison_tables,
    counted,
    estimates,
    fitted,
    table,
    wrapped,
)
from fdbcore.results import (
    AgreementFigure,
    ProblemEntry,
    RatedMeasure,
    Rater,
    RaterAgreement,
    RaterComparison,
    RaterEntry,
    RaterScore,
    compared,
    problem_entries,
)
from fdbcore.runs import read_kept_scores
from fdbcore.runtime import number_of, parsed_json, read_whole
from fdbcore.sources import columns_of, rated_rows
from fdbcore.stats import RESAMPLES, Statistic, bootstrap_ci, kappa, mean, ratio_of_sums
from fdbcore.suites.dialogue_acts.models.prompts import folder_of
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Response, read_records, read_responses
from fdbcore.suites.dialogue_acts.scoring.alignment import UNITS_PER_WEIGHT, ActAlignments, PackedActs
from fdbcore.suites.dialogue_acts.scoring.document import DOCUMENT_SCHEMA
from fdbcore.suites.dialogue_acts.scoring.scores import Floats, packed, score_pairs
from fdbcore.suites.dialogue_acts.sets import prompts_in
from fdbcore.suites.dialogue_acts.tag_sets import NO_ACT, TagSet, tags_in
from fdbcore.types import Problem

AGREEMENT_SCHEMA: Final = "fdbcore.agreement/1"
NAMES: Final = {
    "identical": "identical acts",
    "kappa": "kappa of acts",
    "wed": "WED",
    "wlcs_a": "WLCS, of the first",
    "wlcs_b": "WLCS, of the second",
    "importance_difference": "importance apart",
}
"""The measures, as the screen shows them."""
LEGEND: Final = (
    "identical acts: share of replies with the same acts in the same order. kappa: of acts as the cheapest script "
    "pairs them, 'none' for one that only one has. WED: mean distance. WLCS: share of the weight that one gives to "
    "acts which the other has too, in that order. importance apart: mean, of acts that both have."
)
LETTERS: Final = 4  # of the name of an act above its column

Key: TypeAlias = tuple[str, str, int]  # id, system, repeat


class ActsAgreement(TypedDict):
    """The agreement of two annotators on the acts of the same replies."""

    schema: Literal["fdbcore.agreement/1"]
    annotators: list[str]
    n: int
    replies: int
    records: int
    measures: dict[str, AgreementFigure]
    acts: list[str]
    confusion: list[list[int]]
    problems: list[ProblemEntry]


class Labelled(NamedTuple):
    """One reply with what one annotator sees in it."""

    where: str
    text: str
    annotation: Annotation


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """The agreement of two annotators, by their files of responses or records; or of people with scores, by ratings."""
    if any(map(holds_ratings, paths)):
        rated = to_builtins(rating_agreement(paths, show))
        return rated, ratings_screen(rated, width)
    if len(paths) != 2 or any(path.suffix != SUFFIX for path in paths):
        raise SettingsError(f"expected two {SUFFIX} files of dialogue acts, got {', '.join(map(str, paths))}")
    tags = tags_in(folder_of(options["prompts"]) or prompts_in(paths[0].parent))
    a, problems_a = read_labels(paths[0], options["a"], options["as_given"], tags)
    b, problems_b = read_labels(paths[1], options["b"], options["as_given"], tags)
    content = to_builtins(agreement(a, b, [*problems_a, *problems_b], tags=tags.without_credit))
    return content, acts_screen(content, width)


def read_labels(
    path: Path, annotator: str | None = None, as_given: bool = False, tags: TagSet | None = None
) -> tuple[dict[Key, Labelled], list[Problem]]:
    """The annotations in a file of responses, or in a file of records: those of their first references.

    annotator: whose annotations to read; in records, the annotator has the name of the file, and the system is
    `reference`. tags: None for the acts of the paper. Raises SettingsError if the file has none by this annotator, or
    if it has several annotators and none is chosen.
    """
    responses, problems = _responses(path, as_given, tags)
    chosen = _chosen(responses, annotator, path)
    return {
        (response.id, response.system, one.repeat): Labelled(response.where, response.text, one)
        for response in responses
        for one in response.annotations
        if one.annotator == chosen and response.text is not None
    }, problems


def _chosen(responses: Sequence[Response], annotator: str | None, path: Path) -> str:
    there = list(dict.fromkeys(one.annotator for response in responses for one in response.annotations))
    if annotator in there:
        return str(annotator)
    if annotator is None and len(there) == 1:
        return there[0]
    wanted = "one annotator" if annotator is None else f"annotations of {annotator}"
    raise SettingsError(f"{path}: expected {wanted}, got those of {', '.join(there) or 'nobody'}")


def _responses(path: Path, as_given: bool, tags: TagSet | None) -> tuple[list[Response], list[Problem]]:
    if _holds_responses(path):
        return read_responses(path, as_given, tags)
    records, problems = read_records(path, as_given, tags)
    responses = []
    for record in records:
        reference = record.references[0]
        annotation = replace(reference.annotation, annotator=path.stem)
        responses.append(Response(record.id, REFERENCE, reference.text, (annotation,), where=record.where))
    return responses, problems


def _holds_responses(path: Path) -> bool:
    """True if the first line that is JSON names a system, as lines of responses do."""
    try:
        lines = read_whole(path).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return True  # whose reader says what is wrong
    for line in lines:
        try:
            return "system" in parsed_json(line)
        except (ValueError, TypeError):
            continue
    return True


def agreement(
    a: Mapping[Key, Labelled],
    b: Mapping[Key, Labelled],
    problems: Sequence[Problem] = (),
    resamples: int = RESAMPLES,
    tags: TagSet | None = None,
) -> ActsAgreement:
    """The agreement of two annotators on the replies that both labelled.

    `wed`: the mean distance; it is the same in both directions. `wlcs_a`, `wlcs_b`: the share of each annotator's
    weight that lies in a common subsequence. `identical`: the share of replies with the same acts in the same order.
    `kappa`: Cohen's kappa of the acts as the cheapest script of WED pairs them; an act that only one annotator has is
    paired with `none`. As that script seeks agreement, kappa is higher here than for labels of spans that are fixed
    beforehand. `importance_difference`: the mean absolute difference of the importances of matched acts. `confusion`:
    counts, [a][b]. Intervals resample records. tags: None for the acts of the paper.
    """
    keys, alone = _common(a, b)
    if not keys:
        raise InputError("expected replies that both have labelled, got none")
    sides = [[labels[key].annotation.sequence for key in keys] for labels in (a, b)]
    scores, alignments = score_pairs(packed(sides[0], "given", tags), packed(sides[1], "given", tags))
    confusions, gaps = paired_acts(alignments)
    same = [[act for act, _ in left] == [act for act, _ in right] for left, right in zip(*sides, strict=True)]
    ids, side = np.array([key[0] for key in keys]), len(alignments.references.tags.names) + 1
    measured: dict[str, tuple[Floats, Statistic]] = {
        "wed": (scores[:, 1], mean),
        "wlcs_a": (scores[:, 5], mean),
        "wlcs_b": (scores[:, 0], mean),
        "identical": (np.array(same, dtype=np.float64), mean),
        "kappa": (confusions, kappa),
        "importance_difference": (gaps, ratio_of_sums),
    }
    return {
        "schema": AGREEMENT_SCHEMA,
        "annotators": [labels[keys[0]].annotation.annotator for labels in (a, b)],
        "n": len(keys),
        "replies": len({key[:2] for key in keys}),
        "records": len(set(ids.tolist())),
        "measures": {
            name: AgreementFigure.of(bootstrap_ci(values, ids, statistic, resamples=resamples))
            for name, (values, statistic) in measured.items()
        },
        "acts": [*alignments.references.tags.names, NO_ACT],
        "confusion": confusions.sum(axis=0).astype(int).reshape(side, side).tolist(),
        "problems": problem_entries(dict.fromkeys((*problems, *alone))),
    }


def _common(a: Mapping[Key, Labelled], b: Mapping[Key, Labelled]) -> tuple[list[Key], list[Problem]]:
    """The replies that both labelled, and those left out because the other has none or another text."""
    keys, problems = [], []
    for key, label in a.items():
        if key not in b:
            problems.append(Problem(label.where, f"only the first has {_reply(key)}"))
        elif b[key].text != label.text:
            problems.append(Problem(label.where, f"expected the same reply in both, got two texts of {_reply(key)}"))
        else:
            keys.append(key)
    alone = [Problem(label.where, f"only the second has {_reply(key)}") for key, label in b.items() if key not in a]
    return keys, problems + alone


def _reply(key: Key) -> str:
    id, system, repeat = key
    return f"the reply of {system} to {id}" + (f", annotation {repeat}" if repeat > 1 else "")


def paired_acts(alignments: ActAlignments) -> tuple[Floats, Floats]:
    """Counts of each act of the first with each act of the second: (replies, n²), row by row of (n, n).

    n: how many acts there are, and one for none. And the summed absolute difference of importance of matched acts, and
    how many acts match: (replies, 2).
    """
    none = len(alignments.references.tags.names)
    counts, gaps = np.zeros((len(alignments), (none + 1) ** 2)), np.zeros((len(alignments), 2))
    for reply, alignment in enumerate(alignments):
        left, right = (_acts_of(side, reply) for side in (alignments.references, alignments.predictions))
        for step in alignment.path:
            code_a, weight_a = (none, 0) if step.reference_index is None else left[step.reference_index]
            code_b, weight_b = (none, 0) if step.prediction_index is None else right[step.prediction_index]
            counts[reply, (none + 1) * code_a + code_b] += 1
            if code_a == code_b:
                gaps[reply] += abs(weight_a - weight_b) / UNITS_PER_WEIGHT, 1
    return counts, gaps


def _acts_of(side: PackedActs, reply: int) -> list[tuple[int, int]]:
    """The code and the weight of each act of a reply."""
    start, end = side.offsets[reply : reply + 2].tolist()
    return list(zip(side.acts[start:end].tolist(), side.weights[start:end].tolist(), strict=True))


def acts_screen(content: Mapping[str, Any], width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    often = f" ({content['n']} annotations by each)" if content["n"] != content["replies"] else ""
    names = " and ".join(fitted(name, NAME_COLUMNS) for name in content["annotators"])
    head = f"{names}: {content['replies']} replies to {content['records']} records labelled by both{often}"
    measured = [content["measures"][name] for name in NAMES]
    n = ColumnGroup("", ["n"], [5], [[str(content["n"])] for _ in measured])
    measures = table(list(NAMES.values()), [n, estimates("", measured)], width)
    blocks = [wrapped(head, width, 2), measures, _confusion(content, width), wrapped(LEGEND, width)]
    return agreement_screen(content, (), blocks, width)


def _confusion(content: Mapping[str, Any], width: int) -> list[str]:
    """The counts: a row for each act of the first annotator, a column for each act of the second."""
    cells = [[str(count) if count else "." for count in row] for row in content["confusion"]]
    widths = [max(LETTERS, *(len(row[k]) for row in cells)) for k in range(len(cells))]
    heads = ["ChkQ" if act == "Check-Question" else act[:LETTERS] for act in content["acts"]]
    groups = [ColumnGroup("", [], [], [[] for _ in cells]), ColumnGroup("acts of the second", heads, widths, cells)]
    return ["acts of the first, in rows", *table(content["acts"], groups, width)]


RATINGS_SCHEMA: Final = "fdbcore.acts_ratings/1"
EARLIER: Final = "fdbcore.dialogue_acts/1"
"""The schema of earlier scores, whose items have the same form."""
SUFFIX: Final = ".jsonl"
NEEDED: Final = ("id", "system", "rater", "rating")
RATED_BY: Final = {"wlcs": "WLCS", "wed": "WED", "f1": "F1"}
FIGURES: Final = {"r": "pearson", "rho": "spearman", "alpha": "alpha"}
RATINGS_LEGEND: Final = (
    "n: replies that have both; of more than two people, that two have rated. r: Pearson; rho: Spearman; alpha: "
    "Krippendorff's, of an interval scale. people: the mean of all who rated a reply. A good measure has r and rho "
    "near 1 (WLCS, F1) or near -1 (WED, which is less for better replies). Brackets: 95 %, over "
)


class ReplyKey(NamedTuple):
    """A reply: the set and the id of its record, and the system."""

    set: str
    id: str
    system: str

    def rated(self, score: float) -> dict[RatedMeasure, RaterScore]:
        """A score of the reply: it is compared among those of all systems of the set, and among those of its own."""
        return {("rating", self.set): score, ("rating", self.set, self.system): score}


def holds_ratings(path: Path) -> bool:
    """True if it is a table of ratings of replies, by its header."""
    return {*NEEDED} <= {*columns_of(path)}


def holds_labels(path: Path) -> bool:
    """True if it is a file of responses or records, by its suffix, or a table of ratings."""
    return path.suffix == SUFFIX or holds_ratings(path)


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
    return RaterAgreement(RATINGS_SCHEMA, told, list(_comparisons(scores, people, show)), problem_entries(problems))


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
    return agreement_screen(content, told, [*tables, wrapped(f"{RATINGS_LEGEND}{over}.", width)], width)


def _title(one: Mapping[str, Any]) -> str:
    whose = one["annotator"]
    return f"{one['set']}: people with each other" if whose is None else f"{one['set']}, annotated by {whose}"


def _name(one: Mapping[str, Any]) -> str:
    if one["measure"] is None:
        return ""
    return fitted(", ".join(filter(None, (RATED_BY[one["measure"]], one["raters"][1], one["system"]))), NAME_COLUMNS)
