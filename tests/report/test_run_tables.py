"""Both files of a table hold the same: texts of any kind, numbers that are there or not, more rows than one group."""

import csv
import io
from pathlib import Path

import pytest

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import CallRow
from fdbcore.report.run import tables

TEXTS = ["plain", "", "two\nlines", 'a "quote", a comma', "nan", "1", "\udcff is no UTF-8"]


def test_odd_texts_and_missing_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 3)
    rows = [
        CallRow(
            Call(f"call_{n}", tmp_path, columns={"said": text}),
            length_s=None if n % 2 else 0.1 * n,
            figures={} if n % 3 else {"answered_per_turn": (None if n else 1 / 3, n)},
        )
        for n, text in enumerate(TEXTS)
    ]
    tables.write_calls(tmp_path, rows)
    written = list(csv.DictReader(io.StringIO((tmp_path / "calls.csv").read_bytes().decode(), newline="")))
    stored = parquet.read_table(tmp_path / "calls.parquet")
    assert [row["said"] for row in written] == [*TEXTS[:-1], "\\udcff is no UTF-8"]
    assert [row["said"] or "" for row in stored.to_pylist()] == [row["said"] for row in written]
    assert {name: str(stored.schema.field(name).type) for name in ("said", "length_s", "answered_per_turn_n")} == {
        "said": "string",
        "length_s": "double",
        "answered_per_turn_n": "double",
    }
    for known, row in zip(stored.to_pylist(), written, strict=True):
        assert known == {k: float(row[k]) if isinstance(known[k], float) else row[k] or None for k in known}
    assert list(stored.column_names) == list(written[0])


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tables.write_calls(tmp_path, [])
    stored = parquet.read_table(tmp_path / "calls.parquet")
    assert (stored.num_rows, stored.column_names) == (
        0,
        ["name", "file", "status", "reason", "length_s", "findings", "health", "warnings"],
    )
