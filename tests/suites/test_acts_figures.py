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
from helpers.acts_document import make_document, systems_of

from fdbcore.recording.files import write_text
from fdbcore.report.scorecard import drawings
from fdbcore.report.scorecard.drawings import NAME_WIDTH, PANEL_WIDTH
from fdbcore.report.scorecard.tables import tables
from fdbcore.report.svg.text import without_controls
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES
from fdbcore.suites.dialogue_acts.suite import SUITE

SVG: Final = "{http://www.w3.org/2000/svg}"
HOSTILE: Final = '50% & $x_1$ #{a} ~^ \\end{table} <b> | `c` [d](e) *f* "g"\nnext'


def write_figures(document: dict[str, Any], folder: Path) -> list[Path]:
    """As `fdbcore score --suite --figures` writes them."""
    found = {**drawings.figures(SUITE.card(document)), **SUITE.card(document).views.figures()}
    for name, text in found.items():
        write_text(folder / name, without_controls(text))
    return [folder / name for name in found]


def markdown(document: dict[str, Any]) -> str:
    return tables(SUITE.card(document))["table.md"]


def latex(document: dict[str, Any]) -> str:
    return tables(SUITE.card(document))["table.tex"]


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
    names = "case-deletion case-insertion case-smallest case-substitution matrix-1 matrix-2 matrix-3 systems-1"
    assert sorted(path.name for path in paths) == [f"{name}.svg" for name in names.split()]
    for path in paths:
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
    rows = [row for row in systems_of(document) if row["group"] == "system"]
    means = sorted(row["measures"]["wed"]["value"] for row in rows)
    steps = [(high - low) / (means[-1] - means[0]) for low, high in pairwise(means)]
    drawn, others = shown[: len(means)], shown[len(means) :]
    assert len(others) == len(means)
    assert max(drawn) <= NAME_WIDTH + PANEL_WIDTH < min(others)
    assert "n = 20" in [text.text for text in root.iter(f"{SVG}text")]
    assert [(b - a) / (drawn[-1] - drawn[0]) for a, b in pairwise(drawn)] == pytest.approx(steps, abs=0.01)


def test_latex_holds_any_name_as_text() -> None:
    text = latex(renamed(HOSTILE))
    (row,) = [line for line in text.splitlines() if r"50\%" in line]
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
    text = tables(SUITE.card(document))["table.csv"]
    rows = {row["system"]: row for row in csv.DictReader(io.StringIO(text, newline="")) if not row["subset"]}
    for row in systems_of(document):
        for name in {*MEASURES, "uniform_wed", "uniform_wlcs"} & row["measures"].keys():
            summary = row["measures"][name]
            cells = [rows[row["system"]][f"{name}_{statistic}"] for statistic in ("mean", "sd", "low", "high")]
            given = (summary["value"], summary["sd"], *(summary["ci95"] or (None, None)))
            assert [float(cell) if cell else None for cell in cells] == [*given]


@pytest.mark.parametrize("table", [markdown, latex])
def test_n_stands_in_the_caption(table: Any) -> None:
    assert "smoke: n = 6" in table(make_document(n=6)).split("tabular")[0]


def test_a_document_without_scores_has_no_figures_and_tables_without_rows() -> None:
    empty = make_document(n=2) | {"rows": [], "cases": [], "diagnosis": [], "items": [], "sets": [], "differences": []}
    assert {**drawings.figures(SUITE.card(empty)), **SUITE.card(empty).views.figures()} == {}
    assert len(tables(SUITE.card(empty))["table.csv"].splitlines()) == 1
