"""What judges agree on, and what that took, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import judging_took
from fdbcore.report.scorecard.columns import cells_table
from fdbcore.report.scorecard.screen import interval_text, number_text
from fdbcore.report.terminal import filled

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.judging.judging_types import V3AgreementFigure, V3JudgeAgreement, V3Judging

LEGEND: Final = (
    "agree: share of verdicts that are alike; kappa: Cohen's; brackets: 95 %, over scenarios. Arguments are compared "
    "of each pair of calls, by the released labels."
)


def judging_details(judging: V3Judging, width: int) -> list[list[str]]:
    """Blocks of lines of at most `width` columns (60 or more)."""
    blocks = []
    numbers = {name: str(number) for number, name in enumerate(judging["judges"], 1)}
    if judging["agreement"]:
        head = ["", "n", "agree", "95 %", "kappa", "95 %", "yes both", "1st", "2nd", "neither"]
        rows = cells_table([head, *(_row(each, numbers) for each in judging["agreement"])], width)
        names = ", ".join(f"{number} {name}" for name, number in numbers.items())
        blocks.append([*filled(f"judges: {names}", width).splitlines(), *rows])
    by = [["Pass@1, by who decides on arguments", "passed", "n", "share"]]
    for row in judging["passed"]:
        rate = f"{row['passed'] / row['n']:.3f}" if row["n"] else "-"
        by.append([f"{row['system']}, {row['by']}", str(row["passed"]), str(row["n"]), rate])
    took = judging_took(judging, "these calls")
    told = [*filled(LEGEND, width).splitlines(), *filled(took, width).splitlines()]
    return [*blocks, cells_table(by, width), told]


def _row(found: V3JudgeAgreement, numbers: Mapping[str, str]) -> list[str]:
    counts = [str(found[name]) for name in ("both", "first_only", "second_only", "neither")]
    figures = [text for name in ("share", "kappa") for text in _figure(found[name])]
    return [compared(found, numbers), str(found["n"]), *figures, *counts]


def compared(found: V3JudgeAgreement, numbers: Mapping[str, str]) -> str:
    """What is compared, and of whom. numbers: of judges."""
    first, second = (numbers.get(name, name) for name in found["raters"])
    system = "" if found["system"] is None else f"{found['system']}, "
    return f"{system}{found['what']}: {first} and {second}"


def _figure(figure: V3AgreementFigure) -> list[str]:
    return [number_text(figure["value"]), interval_text(figure["ci95"])]
