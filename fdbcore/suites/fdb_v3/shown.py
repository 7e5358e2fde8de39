"""What is shown beside the scorecard, as text and on the page: known defects, how far judges agree, case studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from fdbcore.report.format import NONE, judging_took
from fdbcore.report.html.templates import render, static
from fdbcore.report.html.values import Cell
from fdbcore.report.scorecard.columns import cells_table
from fdbcore.report.scorecard.screen import interval_text, number_text
from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v3 import view
from fdbcore.suites.fdb_v3.document import V3Scores
from fdbcore.suites.fdb_v3.judging.agreement import PassedBy
from fdbcore.suites.fdb_v3.judging.judge import V3Judging
from fdbcore.suites.fdb_v3.published import CaseStudy
from fdbcore.suites.fdb_v3.screen import defects
from fdbcore.suites.fdb_v3.terms import PUBLISHED
from fdbcore.types.remarks import CallRemarks
from fdbcore.types.scorecard import ScoredCase, SuiteViews

PACKAGE: Final = "fdbcore.suites.fdb_v3"
LEGEND: Final = (
    "agree: share of verdicts that are alike; kappa: Cohen's; brackets: 95 %, over scenarios. Arguments are compared "
    "of each pair of calls, by the released labels."
)


class V3Views(SuiteViews):
    """Known defects of the published measures, how far judges agree, the paper's case studies; recordings drawn."""

    def __init__(self, found: V3Scores) -> None:
        self._found = found

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Defects, judges, and case studies."""
        shown = {name for row in self._found.rows for name in row.measures}
        own = [scale for scale in PUBLISHED.values() if scale.id in shown]
        blocks = [["as published, with its known defects [over which recordings]:", *defects(own, width)]]
        if self._found.judging is not None:
            blocks += judging_details(self._found.judging, width)
        if (beside := self._found.published) is not None:
            for study in beside.case_studies:
                title = filled(f"{beside.label}: {study.title}", width)
                blocks.append([*title.splitlines(), *cells_table(study.table(), width)])
            blocks.append([line for note in beside.notes for line in filled(note, width, "  ").splitlines()])
        return blocks

    def section(self) -> str:
        """Judges and case studies; "" without a judge, where nothing published was asked for."""
        judging, beside = self._found.judging, self._found.published
        if judging is None and beside is None:
            return ""
        told: dict[str, Any] = {}
        if judging is not None:
            told = {"took": judging_took(judging, "these calls"), "agreement": list(_agreement_cells(judging))}
            told["passed"] = [(Cell(name), cells) for name, *cells in map(_passed, judging["passed"])]
        studies = [] if beside is None else list(map(_study, beside.case_studies))
        return render("judges.html", PACKAGE, judging=judging, legend=LEGEND, published=beside, studies=studies, **told)

    def style(self) -> str:
        """The style of the drawings of recordings."""
        return static("case.css", PACKAGE)

    def legend(self) -> str:
        """How to read them."""
        return (
            '<p class="v3-key">Bars are speech and calls, from their arguments to their results; a call without a '
            "result has a dashed outline. The dashed line is the user&#x27;s end.</p>"
        )

    def picture(self, case: ScoredCase) -> str:
        """Who spoke when, the calls, and what was expected."""
        return view.picture(case)

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The calls."""
        return view.remarks(case)


def judging_details(judging: V3Judging, width: int) -> list[list[str]]:
    """Blocks of lines: how far judges agree, who passes by whom, and what asking took."""
    blocks = []
    if judging["agreement"]:
        table = [["", "n", "agree", "95 %", "kappa", "95 %", "yes both", "1st", "2nd", "neither"]]
        table += [[names, n, *chain(*figures), *counts] for names, n, figures, counts in _agreement(judging)]
        judges = ", ".join(f"{number} {name}" for number, name in enumerate(judging["judges"], 1))
        blocks.append([*filled(f"judges: {judges}", width).splitlines(), *cells_table(table, width)])
    by = [["Pass@1, by who decides on arguments", "passed", "n", "share"], *map(_passed, judging["passed"])]
    told = (LEGEND, judging_took(judging, "these calls"))
    return [*blocks, cells_table(by, width), [line for text in told for line in filled(text, width).splitlines()]]


def _agreement_cells(judging: V3Judging) -> Iterator[tuple[Cell, list[Cell | str]]]:
    for names, n, figures, counts in _agreement(judging):
        cells = (Cell(value, "" if interval == NONE else interval) for value, interval in figures)
        yield Cell(names), [n, *cells, *counts]


def _agreement(judging: V3Judging) -> Iterator[tuple[str, str, list[tuple[str, str]], list[str]]]:
    """What is compared, of whom; n; both figures with their intervals; how often both, one or neither said yes."""
    numbers = {name: str(number) for number, name in enumerate(judging["judges"], 1)}
    for each in judging["agreement"]:
        first, second = (numbers.get(name, name) for name in each.raters)
        system = "" if each.system is None else f"{each.system}, "
        figures = [(number_text(figure.value), interval_text(figure.ci95)) for figure in (each.share, each.kappa)]
        counts = map(str, (each.both, each.first_only, each.second_only, each.neither))
        yield f"{system}{each.what}: {first} and {second}", str(each.n), figures, list(counts)


def _passed(row: PassedBy) -> list[str]:
    share = f"{row.passed / row.n:.3f}" if row.n else "-"
    return [f"{row.system}, {row.by}", str(row.passed), str(row.n), share]


def _study(study: CaseStudy) -> dict[str, Any]:
    (_, *columns), *rows = study.table()
    return {
        "title": study.title,
        "columns": ["system", *columns],
        "rows": [(Cell(name), values) for name, *values in rows],
    }
