"""How far people and judges agree on dialogues: alpha and correlations by metric, with intervals over dialogues.

A person gives a dialogue one rating of each metric. A judge marks events: its mean over the events of a dialogue stands
beside. Task scores are compared by family, as each family has a rubric of its own. What somebody cannot tell, or has
not rated, is left out and counted. Two raters whose means and variances are alike have nearly the same interval alpha
and Pearson's r; a rater who is stricter throughout lowers alpha, and not r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from fdbcore.analysis.rater_groups import Between, rater_groups
from fdbcore.errors import SettingsError
from fdbcore.stats.bootstrap import Floats, bootstrap_times
from fdbcore.stats.raters import interval_alpha, ordinal_alpha, pearson, spearman
from fdbcore.suites.staged.fdb2.published import published
from fdbcore.suites.staged.rating.agreement_screen import sample_screen, screen
from fdbcore.suites.staged.rating.ratings import (
    METRICS,
    PEOPLE,
    DialogueRater,
    Metric,
    Ratings,
    is_ratings,
    judge_of,
    read_ratings,
)
from fdbcore.suites.staged.rating.sample import draw_sample, read_key, scores_in
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.staged.rating.rating_types import RatingAgreement, RatingComparison, RatingEstimate

SCHEMA: Final = "fdbcore.rating_agreement/1"
DEFAULT_SAMPLE: Final = Path("fdbcore-sample")

Statistic: TypeAlias = Callable[[Floats, Floats], Floats]


def rating_agreement(
    raters: Sequence[DialogueRater], problems: Sequence[Problem], show: Callable[[str], None]
) -> RatingAgreement:
    """The agreement of raters as JSON values. Names must differ. SettingsError if no two rated the same dialogue."""
    comparisons = []
    for metric, family in _metrics(raters):
        show(f"comparing ratings: {metric.replace('_', ' ')} {family or ''}")
        for between, compared in _compared(raters):
            if (found := _comparison(metric, family, between, compared)) is not None:
                comparisons.append(found)
    if not any(each["n"] for each in comparisons):
        raise SettingsError("expected dialogues that two raters rated, got none")
    return {
        "schema": SCHEMA,
        "raters": [{"name": each.name, "kind": each.kind, "dialogues": len(each.marks)} for each in raters],
        "comparisons": comparisons,
        "problems": [{"where": each.where, "reason": each.reason} for each in problems],
    }


def _metrics(raters: Sequence[DialogueRater]) -> Iterator[tuple[Metric, str | None]]:
    """The metrics that somebody rated; a task score for each family."""
    for metric in METRICS:
        families = {
            rater.families[dialogue] for rater in raters for dialogue, marks in rater.marks.items() if metric in marks
        }
        if metric == "task_score":
            yield from ((metric, family) for family in sorted(families))
        elif families:
            yield metric, None


def _compared(raters: Sequence[DialogueRater]) -> Iterator[tuple[Between, Sequence[DialogueRater]]]:
    """People and judges; see `rater_groups`."""
    people = [each for each in raters if each.kind == "person"]
    judges = [each for each in raters if each.kind == "judge"]
    return rater_groups(people, judges, mean_of)


def mean_of(people: Sequence[DialogueRater]) -> DialogueRater:
    """The mean of all who rated a dialogue, as one rater; it cannot tell what none of them can."""
    mean = DialogueRater(PEOPLE, "person")
    for person in people:
        for dialogue in person.marks:
            mean.families[dialogue] = person.families[dialogue] or mean.families.get(dialogue, "")
            own = [each.marks[dialogue] for each in people if dialogue in each.marks]
            for metric in METRICS:
                if given := [marks[metric] for marks in own if metric in marks]:
                    known = [each for each in given if each is not None]
                    mean.marks.setdefault(dialogue, {})[metric] = float(np.mean(known)) if known else None
    return mean


def _comparison(
    metric: Metric, family: str | None, between: Between, raters: Sequence[DialogueRater]
) -> RatingComparison | None:
    """None if one of two raters has no rating of the metric at all."""
    own = [
        {
            dialogue: marks[metric]
            for dialogue, marks in rater.marks.items()
            if metric in marks and family in (None, rater.families[dialogue])
        }
        for rater in raters
    ]
    if sum(map(bool, own)) < 2:
        return None
    needed = min(len(raters), 2)
    dialogues = sorted(set().union(*own))
    told = {each: sum(marks.get(each) is not None for marks in own) for each in dialogues}
    given = {each: sum(each in marks for marks in own) for each in dialogues}
    kept = [each for each in dialogues if told[each] >= needed]
    ratings = np.array([[np.nan if (mark := marks.get(each)) is None else mark for marks in own] for each in kept])
    ratings = ratings.reshape(-1, len(own))
    is_pair = len(raters) == 2
    return {
        "metric": metric,
        "family": family,
        "between": between,
        "raters": [each.name for each in raters],
        "n": len(kept),
        "cannot_tell": sum(told[each] < needed <= given[each] for each in dialogues),
        "not_rated": sum(given[each] < needed for each in dialogues),
        "means": [float(np.nanmean(column)) if not np.isnan(column).all() else None for column in ratings.T],
        "alpha_interval": _estimate(interval_alpha, ratings),
        "alpha_ordinal": _estimate(ordinal_alpha, ratings),
        "pearson": _estimate(pearson, ratings) if is_pair else None,
        "spearman": _estimate(spearman, ratings) if is_pair else None,
    }


def _estimate(statistic: Statistic, ratings: Floats) -> RatingEstimate:
    found = bootstrap_times(partial(statistic, ratings), len(ratings))
    return {"value": found.value, "ci95": found.interval, "reason": found.reason}


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """Draw a sample, or compare who rated it; see `fdbcore.protocols.suite.Suite.agree`."""
    if (n := options["sample"]) is not None:
        out: Path = options["out"] or DEFAULT_SAMPLE
        drawn = draw_sample(paths, n, options["sample_seed"], out)
        return {**drawn, "problems": []}, sample_screen(drawn, str(out), width)
    tables = [path for path in paths if is_ratings(path)]
    found = read_ratings(tables)
    raters = [*found.raters.values(), *_judges([path for path in paths if path not in tables], options["key"], found)]
    if len(raters) < 2:
        names = ", ".join(each.name for each in raters) or "nobody"
        raise SettingsError(f"expected the ratings of two raters or more, got those of {names}")
    content = rating_agreement(raters, found.problems, show)
    text = screen(content, width, published() if options["published"] else None)
    return cast("Mapping[str, Any]", content), text


def _judges(paths: Sequence[Path], key_path: Path | None, ratings: Ratings) -> list[DialogueRater]:
    """The judges of scores. Beside people they need the key, which says whose dialogues the people rated."""
    key = None if key_path is None else read_key(key_path)
    if key is not None and (others := ratings.samples - {key["sample"]}):
        raise SettingsError(f"--key: expected the key of the sample {others.pop()}, got that of {key['sample']}")
    judges: list[DialogueRater] = []
    for path in paths:
        if (scores := scores_in(path)) is None:
            expected = "ratings (CSV with a column dialogue), or scores by fdbcore score --suite staged --judge"
            raise SettingsError(f"{path}: expected {expected}, got something else")
        if key is None and ratings.raters:
            raise SettingsError("--key: expected the folder of the sample, which tells the dialogues apart, got none")
        judge = judge_of(scores, path, key, ratings.problems)
        if judge.name in {each.name for each in judges} | ratings.raters.keys():
            judge.name = f"{judge.name} ({path})"
        judges.append(judge)
    return judges
