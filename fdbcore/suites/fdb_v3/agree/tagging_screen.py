"""The text that `fdbcore agree` prints about disfluencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fdbcore.report.format import counted
from fdbcore.report.scorecard.columns import ColumnGroup, table, wrapped
from fdbcore.report.scorecard.screen import interval_text, number_text, problem_lines
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.agree.agreement_types import DisfluencyAgreement

LEGEND: Final = (
    "n: recordings that two raters or more tagged. tagged: by how many of them each rater has that class. identical: "
    "share on which all say the same. alpha: Krippendorff's, nominal; none where all say the same throughout. "
    "Brackets: 95 %, over recordings."
)


def screen(content: DisfluencyAgreement, width: int) -> str:
    """The document of an agreement in at most `width` columns (60 or more), without a newline at the end."""
    raters, classes = content["raters"], content["classes"]
    head = [
        line
        for number, each in enumerate(raters, 1)
        for line in wrapped(f"{number} {each['name']}: {counted(each['recordings'], 'recording')}", width, 2)
    ]
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in classes]),
        ColumnGroup(
            "tagged by", [str(n + 1) for n in range(len(raters))], [4] * len(raters),
            [[str(count) for count in each["tagged"]] for each in classes],
        ),
        ColumnGroup("identical", [""], [9], [[number_text(each["identical"])] for each in classes]),
        ColumnGroup(
            "alpha", ["", "95 %"], [6, 13],
            [[number_text(each["alpha"]), interval_text(each["ci95"])] for each in classes],
        ),
    ]  # fmt: skip
    names = [each["kind"].lower().replace("_", " ") for each in classes]
    problems = list(problem_lines([Problem(**each) for each in content["problems"]], width))
    blocks = [head, table(names, groups, width), list(wrapped(LEGEND, width)), problems]
    return "\n\n".join("\n".join(block) for block in blocks if block)
