"""The file in which a model's replies are stored."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fdbcore.errors import RecordingError
from fdbcore.models.cache import KeptModel

MODEL: Any = SimpleNamespace(name="m")
LINE = '{"key": "1", "refusal": "no"}\n'


@pytest.mark.parametrize("torn", ["", "{", '{"key": "2", "te'])
def test_a_line_that_a_kill_cut_is_removed(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(LINE + torn)
    with KeptModel(MODEL, path):
        pass
    assert path.read_text() == LINE


@pytest.mark.parametrize("text", ["my own notes", f"{LINE}my own", f"my own\n{LINE}", "[1]\n", f'{LINE}{{"k": 1}}'])
def test_a_file_of_somebody_else_is_named_and_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(text)
    expected = f"{path}.*: expected (a stored reply|stored replies), got"
    with pytest.raises(RecordingError, match=expected), KeptModel(MODEL, path):
        pass
    assert path.read_text() == text
