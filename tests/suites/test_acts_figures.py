"""Figures and tables of scored replies for a paper."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from helpers.acts_document import MEASURES, make_document

from fdbcore.errors import RecordingError
from fdbcore.report.scorecard import tables
from fdbcore.suites.dialogue_acts.card import card
from fdbcore.suites.dialogue_acts.charts import NAME_WIDTH, PANEL_WIDTH
from fdbcore.suites.dialogue_acts.figures import figures, table_csv

SVG: Final = "{http://www.w3.org/2000/svg}"
HOSTILE: Final = '50% & $x_1$ #{a} ~^ \\end{table} <b> | `c` [d](e) *f* "g"\nnext'


def write_figures(document: dict[str, Any], folder: Path) -> list[Path]:
    return tables.write_figures(card(document), folder, figures(document))


def markdown(document: dict[str, Any]) -> str:
    return tables.paper_table(card(document)).markdown()


def latex(document: dict[str, Any]) -> str:
    return tables.paper_table(card(document)).latex()


def renamed(name: str) -> dict[str, Any]:
    """A document one of whose systems has this name."""
    document = make_document(("plain", "other"), n=6)
    for part in ("rows", "diagnosis", "items"):
        for entry in document[part]:
            if entry["system"] == "other":
                entry["system"] = name
    return document


def test_every_figure_is_an_svg_of_its_own(tmp_path: Path) -> None:
    paths = write_figures(renamed(HOSTILE + "\x00"), tmp_path / "figures")
    assert sorted(path.name for path in paths) == [
        "case-deletion.svg",
        "case-insertion.svg",
        "case-smallest.svg",
        "case-substitution.svg",
        "matrix-1.svg",
        "matrix-2.svg",
        "systems-1.svg",
        "table.csv",
        "table.md",
        "table.tex",
    ]
    for path in paths:
        if path.suffix == ".svg":
            root = ElementTree.fromstring(path.read_bytes())
            assert root.find(f"{SVG}style") is not None
            ids = {element.get("id") for element in root.iter() if element.get("id")}
            assert set(re.findall(r"url\(#([^)]*)\)", path.read_text("utf-8"))) <= ids
            assert "prefers-color-scheme" not in path.read_text("utf-8")


def test_the_systems_stand_where_their_means_are(tmp_path: Path) -> None:
    document = make_document(("one", "two", "three"), n=20)
    write_figures(document, tmp_path)
    root = ElementTree.fromstring((tmp_path / "systems-1.svg").read_bytes())
    shown = [float(circle.get("cx", "nan")) for circle in root.iter(f"{SVG}circle") if circle.get("class") == "system"]
    rows = [row for row in document["rows"] if row["kind"] == "system" and row["weights"] == "given"]
    means = sorted(row["measures"]["wed"]["mean"] for row in rows)
    steps = [(high - low) / (means[-1] - means[0]) for low, high in pairwise(means)]
    drawn, others = shown[: len(means)], shown[len(means) :]
    assert len(others) == len(means)
    assert max(drawn) <= NAME_WIDTH + PANEL_WIDTH < min(others)
    assert "n = 20" in [text.text for text in root.iter(f"{SVG}text")]
    assert [(b - a) / (drawn[-1] - drawn[0]) for a, b in pairwise(drawn)] == pytest.approx(steps, abs=0.01)


def test_latex_holds_any_name_as_text() -> None:
    text = latex(renamed(HOSTILE))
    (row,) = [line for line in text.splitlines() if "50" in line]
    assert r"50\% \& \$x\_1\$ \#\{a\} \textasciitilde{}\textasciicircum{} \textbackslash{}end\{table\} " in row
    assert r"\textless{}b\textgreater{} | `c` {[}d](e)" in row
    assert row.endswith(r" \\")
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert columns is not None
    assert len(re.findall(r"(?<!\\)&", row)) == len(columns[1]) - 1


def test_markdown_holds_any_name_as_text() -> None:
    lines = markdown(renamed(HOSTILE)).splitlines()
    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}
    assert len(cells) == 1
    assert r"\`c\` \[d\](e) \*f\*" in "".join(lines)


def test_csv_gives_back_every_figure_in_full() -> None:
    document = renamed(HOSTILE)
    rows = list(csv.DictReader(io.StringIO(table_csv(document), newline="")))
    assert [row["system"] for row in rows] == [row["system"] for row in document["rows"]]
    for shown, row in zip(rows, document["rows"], strict=True):
        for name in MEASURES:
            summary = row["measures"][name]
            values = [float(shown[f"{name}_{statistic}"]) for statistic in ("mean", "sd", "low", "high")]
            assert values == [summary["mean"], summary["sd"], *summary["ci95"]]


@pytest.mark.parametrize("table", [markdown, latex])
def test_n_stands_in_the_caption(table: Any) -> None:
    assert "smoke: n = 6" in table(make_document(n=6)).split("tabular")[0]


def test_a_document_without_scores_has_tables_without_rows(tmp_path: Path) -> None:
    empty = make_document(n=2) | {"rows": [], "cases": [], "diagnosis": [], "items": [], "sets": []}
    assert [path.name for path in write_figures(empty, tmp_path)] == ["table.md", "table.tex", "table.csv"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="file"):
        write_figures(make_document(n=2), tmp_path / "file")
