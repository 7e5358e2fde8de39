"""Reads files of recorded scenarios. Each fault is one line: the file, the record, the field, expected and found."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from fdbcore.runtime.shape import misfits
from fdbcore.suites.fdb_v3.released import SCHEMA
from fdbcore.suites.fdb_v3.scenario_types import RecordedScenarioEntry, RecordedScenarioFile
from fdbcore.types import Problem

SCHEMA_FIELD: Final = b'"schema"'


def holds_scenarios(path: Path) -> bool:
    """Whether this is "smoke", a file of recorded scenarios, if perhaps a faulty one, or a folder with recordings."""
    if str(path) == "smoke":
        return True
    if path.is_dir():
        return any(path.rglob("input.*"))
    try:
        return path.suffix == ".json" and SCHEMA_FIELD in path.read_bytes()
    except OSError:
        return False


def look_at(path: Path) -> tuple[RecordedScenarioFile | None, list[Problem]]:
    """The file and its faults; None in its place if it is no such file, or if its form is wrong.

    Recordings and results must be where the file says.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return None, [Problem(str(path), f"expected recorded scenarios as JSON, got: {error}")]
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        got = content.get("schema", "none") if isinstance(content, dict) else type(content).__name__
        return None, [Problem(str(path), f'expected "schema": "{SCHEMA}", got {got!r}')]
    if faults := list(misfits(content, RecordedScenarioFile, str(path))):
        return None, faults
    found = cast("RecordedScenarioFile", content)
    return found, list(_faults(found, path))


def _faults(file: RecordedScenarioFile, path: Path) -> Iterator[Problem]:
    for name, count in Counter(record["id"] for record in file["record"]).items():
        if count > 1:
            yield Problem(f"{path}: {name}: id", f"expected an id of its own, got that of {count} records")
    for record in file["record"]:
        results: list[Any] = [*record.get("results", ())]
        paths = [record["audio"]["path"], *(each[name] for each in results for name in each if name != "provider")]
        for place in paths:
            if not (path.parent / place).is_file():
                yield Problem(f"{path}: {record['id']}", f"expected a file at {place}, found none")
        yield from _misplaced(record, f"{path}: {record['id']}")


def _misplaced(record: RecordedScenarioEntry, where: str) -> Iterator[Problem]:
    """Words and disfluencies that do not lie before the user's end, and spans of a disfluency that is no tag."""
    end = record.get("user_end_tick", math.inf)
    places: list[Any] = [*record.get("words", ()), *record.get("spans", ())]
    for each in places:
        name, start_tick, end_tick = each.get("text", each.get("kind")), each["start_tick"], each["end_tick"]
        if not 0 <= start_tick < end_tick <= end:
            form = f"0 <= start_tick < end_tick <= {end}, the user's end"
            yield Problem(where, f"{name}: expected {form}, got {start_tick} and {end_tick}")
    for kind in sorted({each["kind"] for each in record.get("spans", ())} - set(record.get("disfluencies", ()))):
        yield Problem(where, f"spans: expected disfluencies that are among its tags, got {kind}")
