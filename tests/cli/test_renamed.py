"""Options and columns by their names of the last release: they still work, and say how they are called now."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from helpers.commands import command

import fdbcore
from fdbcore.cli.lazy import RENAMED
from fdbcore.cli.replay import replay
from fdbcore.cli.report import report
from fdbcore.errors import SettingsError
from fdbcore.sources.names import Oddities
from fdbcore.sources.tables import read_table
from fdbcore.sources.word_source import word_source_of


def test_each_option_has_its_name_of_today() -> None:
    flags = {flag for known in (replay, report) for param in known.params for flag in param.opts}
    assert set(RENAMED.values()) <= flags
    assert not set(RENAMED) & flags


@pytest.mark.parametrize("given", ["--marks=nowhere.jsonl", "--marks nowhere.jsonl"])
def test_an_earlier_name_works_and_says_so(given: str, tmp_path: Path) -> None:
    told = command("replay", tmp_path / "none.wav", "--line-open", *given.split(), "--out", tmp_path / "run")
    assert told.stderr.splitlines()[:2] == [
        "fdbcore replay: --line-open is called --no-hang-up now",
        "fdbcore replay: --marks is called --agent-log now",
    ]
    assert "No such option" not in told.stderr


def test_columns_have_their_earlier_names_too(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("file,marks_file,Marks offset ms,agent_log_session\na.wav,a.jsonl,5,x\n")
    table = read_table(tmp_path / "calls.csv", noted := Oddities())
    assert table.rows[0] == {
        "file": "a.wav", "agent_log_file": "a.jsonl", "agent_log_offset_ms": "5", "agent_log_session": "x",
    }  # fmt: skip
    assert "'marks_file' as agent_log_file" in str(noted.found)


def test_arguments_of_the_library_have_their_earlier_names_too(tmp_path: Path) -> None:
    call = tmp_path / "call.wav"
    soundfile.write(call, np.zeros((48_000, 2), np.int16), 48_000)
    with (
        pytest.warns(FutureWarning, match="^marks_session is called agent_log_session now$"),
        pytest.raises(SettingsError, match=r"^--agent-log-session: expected --agent-log"),
    ):
        fdbcore.replay_all(call, out=tmp_path / "run", marks_session="x")  # type: ignore[call-arg]


def test_the_earlier_address_of_self_reported_words_works_and_says_so(tmp_path: Path) -> None:
    for given in (["--transcriber", "told"], ["--transcriber=told"]):
        told = command("transcribe", tmp_path, *given).stderr.splitlines()
        assert told[0] == "fdbcore transcribe: --transcriber told is called self-reported now"
        assert "expected one of" not in told[1], "the address is known"
    with pytest.warns(FutureWarning, match="^told is called self-reported now$"):
        assert word_source_of("told").name == "self-reported"
