"""Agreement of people and judges on dialogues, by metric.

A person gives a dialogue one rating of each metric. A judge marks events: its mean over the events of a dialogue stands
beside. Task scores are compared by family, as each family has a rubric of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import to_builtins

from fdbcore.errors import SettingsError
from fdbcore.report import ColumnGroup, agreement_screen, comparison_tables, counted, wrapped
from fdbcore.results import Rater, RaterAgreement, RaterEntry, compared, problem_entries
from fdbcore.suites.staged.document import PublishedFile, published
from fdbcore.suites.staged.rating.ratings import (
    METRICS,
    STRATA,
    RatingKey,
    Ratings,
    draw_sample,
    is_ratings,
    judge_of,
    read_key,
    read_ratings,
    scores_in,
)
from fdbcore.types import Problem

SCHEMA: Final = "fdbcore.rating_agreement/1"
DEFAULT_SAMPLE: Final = Path("fdbcore-sample")

STATISTICS: Final = ("alpha_interval", "alpha_ordinal", "pearson", "spearman")
FIGURES: Final = dict(zip(("alpha interval", "alpha ordinal", "r", "rho"), STATISTICS, strict=True))
LEGEND: Final = (
    "n: dialogues that both rated; of more than two raters, those that two rated. left out: cannot tell, and not "
    "rated. alpha: Krippendorff's, of an interval and of an ordinal scale; r: Pearson, rho: Spearman. A judge's rating "
    "of a dialogue is its mean over events. people: the mean of all who rated. Brackets: 95 %, over dialogues."
)


def rating_agreement(
    raters: Sequence[Rater], problems: Sequence[Problem], show: Callable[[str], None]
) -> RaterAgreement:
    """The agreement of raters. Names must differ. SettingsError if no two rated the same dialogue."""
    measures = {measure for rater in raters for marks in rater.marks.values() for measure in marks}
    comparisons = []
    for measure in sorted(measures, key=lambda each: (METRICS.index(each[0]), each)):
        metric, family = (*measure, None)[:2]
        show(f"comparing ratings: {' '.join(measure).replace('_', ' ')}")
        for each in compared(raters, measure):
            means = [None if np.isnan(column).all() else float(np.nanmean(column)) for column in each.ratings.T]
            what = {
                "metric": metric,
                "family": family,
                "between": each.between,
                "cannot_tell": each.cannot_tell,
                "not_rated": each.not_rated,
                "means": means,
            }
            comparisons.append(each.entry(STATISTICS, what))
    if not any(each.n for each in comparisons):
        raise SettingsError("expected dialogues that two raters rated, got none")
    told = [
        RaterEntry(name=each.name, kind=each.kind, dialogues=sum(map(bool, each.marks.values()))) for each in raters
    ]
    return RaterAgreement(SCHEMA, told, comparisons, problem_entries(problems))


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
    content = to_builtins(rating_agreement(raters, found.problems, show))
    return content, screen(content, width, published() if options["published"] else None)


def _judges(paths: Sequence[Path], key_path: Path | None, ratings: Ratings) -> list[Rater]:
    """The judges of scores. Beside people they need the key, which says whose dialogues the people rated."""
    key = None if key_path is None else read_key(key_path)
    if key is not None and (others := ratings.samples - {key.sample}):
        raise SettingsError(f"--key: expected the key of the sample {others.pop()}, got that of {key.sample}")
    judges: list[Rater] = []
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


def screen(content: Mapping[str, Any], width: int, published: PublishedFile | None) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    told = [f"{each['name']}: {each['kind']}, {counted(each['dialogues'], 'dialogue')}" for each in content["raters"]]
    found = [] if published is None else published.agreement.line
    figures = "; ".join(f"{each.metric} alpha {each.alpha:.3f} r {each.r:.3f}" for each in found)
    beside = [] if published is None else wrapped(f"Full-Duplex-Bench v2, {published.label}: {figures}", width, 2)
    blocks = [*comparison_tables(content, width, _title, _counts, FIGURES), wrapped(LEGEND, width), beside]
    return agreement_screen(content, told, blocks, width)


def _title(comparison: Mapping[str, Any]) -> str:
    metric = comparison["metric"].replace("_", " ").replace("turn taking", "turn-taking")
    return ", ".join(filter(None, (metric, comparison["family"])))


def _counts(comparisons: Sequence[Mapping[str, Any]]) -> ColumnGroup:
    cells = [[f"{each['n']:,}", f"{each['cannot_tell']:,} + {each['not_rated']:,}"] for each in comparisons]
    return ColumnGroup("", ["n", "left out"], [5, 9], cells)


def sample_screen(key: RatingKey, folder: str, width: int) -> str:
    """The dialogues that were drawn, and what to do with them."""
    lines: list[str] = []
    for field in STRATA:
        names = Counter(str(getattr(each, field)) for each in key.dialogues)
        lines += wrapped(f"{field}: {', '.join(f'{name} {count}' for name, count in sorted(names.items()))}", width, 2)
    n = counted(len(key.dialogues), "dialogue")
    return "\n".join([f"{n}, sample {key.sample}", *lines, "", f"fdbcore rate {folder}"])
