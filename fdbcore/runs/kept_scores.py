"""Finds the document of scores that a benchmark has made."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from fdbcore.errors import FdbError
from fdbcore.recording.files import read_json
from fdbcore.runs.plan import scores_beside

SCORES: Final = "scores.json"


def read_kept_scores(path: Path, schema: str, *, any_version: bool = False) -> Mapping[str, Any] | None:
    """The scores of this schema, or of any version of it; None if there are none.

    path: their file, the folder that `fdbcore score` made, or a run that has its scores beside it.
    """
    for file in (path / SCORES, scores_beside(path) / SCORES) if path.is_dir() else (path,):
        if file.suffix != ".json" or not file.is_file():
            continue
        try:
            content = read_json(file)
        except FdbError:
            continue
        found = str(content.get("schema")) if isinstance(content, dict) else ""
        if found == schema or (any_version and found.partition("/")[0] == schema.partition("/")[0]):
            return cast("Mapping[str, Any]", content)
    return None
