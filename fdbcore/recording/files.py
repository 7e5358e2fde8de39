"""What the files of a recording are called, and how its JSON is read and written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fdbcore.errors import RecordingError
from fdbcore.runtime.redaction import clean
from fdbcore.runtime.whole_files import whole_file

RECORDING_SCHEMA = "fdbcore.recording/1"
TURNS_SCHEMA = "fdbcore.turns/1"
META, EVENTS, AUDIO, REPORT = "meta.json", "events.jsonl", "session.wav", "report.html"
REPLY = "reply"
"""The kind of event by which a side answers in text; with its voice, if it has one."""
REFUSAL = "refusal"
"""The kind of event by which a side declines to answer, with its `reason`."""

ACTIVITY, TURNS, SCORES = "derived/activity.npz", "derived/turns.json", "derived/scores.json"
QUANTITIES, HEALTH = "derived/quantities.json", "derived/health.json"
MARKS, LABELS = "derived/marks.json", "derived/labels.json"


def write_text(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the whole new one; the folder is made if it is missing.

    The bytes of a file name that are no text are written as escapes, which JSON reads back as the same name.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` as `write_text` writes text. RecordingError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(data)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error


def write_json(path: Path, value: object, in_one_line: bool = False) -> None:
    """Write `value` as JSON without known secrets, as `write_text` does.

    in_one_line: for what nobody reads; it takes a tenth of the time.
    """
    indent = None if in_one_line else 1
    write_text(path, json.dumps(clean(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The JSON value in `path`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RecordingError(f"{path}: expected JSON, got something else ({error})") from error


def settings_hash(settings: Mapping[str, Any]) -> str:
    """SHA-256 of the settings, the same for the same values in any order."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
