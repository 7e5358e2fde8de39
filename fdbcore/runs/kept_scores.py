"""Finds the document of scores that a benchmark has made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import FdbError
from fdbcore.recording.files import read_json
from fdbcore.runs.plan import scores_beside

SCORES: Final = "scores.json"


def kept_scores(path: Path, schema: str) -> Mapping[str, Any] | None:
    """The scores of this schema; None if there are none.

    path: their file, the folder that `fdbcore score` made, or a run that has its scores beside it.
    """
    for file in (path / SCORES, scores_beside(path) / SCORES) if path.is_dir() else (path,):
        if file.suffix != ".json" or not file.is_file():
            continue
        try:
            content = read_json(file)
        except FdbError:
            continue
        if isinstance(content, dict) and content.get("schema") == schema:
            return content
    return None
