"""What judges agree on, and the paper's case studies: a section of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdbcore.report.format import judging_took
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell, Row
from fdbcore.report.scorecard.screen import interval_text, number_text
from fdbcore.suites.fdb_v3.judging.screen import LEGEND, compared
from fdbcore.suites.fdb_v3.published import study_table

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Document
    from fdbcore.suites.fdb_v3.judging.judging_types import V3AgreementFigure, V3JudgeAgreement, V3PassedBy


def section(document: V3Document) -> str:
    """As HTML; "" without a judge, where nothing published was asked for."""
    judging, beside = document["judging"], document["published"]
    if judging is None and beside is None:
        return ""
    numbers = {} if judging is None else {name: str(n) for n, name in enumerate(judging["judges"], 1)}
    studies = []
    for study in [] if beside is None else beside["case_studies"]:
        (_, *columns), *rows = study_table(study)
        cells: list[Row] = [(Cell(name), values) for name, *values in rows]
        studies.append(
            {"title": f"{study['record']}, {study['about']}", "columns": ["system", *columns], "rows": cells}
        )
    return render(
        "judges.html",
        "fdbcore.suites.fdb_v3",
        judging=judging,
        took="" if judging is None else judging_took(judging, "these calls"),
        agreement=[] if judging is None else [_row(each, numbers) for each in judging["agreement"]],
        passed=[] if judging is None else list(map(_passed, judging["passed"])),
        legend=LEGEND,
        published=beside,
        studies=studies,
    )


def _row(found: V3JudgeAgreement, numbers: dict[str, str]) -> Row:
    counts = [str(found[name]) for name in ("both", "first_only", "second_only", "neither")]
    return Cell(compared(found, numbers)), [str(found["n"]), *map(_cell, (found["share"], found["kappa"])), *counts]


def _cell(figure: V3AgreementFigure) -> Cell:
    return Cell(number_text(figure["value"]), "" if figure["ci95"] is None else interval_text(figure["ci95"]))


def _passed(row: V3PassedBy) -> Row:
    share = f"{row['passed'] / row['n']:.3f}" if row["n"] else "-"
    return Cell(f"{row['system']}, {row['by']}"), [str(row["passed"]), str(row["n"]), share]
