"""What holds of several suites: their schemas, a reader's way through a scoring, figures as released scripts gave."""

import re
from pathlib import Path

import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI
from jsonschema import Draft202012Validator
from reference import held, sets
from reference.ours import values

from benchmarks.walk import main
from fdbcore.report.schemas import as_text
from fdbcore.suites.schemas import DOCUMENTS, schema, schema_file


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_published_schema_is_what_the_types_give(name: str) -> None:
    assert schema_file(name).read_text(encoding="utf-8") == as_text(schema(name)), "make schema writes it anew"
    Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("followed", ["staged.scoring:score:runs", "fdb_v3.scoring:score:paths"])
def test_modules_of_a_scoring_are_rarely_entered_again(followed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(f"fdbcore.suites.{followed}")
    told = capsys.readouterr().out
    (climbs,) = re.findall(r"(\d+) climbs", told)
    assert int(climbs) <= 3
    assert max(map(int, re.findall(r"(\d+) times", told))) <= 3


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
