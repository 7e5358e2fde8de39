"""Figures of a scores document for a paper, as SVG, and its rows in full, as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fdbcore.report.paper.tables import csv_text
from fdbcore.suites.dialogue_acts import charts
from fdbcore.suites.dialogue_acts.findings import Document, group_rows, groups
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.sections import language
from fdbcore.suites.dialogue_acts.svg import standalone

STATISTICS: Final = ("mean", "sd", "low", "high")


def figures(document: Document) -> dict[str, str]:
    """Figures of a scores document, and its rows in full, by the names of their files.

    case-KIND.svg: the telling replies. systems-N.svg, one for each set and annotator: WED and weighted LCS with their
    intervals. matrix-N.svg, one for each diagnosis: act by act. table.csv: all rows, with every measure.
    """
    return dict(_files(document))


def _files(document: Document) -> Iterator[tuple[str, str]]:
    for case in document["cases"]:
        item = document["items"][case["item"]]
        yield f"case-{case['case']}.svg", standalone(picture(item, language(document, item["set"])))
    for number, group in enumerate(groups(document), 1):
        rows = [row for row in group_rows(document, group) if row["n"]]
        if rows:
            yield f"systems-{number}.svg", standalone(charts.systems(rows, f"{group[0]}, annotated by {group[1]}"))
    for number, diagnosis in enumerate(document["diagnosis"], 1):
        yield f"matrix-{number}.svg", standalone(charts.matrix(diagnosis))
    yield "table.csv", table_csv(document)


def table_csv(document: Document) -> str:
    """Every row with every measure, as the document has them: mean, standard deviation and limits of the interval."""
    known = ("set", "annotator", "system", "kind", "weights", "n", "no_reply", "unscored")
    names = list(document["rows"][0]["measures"]) if document["rows"] else []
    columns = [*known, *(f"{name}_{statistic}" for name in names for statistic in STATISTICS)]
    rows = (
        [*(row[key] for key in known), *(value for name in names for value in _all(row["measures"][name]))]
        for row in document["rows"]
    )
    return csv_text(columns, rows)


def _all(summary: Mapping[str, Any]) -> list[float | None]:
    return [summary["mean"], summary["sd"], *(summary["ci95"] or (None, None))]
