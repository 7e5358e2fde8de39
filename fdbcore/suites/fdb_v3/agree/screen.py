"""The text that `fdbcore agree` prints: about disfluencies, and about verdicts on calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import ColumnGroup, table, wrapped
from fdbcore.report.scorecard.screen import compared, estimates, interval_text, number_text, problem_lines
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.agree import agreement_types as types

TAGS: Final = (
    "n: recordings that two raters or more tagged. tagged: by how many of them each rater has that class. identical: "
    "share on which all say the same. alpha: Krippendorff's, nominal; none where all say the same throughout. "
    "Brackets: 95 %, over recordings."
)
VERDICTS: Final = (
    "n: calls on which both gave a verdict; of more than two raters, those on which two did. yes: of these, by each. "
    "identical: share on which all say the same. alpha: Krippendorff's, nominal; kappa: Cohen's; none where all say "
    "the same throughout. people: what most of them say. Brackets: 95 %, over calls."
)
TITLES: Final = {"turn_take": "turn-take"}


def tags(content: types.DisfluencyAgreement, width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    raters, classes = content["raters"], content["classes"]
    counts = [[str(count) for count in each["tagged"]] for each in classes]
    alphas = [[number_text(each["alpha"]), interval_text(each["ci95"])] for each in classes]
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in classes]),
        ColumnGroup("tagged by", [str(n) for n in range(1, len(raters) + 1)], [4] * len(raters), counts),
        ColumnGroup("identical", [""], [9], [[number_text(each["identical"])] for each in classes]),
        ColumnGroup("alpha", ["", "95 %"], [6, 13], alphas),
    ]
    names = [each["kind"].lower().replace("_", " ") for each in classes]
    told = [f"{each['name']}: {counted(each['recordings'], 'recording')}" for each in raters]
    return _screen(told, [table(names, groups, width)], TAGS, content["problems"], width)


def verdicts(content: types.VerdictAgreement, width: int) -> str:
    """As `tags`, of an agreement on verdicts."""
    numbers = {each["name"]: str(number) for number, each in enumerate(content["raters"], 1)}
    tables = [
        [TITLES.get(metric, metric), *_table(list(own), numbers, width)]
        for metric, own in groupby(content["comparisons"], lambda each: each["metric"])
    ]
    told = [f"{each['name']}: {counted(each['calls'], 'call')}" for each in content["raters"]]
    return _screen(told, tables, VERDICTS, content["problems"], width)


def _screen(
    raters: Iterable[str], tables: Iterable[list[str]], legend: str, problems: Iterable[dict[str, str]], width: int
) -> str:
    """Who rated, which are numbered; tables; what they show; and what was left out."""
    blocks = [
        [line for number, told in enumerate(raters, 1) for line in wrapped(f"{number} {told}", width, 2)],
        *tables,
        list(wrapped(legend, width)),
        list(problem_lines([Problem(**each) for each in problems], width)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(comparisons: Sequence[types.VerdictComparison], numbers: dict[str, str], width: int) -> list[str]:
    names = [compared(each["raters"], numbers) for each in comparisons]
    counts = [[f"{each['n']:,}", " ".join(map(str, each["yes"]))] for each in comparisons]
    groups = [
        ColumnGroup("", ["n", "yes"], [5, max(len(each[1]) for each in counts)], counts),
        estimates("identical", [each["identical"] for each in comparisons]),
        estimates("alpha", [each["alpha"] for each in comparisons]),
        estimates("kappa", [each["kappa"] for each in comparisons]),
    ]
    return table(names, groups, width)
