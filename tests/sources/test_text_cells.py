"""Text cells of tables: no spreadsheet takes one for a formula, and whoever reads them gets what was written."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.report.paper.tables import csv_text
from fdbcore.sources.names import Oddities
from fdbcore.sources.tables import rated_rows, read_table
from fdbcore.sources.text_cells import FORMULA, marked, unmarked

FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(1)", "\t5", "\n5", "  =x", "\N{NO-BREAK SPACE}=x", "＝x", "＋x", "－x", "＠x"]
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
TEXTS = ["call-1", "1+1", "'quoted", "-2.5", "+4", "-1,5", "-3 %", "-1e-5", "", "'-5"]


def test_formulas_get_a_mark_and_numbers_and_other_texts_none() -> None:
    assert [marked(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [marked(cell) for cell in (*TEXTS, -2.5, None)] == [*TEXTS, -2.5, None]


def acting(text: str) -> list[str]:
    """What of a text acts on how it is shown, by Unicode's own tables."""
    return [
        each
        for each in text.replace("\r\n", "\n")
        if (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") and each not in "\t\n")
        or unicodedata.bidirectional(each) in BIDI
        or each in "\u061c\u200e\u200f\u206a\u206b\u206c\u206d\u206e\u206f"
    ]


@given(st.text(st.characters(exclude_characters="\0")) | st.text("'=+-@\t\r\n 15.x＝\x1b\u202e\x85\\u0ce", max_size=9))
def test_every_text_is_read_as_it_was_and_written_so_that_nothing_in_it_acts(text: str) -> None:
    written = str(marked(text))
    assert not acting(written)
    assert unmarked(written) == text


def test_what_acts_on_how_a_text_is_shown_is_written_as_json_writes_it() -> None:
    text = "=a\x1b[2J\x9b\u202eb\rc\ttab\r\nline\u2066\x7f日本語"
    assert marked(text) == "'=a\\u001b[2J\\u009b\\u202eb\\u000dc\ttab\r\nline\\u2066\\u007f日本語"


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
