"""JSON and TOML of others: read if they can be written again, looked up by references, and never nested without end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.analysis.gate_file import read_gates
from fdbcore.cli.main import main
from fdbcore.errors import InputError
from fdbcore.runtime.json_values import MOST_DEPTH, json_or_text, json_value, resolved
from fdbcore.runtime.toml_values import toml_values

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)  # fmt: skip


@given(VALUES)
def test_what_was_written_is_read(value: Any) -> None:
    assert json_value(json.dumps(value)) == json_or_text(json.dumps(value)) == value
    assert json_value(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[-Infinity]", "1e999", '"\\ud800"', '{"\\ud800": 1}', "9" * 5000, "9" * 400,
     f"[{'9' * 309}]", "[" * 100_000,
     "[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1)],
)  # fmt: skip
def test_what_could_not_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_value(text)
    assert json_or_text(text) == text


RESULTS: list[Any] = [{"flights": [{"id": "FL1", "stops": [1, 2]}], "x-y": 0}, [None, "text"], "abc"]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("$RESULT_0.flights[0].id", "FL1"),
        ("$RESULT_0.flights[0].stops[1]", 2),
        ("$RESULT_0.flights", [{"id": "FL1", "stops": [1, 2]}]),
        ("$RESULT_0.x-y", 0),
        ("$RESULT_1[0]", None),
        ("$RESULT_1", [None, "text"]),
    ],
)
def test_a_reference_becomes_what_it_refers_to(reference: str, found: Any) -> None:
    assert resolved(reference, RESULTS) == found
    assert resolved({"a": [reference, 1], "b": {"c": reference}}, RESULTS) == {"a": [found, 1], "b": {"c": found}}


@pytest.mark.parametrize(
    "text",
    ["$RESULT_0.flights[1].id", "$RESULT_0.hotels", "$RESULT_9", "$RESULT_1.name", "$RESULT_2.a", "$RESULT_0[0]",
     "$RESULT_0.flights[0].id and more", "$RESULT_", "$RESULT_0.", "$5", "", "RESULT_0"],
)  # fmt: skip
def test_a_text_that_refers_to_nothing_stays(text: str) -> None:
    assert resolved(text, RESULTS) == text


DEEP = "x = " + 3000 * "[" + 3000 * "]"


@pytest.mark.parametrize(
    "command",
    [
        "scenarios validate deep.toml",
        "run --a scripted:deep.toml --system exec:cat",
        "run --a scripted:caller --system cascaded:deep.toml",
    ],
)
def test_nesting_without_end_is_a_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.toml").write_text(DEEP)
    result = CliRunner().invoke(main, command.split(), catch_exceptions=False)
    assert result.exit_code
    assert "it is nested deeper than 32" in " ".join(result.output.split())


def test_gates_nested_without_end_are_a_line(tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_text(DEEP)
    with pytest.raises(InputError, match="expected TOML: it is nested deeper than 32"):
        read_gates(path)


def test_a_key_of_many_parts_is_refused_before_it_takes_all_memory() -> None:
    with pytest.raises(ValueError, match="more than 1,000 points"):
        toml_values(".".join("a" * 30_000) + " = 1")
