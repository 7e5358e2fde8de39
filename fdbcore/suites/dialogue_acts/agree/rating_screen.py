"""The text that `fdbcore agree` prints about people's ratings of replies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import NAME_COLUMNS, ColumnGroup, fitted, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, problem_lines
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.agree.rating_types import RepliesRated, ReplyComparison
    from fdbcore.suites.dialogue_acts.document_types import AgreementMeasure

NAMES: Final = {"wlcs": "WLCS", "wed": "WED", "f1": "F1"}
LEGEND: Final = (
    "n: replies that have both; of more than two people, that two have rated. r: Pearson; rho: Spearman; alpha: "
    "Krippendorff's, of an interval scale. people: the mean of all who rated a reply. A good measure has r and rho "
    "near 1 (WLCS, F1) or near -1 (WED, which is less for better replies). Brackets: 95 %, over "
)


def screen(content: RepliesRated, width: int) -> str:
    """The document in at most `width` columns (60 or more), without a newline at the end."""
    blocks = [[f"{each['name']}: {counted(each['replies'], 'reply')}" for each in content["raters"]]]
    for (of, annotator), found in groupby(content["comparisons"], lambda each: (each["set"], each["annotator"])):
        own = list(found)
        title = f"{of}: people with each other" if annotator is None else f"{of}, annotated by {annotator}"
        blocks.append([*wrapped(title, width, 2), *_table(own, width, is_of_people=annotator is None)])
    users = max((each["clusters"] for each in content["comparisons"] if "clusters" in each), default=None)
    over = "records" if users is None else f"recorded users (at most {users}), each with all its turns"
    blocks.append(list(wrapped(f"{LEGEND}{over}.", width)))
    blocks.append(list(problem_lines([Problem(**each) for each in content["problems"]], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _table(comparisons: Sequence[ReplyComparison], width: int, *, is_of_people: bool) -> list[str]:
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in comparisons]),
        _figures("r", [each["pearson"] for each in comparisons]),
        _figures("rho", [each["spearman"] for each in comparisons]),
    ]
    if is_of_people:
        groups.append(_figures("alpha", [each["alpha"] for each in comparisons]))
    return table([fitted(_name(each), NAME_COLUMNS) for each in comparisons], groups, width)


def _name(one: ReplyComparison) -> str:
    if one["measure"] is None:
        return " and ".join(one["raters"]) if len(one["raters"]) == 2 else f"all {len(one['raters'])} people"
    return f"{NAMES[one['measure']]}, {one['raters'][1]}" + (f", {one['system']}" if one["system"] else "")


def _figures(title: str, figures: Sequence[AgreementMeasure | None]) -> ColumnGroup:
    cells = [
        ["", ""] if each is None else [number_text(each["value"]), interval_text(each["ci95"])] for each in figures
    ]
    return ColumnGroup(title, ["", "95 %"], [6, 13], cells)
