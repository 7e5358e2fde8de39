"""What a user's files may be called, and what becomes of odd ones, through the commands: nothing joins by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_cli_replay import voices, write

from fdbcore.cli.main import main
from fdbcore.corpus import Corpus
from fdbcore.labels import Label, given_labels

DIALOGUE = "A 0.5-2 | B 2.4-3"


def fdbcore(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def replayed(*arguments: object) -> Result:
    return fdbcore("replay", "--vad", "energy", *arguments)


@pytest.fixture
def tuesday(tmp_path: Path) -> Path:
    """A folder of one day of calls."""
    (tmp_path / "m" / "tuesday").mkdir(parents=True)
    write(tmp_path / "m" / "tuesday" / "call.wav", voices(DIALOGUE))
    return tmp_path / "m"


def test_a_row_of_another_folder_neither_swaps_nor_names_a_call(tuesday: Path, tmp_path: Path) -> None:
    meta = tmp_path / "meta.csv"
    meta.write_text("file,agent_channel,version\nmonday/call.wav,left,v1\ntuesday/call.wav,right,v2\n")
    result = replayed(tuesday, "--meta", meta, "--out", tmp_path / "RUN")
    assert result.exit_code == 0
    (call,) = Corpus.of(tmp_path / "RUN").calls
    assert call.columns["version"] == "v2"
    assert call.recording.meta["source"]["swap"] is False
    assert "rows of meta.csv without a file: 1: monday/call.wav" in result.stderr


def test_labels_of_another_folder_are_not_of_a_call(tuesday: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    rows = ["monday/call,A,pause,1,2", "tuesday/call,A,pause,2,3"]
    labels.write_text("\n".join(["call,side,kind,start_s,end_s", *rows]))
    assert replayed(tuesday, "--labels", labels, "--out", tmp_path / "RUN").exit_code == 0
    given = given_labels(tmp_path / "RUN" / "call")
    assert given is not None
    assert given[1] == [Label("A", "pause", 2, 3)]


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("--meta", "file,agent_channel\ncall-01.wav,left\n", "expected rows of the calls that are named, such as"),
        ("--meta", "file,agent_channel\ncall.wav,left\ncall,right\n", "expected one row of the call call, got"),
        ("--labels", "call,side,kind,start_s,end_s\ncall-1,A,pause,1,2\n", "expected labels of the calls that are"),
    ],
)
def test_a_table_that_fits_nothing_or_twice_is_wrong_usage(
    option: str, text: str, expected: str, tuesday: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text(text)
    result = replayed(tuesday, option, tmp_path / "table.csv", "--out", tmp_path / "RUN")
    assert result.exit_code == 2
    assert expected in result.stderr
    assert not (tmp_path / "RUN").exists()
