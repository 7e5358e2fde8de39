"""The text that `fdbcore agree` prints about ratings of dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import ColumnGroup, table, wrapped
from fdbcore.report.scorecard.screen import compared, estimates, problem_lines
from fdbcore.suites.staged.fdb2.published import Published
from fdbcore.suites.staged.rating.sample import STRATA
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.staged.rating.rating_types import (
        RatedBy,
        RatingAgreement,
        RatingComparison,
        RatingKey,
    )

LEGEND: Final = (
    "n: dialogues that both rated; of more than two raters, those that two rated. left out: cannot tell, and not "
    "rated. alpha: Krippendorff's, of an interval and of an ordinal scale; r: Pearson, rho: Spearman. A judge's rating "
    "of a dialogue is its mean over events. people: the mean of all who rated. Brackets: 95 %, over dialogues."
)


def screen(content: RatingAgreement, width: int, published: Published | None) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    numbers = {each["name"]: str(number) for number, each in enumerate(content["raters"], 1)}
    blocks = [[line for each in content["raters"] for line in _rater(each, numbers[each["name"]], width)]]
    for (metric, family), own in groupby(content["comparisons"], lambda each: (each["metric"], each["family"])):
        title = metric.replace("_", " ").replace("turn taking", "turn-taking") + (f", {family}" if family else "")
        blocks.append([title, *_table(list(own), numbers, width)])
    blocks.append(list(wrapped(LEGEND, width)))
    if published is not None:
        blocks.append(list(_published(published, width)))
    blocks.append(list(problem_lines([Problem(**each) for each in content["problems"]], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _rater(rater: RatedBy, number: str, width: int) -> Iterator[str]:
    return wrapped(f"{number} {rater['name']}: {rater['kind']}, {counted(rater['dialogues'], 'dialogue')}", width, 2)


def _table(comparisons: Sequence[RatingComparison], numbers: dict[str, str], width: int) -> list[str]:
    names = [compared(each["raters"], numbers) for each in comparisons]
    counts = [[f"{each['n']:,}", f"{each['cannot_tell']:,} + {each['not_rated']:,}"] for each in comparisons]
    groups = [
        ColumnGroup("", ["n", "left out"], [5, 9], counts),
        estimates("alpha interval", [each["alpha_interval"] for each in comparisons]),
        estimates("alpha ordinal", [each["alpha_ordinal"] for each in comparisons]),
        estimates("r", [each["pearson"] for each in comparisons]),
        estimates("rho", [each["spearman"] for each in comparisons]),
    ]
    return table(names, groups, width)


def _published(published: Published, width: int) -> Iterator[str]:
    agreement = published["agreement"]["line"]
    found = (f"{each['metric']} alpha {each['alpha']:.3f} r {each['r']:.3f}" for each in agreement)
    yield from wrapped(f"Full-Duplex-Bench v2, {published['label']}: {'; '.join(found)}", width, 2)


def sample_screen(key: RatingKey, folder: str, width: int) -> str:
    """What was drawn, and what to do with it."""
    lines: list[str] = []
    for field in STRATA:
        names = Counter(str(each[field]) for each in key["dialogues"])
        lines += wrapped(f"{field}: {', '.join(f'{name} {count}' for name, count in sorted(names.items()))}", width, 2)
    n = counted(len(key["dialogues"]), "dialogue")
    return "\n".join([f"{n}, sample {key['sample']}", *lines, "", f"fdbcore rate {folder}"])
