"""Figures and tables of a scores document for a paper: SVG, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.recording import write_text
from fdbcore.report.paper_tables import PaperTable, csv_text
from fdbcore.report.svg import without_controls
from fdbcore.suites.dialogue_acts import charts
from fdbcore.suites.dialogue_acts.findings import Document, Row, group_rows, groups
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.sections import language
from fdbcore.suites.dialogue_acts.svg import standalone
from fdbcore.suites.dialogue_acts.words import mean

COLUMNS: Final = (
    "Set",
    "Annotator",
    "Replies of",
    "n",
    "WLCS",
    "SD",
    "WED",
    "SD",
    "95 % CI",
    "Del",
    "Ins",
    "Sub",
    "Recall",
    "F1",
)
LATEX_COLUMNS: Final = "lllrrrrrlrrrrr"
STATISTICS: Final = ("mean", "sd", "low", "high")


def write_figures(document: Document, folder: Path) -> list[Path]:
    """Write the figures and tables into `folder`, and return their paths. Raises RecordingError if one cannot be.

    case-KIND.svg: the telling replies. systems-N.svg, one for each set and annotator: WED and weighted LCS with their
    intervals. matrix-N.svg, one for each diagnosis: act by act. table.md, table.tex (booktabs) and table.csv: all rows,
    the latter with every measure in full.
    """
    paths = []
    for name, text in _files(document):
        write_text(folder / name, without_controls(text))
        paths.append(folder / name)
    return paths


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
    yield "table.md", markdown(document)
    yield "table.tex", latex(document)
    yield "table.csv", table_csv(document)


def markdown(document: Document) -> str:
    """The rows as a Markdown table under its caption."""
    return _table(document).markdown()


def latex(document: Document) -> str:
    """The rows as a LaTeX table, which needs the package booktabs."""
    return _table(document).latex()


def _table(document: Document) -> PaperTable:
    return PaperTable(_caption(document), COLUMNS, LATEX_COLUMNS, list(_lines(document)), "tab:dialogue-acts")


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


def _caption(document: Document) -> str:
    sets = "; ".join(f"{of['name']}: n = {of['n']}" for of in document["sets"])
    settings = document["settings"]
    return (
        f"Dialogue acts of replies against references ({sets}). WLCS: weighted LCS, higher is better; WED: weighted "
        "dialogue-act edit distance, lower is better, the sum of deletion (redundant), insertion (missing) and "
        f"substitution. SD: of single replies; CI: bootstrap over records, {settings.get('resamples', '?')} resamples. "
        "Recall and F1 are not measures of the original benchmark."
    )


def _lines(document: Document) -> Iterator[list[str]]:
    for group in groups(document):
        for row in group_rows(document, group):
            yield [row["set"], row["annotator"] or "–", _named(row), str(row["n"]), *_numbers(row)]


def _named(row: Row) -> str:
    return str(row["system"]) + ("" if row["kind"] == "system" else f" ({row['kind']})")


def _numbers(row: Row) -> list[str]:
    measures = row["measures"]
    wlcs, wed = measures["wlcs"], measures["wed"]
    interval = f"[{mean(wed['ci95'][0])}, {mean(wed['ci95'][1])}]" if wed["ci95"] else "–"
    rest = [mean(measures[name]["mean"]) for name in ("deletion", "insertion", "substitution", "recall", "f1")]
    return [mean(wlcs["mean"]), mean(wlcs["sd"]), mean(wed["mean"]), mean(wed["sd"]), interval, *rest]
