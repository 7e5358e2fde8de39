"""How well WLCS, WED and F1 go with people's ratings of the same replies: Pearson's and Spearman's correlation.

The unit is the reply; a measure of it is the mean over its annotations. Replies of several systems to one record
resemble each other, so intervals resample records; and turns of one recorded user do, so of these they resample
recorded users, as scores do. Beside measures stands how far people agree with each other: a
measure can hardly go with people better than people do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fdbcore.analysis.rater_groups import rater_groups
from fdbcore.errors import SettingsError
from fdbcore.runs.kept_scores import kept_scores
from fdbcore.stats.bootstrap import Floats, bootstrap_times
from fdbcore.stats.raters import interval_alpha, pearson, spearman
from fdbcore.suites.dialogue_acts.agree.agreement import measure_json
from fdbcore.suites.dialogue_acts.agree.rating_tables import NEEDED, ReplyKey, ReplyRater, holds_ratings, read_ratings
from fdbcore.suites.dialogue_acts.scoring.document import DOCUMENT_SCHEMA

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import (
        ActsDocument,
        AgreementMeasure,
        RepliesRated,
        ReplyComparison,
    )

SCHEMA: Final = "fdbcore.acts_ratings/1"
PEOPLE: Final = "people"
RatedMeasure: TypeAlias = Literal["wlcs", "wed", "f1"]
MEASURES: Final[Sequence[RatedMeasure]] = ("wlcs", "wed", "f1")
Statistic: TypeAlias = Callable[[Floats, Floats], Floats]


def rating_agreement(paths: Sequence[Path], show: Callable[[str], None]) -> RepliesRated:
    """The document of tables of ratings, and of one scoring, as JSON values.

    SettingsError for a file that cannot be used, and if no reply that is scored was rated.
    """
    tables = [path for path in paths if holds_ratings(path)]
    scores = _scores([path for path in paths if path not in tables])
    people, problems = read_ratings(tables, scores)
    if not people:
        reason = f" ({problems[0].where}: {problems[0].reason})" if problems else ""
        raise SettingsError(f"expected ratings of replies that are scored, got none{reason}")
    return {
        "schema": SCHEMA,
        "raters": [{"name": each.name, "replies": len(each.marks)} for each in people],
        "comparisons": list(_comparisons(scores, people, show)),
        "problems": [{"where": each.where, "reason": each.reason} for each in problems],
    }


def _scores(paths: Sequence[Path]) -> ActsDocument:
    found = [(path, kept_scores(path, DOCUMENT_SCHEMA)) for path in paths]
    for path, content in found:
        if content is None:
            raise SettingsError(
                f"{path}: expected ratings (CSV with the columns {', '.join(NEEDED)}), or a run or folder with scores "
                "by fdbcore score --suite dialogue-acts, got something else"
            )
    if len(found) != 1:
        raise SettingsError(f"expected the scores that were rated, once, got {len(found)} beside the ratings")
    scores = cast("ActsDocument", found[0][1])
    if "turns" in scores and any("recorded_user" not in item for item in scores["items"]):
        raise SettingsError(f"{found[0][0]}: expected the recorded user of each turn, got none: score the turns again")
    return scores


def _comparisons(
    scores: ActsDocument, people: Sequence[ReplyRater], show: Callable[[str], None]
) -> Iterator[ReplyComparison]:
    """By set: people with each other; then by annotator, measure and system: the measure with people."""
    for of in (one["name"] for one in scores["sets"]):
        own = [item for item in scores["items"] if (item["set"], item["kind"]) == (of, "system")]
        users = {item["id"]: item["recorded_user"] for item in own if "recorded_user" in item}
        for _, raters in rater_groups(people, (), mean_of):
            show(f"{of}: comparing {' and '.join(each.name for each in raters)}")
            yield from _comparison(of, None, None, None, raters, users)
        systems = list(dict.fromkeys(item["system"] for item in own))
        for annotator in dict.fromkeys(item["annotator"] for item in own):
            for measure in MEASURES:
                given: defaultdict[ReplyKey, list[float]] = defaultdict(list)
                for item in own:
                    if item["annotator"] == annotator:
                        given[ReplyKey(of, item["id"], item["system"])].append(item["scores"][measure])
                rater = ReplyRater(measure, {reply: fmean(values) for reply, values in given.items()})
                beside = [raters for between, raters in rater_groups(people, [rater], mean_of) if between != "people"]
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
    estimate = partial(_estimate, marks, unit_of)
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


def _estimate(marks: Floats, unit_of: npt.NDArray[np.signedinteger], statistic: Statistic) -> AgreementMeasure:
    """marks: (replies, raters). unit_of: (replies,), the number of what is resampled with each."""
    sizes = np.bincount(unit_of)
    return measure_json(bootstrap_times(lambda times: statistic(marks, times[:, unit_of]), len(sizes), sizes=sizes))
