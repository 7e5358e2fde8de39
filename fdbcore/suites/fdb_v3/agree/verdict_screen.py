"""The text that `fdbcore agree` prints about verdicts on calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import ColumnGroup, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, problem_lines
from fdbcore.suites.fdb_v3.agree.verdict_agreement import PEOPLE
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.agree.agreement_types import VerdictAgreement, VerdictComparison
    from fdbcore.suites.fdb_v3.document_types import V3AgreementFigure

LEGEND: Final = (
    "n: calls on which both gave a verdict; of more than two raters, those on which two did. yes: of these, by each. "
    "identical: share on which all say the same. alpha: Krippendorff's, nominal; kappa: Cohen's; none where all say "
    "the same throughout. people: what most of them say. Brackets: 95 %, over calls."
)
TITLES: Final = {"turn_take": "turn-take"}


def screen(content: VerdictAgreement, width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    numbers = {each["name"]: str(number) for number, each in enumerate(content["raters"], 1)}
    blocks = [
        [
            line
            for each in content["raters"]
            for line in wrapped(f"{numbers[each['name']]} {each['name']}: {counted(each['calls'], 'call')}", width, 2)
        ]
    ]
    for metric, own in groupby(content["comparisons"], lambda each: each["metric"]):
        blocks.append([TITLES.get(metric, metric), *_table(list(own), numbers, width)])
    blocks.append(list(wrapped(LEGEND, width)))
    blocks.append(list(problem_lines([Problem(**each) for each in content["problems"]], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(comparisons: Sequence[VerdictComparison], numbers: dict[str, str], width: int) -> list[str]:
    names = [_names(each["raters"], numbers) for each in comparisons]
    counts = [[f"{each['n']:,}", " ".join(map(str, each["yes"]))] for each in comparisons]
    groups = [
        ColumnGroup("", ["n", "yes"], [5, max(len(each[1]) for each in counts)], counts),
        _figures("identical", [each["identical"] for each in comparisons]),
        _figures("alpha", [each["alpha"] for each in comparisons]),
        _figures("kappa", [each["kappa"] for each in comparisons]),
    ]
    return table(names, groups, width)


def _names(raters: Sequence[str], numbers: dict[str, str]) -> str:
    known = [PEOPLE if each not in numbers else numbers[each] for each in raters]
    return " and ".join(known) if len(known) == 2 else f"all {len(known)} people"


def _figures(title: str, figures: Sequence[V3AgreementFigure | None]) -> ColumnGroup:
    cells = [
        ["", ""] if each is None else [number_text(each["value"]), interval_text(each["ci95"])] for each in figures
    ]
    return ColumnGroup(title, ["", "95 %"], [6, 13], cells)
