"""Text cells of tables: no spreadsheet takes one for a formula, and whoever reads them gets what was written."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.report.paper.tables import csv_text
from fdbcore.sources.names import Oddities
from fdbcore.sources.rater_tables import rated_rows
from fdbcore.sources.tables import read_table
from fdbcore.sources.text_cells import FORMULA, marked, unmarked

FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\t5", "\r5", "  =x", "\N{NO-BREAK SPACE}=x", "＝x", "＋x", "－x", "＠x"]
TEXTS = ["call-1", "1+1", "'quoted", "-2.5", "+4", "-1,5", "-3 %", "-1e-5", "", "'-5"]


def test_formulas_get_a_mark_and_numbers_and_other_texts_none() -> None:
    assert [marked(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [marked(cell) for cell in (*TEXTS, -2.5, None)] == [*TEXTS, -2.5, None]


@given(st.text() | st.text("'=+-@\t\r\n 15.x＝", max_size=6))
def test_every_text_is_read_as_it_was(text: str) -> None:
    assert unmarked(str(marked(text))) == text


def test_our_readers_take_the_marks_off(tmp_path: Path) -> None:
    texts = [text.strip() for text in [*FORMULAS, *TEXTS, "'=x"] if text.strip()]
    path = tmp_path / "table.csv"
    path.write_text(csv_text(["file", "=column"], [(text, text) for text in texts]), encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith("file,'=column\n'=1+1,'=1+1\n")
    assert [row["=column"] for row in read_table(path, Oddities()).rows] == texts
    assert [row["=column"] for _, row in rated_rows(path, ["file"])] == texts


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_of_a_page_finds_the_same_formulas() -> None:
    script = 'const [f, texts] = JSON.parse(process.argv[1]); const r = new RegExp(`^(?:${f})`, "u");'
    script += "console.log(JSON.stringify(texts.map((text) => r.test(text))))"
    command = ["node", "-e", script, json.dumps([FORMULA, [*FORMULAS, *TEXTS]])]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found == [True] * len(FORMULAS) + [False] * len(TEXTS)
