"""The text that `fdbcore agree` prints about dialogue acts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fdbcore.report.scorecard.columns import NAME_COLUMNS, ColumnGroup, fitted, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, problem_lines
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsAgreement

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


def screen(content: ActsAgreement, width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    blocks = [list(_head(content, width)), _measures(content, width), _confusion(content, width)]
    blocks += [
        list(wrapped(LEGEND, width)),
        list(problem_lines([Problem(**one) for one in content["problems"]], width)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(content: ActsAgreement, width: int) -> Iterator[str]:
    first, second = content["annotators"]
    replies, n = content["replies"], content["n"]
    often = f" ({n} annotations by each)" if n != replies else ""
    names = " and ".join(fitted(name, NAME_COLUMNS) for name in (first, second))
    return wrapped(f"{names}: {replies} replies to {content['records']} records labelled by both{often}", width, 2)


def _measures(content: ActsAgreement, width: int) -> list[str]:
    found = [content["measures"][name] for name in MEASURES]
    n = ColumnGroup("", ["n"], [5], [[str(content["n"])] for _ in found])
    cells = [[number_text(one["value"]), interval_text(one["ci95"])] for one in found]
    return table(list(MEASURES.values()), [n, ColumnGroup("", ["", "95 %"], [6, 13], cells)], width)


def _confusion(content: ActsAgreement, width: int) -> list[str]:
    """The counts: a row for each act of the first annotator, a column for each act of the second."""
    cells = [[str(count) if count else "." for count in row] for row in content["confusion"]]
    widths = [max(LETTERS, *(len(row[k]) for row in cells)) for k in range(len(cells))]
    heads = ["ChkQ" if act == "Check-Question" else act[:LETTERS] for act in content["acts"]]
    groups = [ColumnGroup("", [], [], [[] for _ in cells]), ColumnGroup("acts of the second", heads, widths, cells)]
    return ["acts of the first, in rows", *table(content["acts"], groups, width)]
