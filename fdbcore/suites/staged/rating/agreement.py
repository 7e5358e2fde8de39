"""How far people and judges agree on dialogues: alpha and correlations by metric, with intervals over dialogues.

A person gives a dialogue one rating of each metric. A judge marks events: its mean over the events of a dialogue stands
beside. Task scores are compared by family, as each family has a rubric of its own. What somebody cannot tell, or has
not rated, is left out and counted. Two raters whose means and variances are alike have nearly the same interval alpha
and Pearson's r; a rater who is stricter throughout lowers alpha, and not r.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta, Struct, to_builtins

from fdbcore.analysis import Between, groups_of_raters
from fdbcore.errors import SettingsError
from fdbcore.report import ColumnGroup, compared, counted, estimates, problem_lines, table, wrapped
from fdbcore.results import ProblemEntry, problem_entries
from fdbcore.stats import Floats, bootstrap_times, interval_alpha, ordinal_alpha, pearson, spearman
from fdbcore.suites.staged.rating.ratings import (
    METRICS,
    PEOPLE,
    STRATA,
    DialogueRater,
    Metric,
    RatingKey,
    Ratings,
    draw_sample,
    is_ratings,
    judge_of,
    read_key,
    read_ratings,
    scores_in,
)
from fdbcore.suites.staged.released import PublishedFile, published
from fdbcore.types import Problem
from fdbcore.types.scorecard import Interval

SCHEMA: Final = "fdbcore.rating_agreement/1"
DEFAULT_SAMPLE: Final = Path("fdbcore-sample")

LEGEND: Final = (
    "n: dialogues that both rated; of more than two raters, those that two rated. left out: cannot tell, and not "
    "rated. alpha: Krippendorff's, of an interval and of an ordinal scale; r: Pearson, rho: Spearman. A judge's rating "
    "of a dialogue is its mean over events. people: the mean of all who rated. Brackets: 95 %, over dialogues."
)


class RatedBy(Struct, frozen=True):
    """A person or a judge."""

    name: str
    kind: Literal["person", "judge"]
    dialogues: Annotated[int, Meta(description="of which there is a rating, or a mark of an event")]


class RatingEstimate(Struct, frozen=True):
    """A statistic. reason: why it, or its interval, is null."""

    value: float | None
    ci95: Interval
    reason: str


class RatingComparison(Struct, frozen=True):
    """How far raters agree in one metric. Intervals resample dialogues."""

    metric: Metric
    family: Annotated[str | None, Meta(description="of a task score, whose rubric is that of a family; else null")]
    between: Between
    raters: Annotated[list[str], Meta(description="two, or all people; 'people' is the mean of all who rated")]
    n: Annotated[int, Meta(description="dialogues that all, or of more than two raters two, have rated")]
    cannot_tell: Annotated[int, Meta(description="dialogues left out because one could not tell")]
    not_rated: Annotated[int, Meta(description="dialogues left out because one has not rated them")]
    means: Annotated[list[float | None], Meta(description="of each rater, over the n dialogues")]
    alpha_interval: RatingEstimate
    alpha_ordinal: RatingEstimate
    pearson: Annotated[RatingEstimate | None, Meta(description="null: there are more than two raters")]
    spearman: RatingEstimate | None


class RatingAgreement(Struct, frozen=True):
    """How far people and judges agree on dialogues."""

    schema: Literal["fdbcore.rating_agreement/1"]
    raters: list[RatedBy]
    comparisons: list[RatingComparison]
    problems: list[ProblemEntry]


def rating_agreement(
    raters: Sequence[DialogueRater], problems: Sequence[Problem], show: Callable[[str], None]
) -> RatingAgreement:
    """The agreement of raters. Names must differ. SettingsError if no two rated the same dialogue."""
    people, judges = ([each for each in raters if each.kind == kind] for kind in ("person", "judge"))
    comparisons = []
    for metric, family in _metrics(raters):
        show(f"comparing ratings: {metric.replace('_', ' ')} {family or ''}")
        for between, own in groups_of_raters(people, judges, mean_of):
            if (found := _comparison(metric, family, between, own)) is not None:
                comparisons.append(found)
    if not any(each.n for each in comparisons):
        raise SettingsError("expected dialogues that two raters rated, got none")
    rated_by = [RatedBy(each.name, each.kind, len(each.marks)) for each in raters]
    return RatingAgreement(SCHEMA, rated_by, comparisons, problem_entries(problems))


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
    return RatingComparison(
        metric,
        family,
        between,
        [each.name for each in raters],
        n=len(kept),
        cannot_tell=sum(told[each] < needed <= given[each] for each in dialogues),
        not_rated=sum(given[each] < needed for each in dialogues),
        means=[float(np.nanmean(column)) if not np.isnan(column).all() else None for column in ratings.T],
        alpha_interval=_estimate(interval_alpha, ratings),
        alpha_ordinal=_estimate(ordinal_alpha, ratings),
        pearson=_estimate(pearson, ratings) if is_pair else None,
        spearman=_estimate(spearman, ratings) if is_pair else None,
    )


def _estimate(statistic: Callable[[Floats, Floats], Floats], ratings: Floats) -> RatingEstimate:
    found = bootstrap_times(partial(statistic, ratings), len(ratings))
    return RatingEstimate(found.value, found.interval, found.reason)


def agree(
    paths: Sequence[Path], options: Mapping[str, Any], width: int, show: Callable[[str], None]
) -> tuple[Mapping[str, Any], str]:
    """Draw a sample, or compare who rated it; see `fdbcore.protocols.suite.Suite.agree`."""
    if (n := options["sample"]) is not None:
        out: Path = options["out"] or DEFAULT_SAMPLE
        drawn = draw_sample(paths, n, options["sample_seed"], out)
        return {**to_builtins(drawn), "problems": []}, sample_screen(drawn, str(out), width)
    tables = [path for path in paths if is_ratings(path)]
    found = read_ratings(tables)
    raters = [*found.raters.values(), *_judges([path for path in paths if path not in tables], options["key"], found)]
    if len(raters) < 2:
        names = ", ".join(each.name for each in raters) or "nobody"
        raise SettingsError(f"expected the ratings of two raters or more, got those of {names}")
    content = rating_agreement(raters, found.problems, show)
    text = screen(content, width, published() if options["published"] else None)
    return to_builtins(content), text


def _judges(paths: Sequence[Path], key_path: Path | None, ratings: Ratings) -> list[DialogueRater]:
    """The judges of scores. Beside people they need the key, which says whose dialogues the people rated."""
    key = None if key_path is None else read_key(key_path)
    if key is not None and (others := ratings.samples - {key.sample}):
        raise SettingsError(f"--key: expected the key of the sample {others.pop()}, got that of {key.sample}")
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


def screen(content: RatingAgreement, width: int, published: PublishedFile | None) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    numbers = {each.name: str(number) for number, each in enumerate(content.raters, 1)}
    told = [f"{numbers[by.name]} {by.name}: {by.kind}, {counted(by.dialogues, 'dialogue')}" for by in content.raters]
    blocks = [[line for text in told for line in wrapped(text, width, 2)]]
    for (metric, family), own in groupby(content.comparisons, lambda each: (each.metric, each.family)):
        title = metric.replace("_", " ").replace("turn taking", "turn-taking") + (f", {family}" if family else "")
        blocks.append([title, *_table(list(own), numbers, width)])
    blocks.append(list(wrapped(LEGEND, width)))
    if published is not None:
        found = (f"{each.metric} alpha {each.alpha:.3f} r {each.r:.3f}" for each in published.agreement.line)
        text = f"Full-Duplex-Bench v2, {published.label}: {'; '.join(found)}"
        blocks.append(list(wrapped(text, width, 2)))
    blocks.append(list(problem_lines([Problem(each.where, each.reason) for each in content.problems], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(comparisons: Sequence[RatingComparison], numbers: dict[str, str], width: int) -> list[str]:
    names = [compared(each.raters, numbers) for each in comparisons]
    shown = {"alpha interval": "alpha_interval", "alpha ordinal": "alpha_ordinal", "r": "pearson", "rho": "spearman"}
    counts = [[f"{each.n:,}", f"{each.cannot_tell:,} + {each.not_rated:,}"] for each in comparisons]
    groups = [
        ColumnGroup("", ["n", "left out"], [5, 9], counts),
        *(
            estimates(title, [to_builtins(getattr(each, name)) for each in comparisons])
            for title, name in shown.items()
        ),
    ]
    return table(names, groups, width)


def sample_screen(key: RatingKey, folder: str, width: int) -> str:
    """What was drawn, and what to do with it."""
    lines: list[str] = []
    for field in STRATA:
        names = Counter(str(getattr(each, field)) for each in key.dialogues)
        lines += wrapped(f"{field}: {', '.join(f'{name} {count}' for name, count in sorted(names.items()))}", width, 2)
    n = counted(len(key.dialogues), "dialogue")
    return "\n".join([f"{n}, sample {key.sample}", *lines, "", f"fdbcore rate {folder}"])
