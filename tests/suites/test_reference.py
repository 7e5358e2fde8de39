"""The published figures of v1, v1.5 and v2 are those that the released scripts gave of made sets (`make reference`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI
from reference import held, sets
from reference.ours import values


@NEEDS_OPENAI
@pytest.mark.parametrize("name", held.SETS)
def test_figures_as_published_are_those_of_the_scripts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("parselmouth", reason="needs praat-parselmouth (pip install 'fdbcore[prosody]')")
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    given = held.kept()["sets"][name]
    folder = held.made(name, tmp_path / "set")
    assert sets.digest(folder) == given["digest"], "other samples than the scripts were run on: make reference"
    found: dict[tuple[str, str], held.Comparison] = {}
    held.compared(given["values"], values(folder, tmp_path / "out"), held.names_of(folder), found)
    assert {key: (each.differ, each.missing) for key, each in found.items() if each.differ or each.missing} == {}
    assert sum(each.n for each in found.values()) > 400
