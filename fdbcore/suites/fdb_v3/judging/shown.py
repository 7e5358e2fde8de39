"""What judges agree on, and what that took: as text, and as a section of the page, with the paper's case studies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from fdbcore.report.format import NONE, judging_took
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell
from fdbcore.report.scorecard.columns import cells_table
from fdbcore.report.scorecard.screen import interval_text, number_text
from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v3.published import study_table

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3 import document_types as types

LEGEND: Final = (
    "agree: share of verdicts that are alike; kappa: Cohen's; brackets: 95 %, over scenarios. Arguments are compared "
    "of each pair of calls, by the released labels."
)


def judging_details(judging: types.V3Judging, width: int) -> list[list[str]]:
    """Blocks of lines of at most `width` columns (60 or more)."""
    blocks = []
    if judging["agreement"]:
        table = [["", "n", "agree", "95 %", "kappa", "95 %", "yes both", "1st", "2nd", "neither"]]
        table += [[names, n, *chain(*figures), *counts] for names, n, figures, counts in _agreement(judging)]
        judges = ", ".join(f"{number} {name}" for number, name in enumerate(judging["judges"], 1))
        blocks.append([*filled(f"judges: {judges}", width).splitlines(), *cells_table(table, width)])
    by = [["Pass@1, by who decides on arguments", "passed", "n", "share"], *map(_passed, judging["passed"])]
    told = [
        line for text in (LEGEND, judging_took(judging, "these calls")) for line in filled(text, width).splitlines()
    ]
    return [*blocks, cells_table(by, width), told]


def section(document: types.V3Document) -> str:
    """As HTML; "" without a judge, where nothing published was asked for."""
    judging, beside = document["judging"], document["published"]
    if judging is None and beside is None:
        return ""
    told: dict[str, Any] = {}
    if judging is not None:
        told = {
            "took": judging_took(judging, "these calls"),
            "agreement": [
                (
                    Cell(names),
                    [n, *(Cell(value, "" if interval == NONE else interval) for value, interval in figures), *counts],
                )
                for names, n, figures, counts in _agreement(judging)
            ],
            "passed": [(Cell(name), cells) for name, *cells in map(_passed, judging["passed"])],
        }
    studies = [] if beside is None else list(map(_study, beside["case_studies"]))
    return render(
        "judges.html",
        "fdbcore.suites.fdb_v3",
        judging=judging,
        legend=LEGEND,
        published=beside,
        studies=studies,
        **told,
    )


def _agreement(judging: types.V3Judging) -> Iterator[tuple[str, str, list[tuple[str, str]], list[str]]]:
    """What is compared, of whom; n; both figures with their intervals; how often both, one or neither said yes."""
    numbers = {name: str(number) for number, name in enumerate(judging["judges"], 1)}
    for found in judging["agreement"]:
        first, second = (numbers.get(name, name) for name in found["raters"])
        system = "" if found["system"] is None else f"{found['system']}, "
        figures = [
            (number_text(each["value"]), interval_text(each["ci95"])) for each in (found["share"], found["kappa"])
        ]
        counts = [str(found[name]) for name in ("both", "first_only", "second_only", "neither")]
        yield f"{system}{found['what']}: {first} and {second}", str(found["n"]), figures, counts


def _passed(row: types.V3PassedBy) -> list[str]:
    share = f"{row['passed'] / row['n']:.3f}" if row["n"] else "-"
    return [f"{row['system']}, {row['by']}", str(row["passed"]), str(row["n"]), share]


def _study(study: types.V3PublishedStudy) -> dict[str, Any]:
    (_, *columns), *rows = study_table(study)
    return {
        "title": f"{study['record']}, {study['about']}",
        "columns": ["system", *columns],
        "rows": [(Cell(name), values) for name, *values in rows],
    }
