"""TOML that users write: every file of ours says in a line that it is nested too deep."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fdbcore.analysis.gate_file import read_gates
from fdbcore.cli.main import main
from fdbcore.errors import InputError
from fdbcore.runtime.toml_values import toml_values

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
