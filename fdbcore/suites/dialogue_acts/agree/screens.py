"""The texts that `fdbcore agree` prints about dialogue acts, and about people's ratings of replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import NAME_COLUMNS, ColumnGroup, fitted, table, wrapped
from fdbcore.report.scorecard.screen import compared, estimates, problem_lines
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import (
        ActsAgreement,
        LeftOut,
        RepliesRated,
        ReplyComparison,
    )

MEASURES: Final = {
    "identical": "identical acts",
    "kappa": "kappa of acts",
    "wed": "WED",
    "wlcs_a": "WLCS, of the first",
    "wlcs_b": "WLCS, of the second",
    "importance_difference": "importance apart",
}
LEGEND: Final = (
    "identical acts: share of replies with the same acts in the same order. kappa: of acts as the cheapest script "
    "pairs them, 'none' for one that only one has. WED: mean distance. WLCS: share of the weight that one gives to "
    "acts which the other has too, in that order. importance apart: mean, of acts that both have."
)
LETTERS: Final = 4  # of the name of an act above its column

RATED: Final = {"wlcs": "WLCS", "wed": "WED", "f1": "F1"}
LEGEND_OF_RATINGS: Final = (
    "n: replies that have both; of more than two people, that two have rated. r: Pearson; rho: Spearman; alpha: "
    "Krippendorff's, of an interval scale. people: the mean of all who rated a reply. A good measure has r and rho "
    "near 1 (WLCS, F1) or near -1 (WED, which is less for better replies). Brackets: 95 %, over "
)


def agreement_screen(content: ActsAgreement, width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    measured = [content["measures"][name] for name in MEASURES]
    n = ColumnGroup("", ["n"], [5], [[str(content["n"])] for _ in measured])
    measures = table(list(MEASURES.values()), [n, estimates("", measured)], width)
    blocks = [_head(content, width), measures, _confusion(content, width)]
    return _text(blocks, LEGEND, content["problems"], width)


def ratings_screen(content: RepliesRated, width: int) -> str:
    """The document of ratings in at most `width` columns (60 or more), without a newline at the end."""
    blocks = [[f"{each['name']}: {counted(each['replies'], 'reply')}" for each in content["raters"]]]
    for (of, annotator), found in groupby(content["comparisons"], lambda each: (each["set"], each["annotator"])):
        own = list(found)
        title = f"{of}: people with each other" if annotator is None else f"{of}, annotated by {annotator}"
        blocks.append([*wrapped(title, width, 2), *_ratings(own, width, is_of_people=annotator is None)])
    users = max((each["clusters"] for each in content["comparisons"] if "clusters" in each), default=None)
    over = "records" if users is None else f"recorded users (at most {users}), each with all its turns"
    return _text(blocks, f"{LEGEND_OF_RATINGS}{over}.", content["problems"], width)


def _text(blocks: Iterable[Iterable[str]], legend: str, problems: Iterable[LeftOut], width: int) -> str:
    """The blocks, the legend and the problems, with an empty line between them."""
    last = [wrapped(legend, width), problem_lines([Problem(**each) for each in problems], width)]
    return "\n\n".join(filter(None, ("\n".join(block) for block in (*blocks, *last))))


def _head(content: ActsAgreement, width: int) -> Iterator[str]:
    replies, n = content["replies"], content["n"]
    often = f" ({n} annotations by each)" if n != replies else ""
    names = " and ".join(fitted(name, NAME_COLUMNS) for name in content["annotators"])
    return wrapped(f"{names}: {replies} replies to {content['records']} records labelled by both{often}", width, 2)


def _confusion(content: ActsAgreement, width: int) -> list[str]:
    """The counts: a row for each act of the first annotator, a column for each act of the second."""
    cells = [[str(count) if count else "." for count in row] for row in content["confusion"]]
    widths = [max(LETTERS, *(len(row[k]) for row in cells)) for k in range(len(cells))]
    heads = ["ChkQ" if act == "Check-Question" else act[:LETTERS] for act in content["acts"]]
    groups = [ColumnGroup("", [], [], [[] for _ in cells]), ColumnGroup("acts of the second", heads, widths, cells)]
    return ["acts of the first, in rows", *table(content["acts"], groups, width)]


def _ratings(comparisons: Sequence[ReplyComparison], width: int, *, is_of_people: bool) -> list[str]:
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in comparisons]),
        estimates("r", [each["pearson"] for each in comparisons]),
        estimates("rho", [each["spearman"] for each in comparisons]),
    ]
    if is_of_people:
        groups.append(estimates("alpha", [each["alpha"] for each in comparisons]))
    return table([fitted(_name(each), NAME_COLUMNS) for each in comparisons], groups, width)


def _name(one: ReplyComparison) -> str:
    if one["measure"] is None:
        return compared(one["raters"], {})
    return f"{RATED[one['measure']]}, {one['raters'][1]}" + (f", {one['system']}" if one["system"] else "")
