"""How far raters agree on the disfluencies of recordings: Krippendorff's alpha of each class, with intervals.

A table of tags is a CSV with a header, a row a recording and rater:

- `recording`: its id; `rater`: who tagged it, the file's name if the column is missing.
- `disfluencies`: the classes that it has, with spaces between; empty for none.

A file of recorded scenarios stands for its labels.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np

from fdbcore.errors import SettingsError
from fdbcore.sources.names import DELIMITERS
from fdbcore.stats.bootstrap import bootstrap_times
from fdbcore.stats.raters import interval_alpha
from fdbcore.suites.fdb_v3.reading import look_at
from fdbcore.suites.fdb_v3.released import SCHEMA as SCENARIOS
from fdbcore.suites.fdb_v3.released_types import Disfluency
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.tagging_types import DisfluencyAgreement, TagAgreement

SCHEMA: Final = "fdbcore.disfluency_agreement/1"
RECORDING, RATER, TAGS = "recording", "rater", "disfluencies"
CLASSES: Final[Sequence[Disfluency]] = get_args(Disfluency)

Tags: TypeAlias = Mapping[str, frozenset[str]]
"""The classes of each recording."""


@dataclass(slots=True)
class TagTables:
    """What raters gave. tags: by rater and recording. problems: rows that were left out."""

    tags: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def holds_tags(path: Path) -> bool:
    """Whether it is a table of tags, by its header, or a file of recorded scenarios."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            start = file.read(1000)
    except (OSError, UnicodeDecodeError):
        return False
    if path.suffix.lower() == ".json":
        return SCENARIOS in start
    return path.suffix.lower() == ".csv" and {RECORDING, TAGS} <= {*_cells(start.partition("\n")[0])}


def tag_agreement(paths: Sequence[Path]) -> DisfluencyAgreement:
    """The agreement of all raters in these files. SettingsError for a file that cannot be used, or too few raters."""
    found = TagTables()
    for path in paths:
        _read_labels(path, found) if path.suffix.lower() == ".json" else _read_table(path, found)
    if len(found.tags) < 2:
        raise SettingsError(f"expected tags by two raters or more, got those of {', '.join(found.tags) or 'nobody'}")
    recordings = sorted(
        name for name in {*chain(*found.tags.values())} if sum(name in tags for tags in found.tags.values()) > 1
    )
    if not recordings:
        raise SettingsError("expected recordings that two raters tagged, got none")
    return {
        "schema": SCHEMA,
        "raters": [{"name": name, "recordings": len(tags)} for name, tags in found.tags.items()],
        "classes": [_agreement(kind, list(found.tags.values()), recordings) for kind in CLASSES],
        "problems": [{"where": where, "reason": reason} for where, reason in found.problems],
    }


def _agreement(kind: Disfluency, raters: Sequence[Tags], recordings: Sequence[str]) -> TagAgreement:
    """Of one class. Between 0 and 1 the metrics of nominal and of interval scales are the same."""
    given = [[float(kind in tags[name]) if name in tags else np.nan for tags in raters] for name in recordings]
    ratings = np.array(given)
    alpha = bootstrap_times(partial(interval_alpha, ratings), len(ratings))
    return {
        "kind": kind,
        "n": len(recordings),
        "tagged": [int(count) for count in np.nansum(ratings, axis=0)],
        "identical": float(np.mean(np.nanmin(ratings, axis=1) == np.nanmax(ratings, axis=1))),
        "alpha": alpha.value,
        "ci95": alpha.interval,
        "reason": alpha.reason,
    }


def _read_labels(path: Path, found: TagTables) -> None:
    """The labels of a file of recorded scenarios."""
    file, faults = look_at(path)
    if file is None:
        raise SettingsError("; ".join(f"{fault.where}: {fault.reason}" for fault in faults))
    for record in file["record"]:
        _add(path.stem, record["id"], frozenset(record.get("disfluencies", ())), str(path), found)


def _read_table(path: Path, found: TagTables) -> None:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: expected text in UTF-8, got: {error}") from error
    first = text.partition("\n")[0]
    header = _cells(first)
    if lacking := [name for name in (RECORDING, TAGS) if name not in header]:
        raise SettingsError(f"{path}: expected the columns {RECORDING} and {TAGS}, got no {' and no '.join(lacking)}")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(first))
    next(rows)
    for row in rows:
        if any(cell.strip() for cell in row):
            _take(dict(zip(header, map(str.strip, row), strict=False)), path, rows.line_num, found)


def _take(row: Mapping[str, str], path: Path, line: int, found: TagTables) -> None:
    """Add the tags of a row."""
    where, recording = f"{path}, line {line}", row[RECORDING]
    rater = row.get(RATER, "") if RATER in row else path.stem
    tags = frozenset(row.get(TAGS, "").upper().replace("-", "_").split())
    if not (recording and rater):
        found.problems.append(Problem(where, f"left out: expected a {RECORDING} and a {RATER}, got none"))
    elif unknown := sorted(tags - {*CLASSES}):
        reason = f"left out: expected of {', '.join(CLASSES)}, got {', '.join(unknown)}"
        found.problems.append(Problem(where, reason))
    else:
        _add(rater, recording, tags, where, found)


def _add(rater: str, recording: str, tags: frozenset[str], where: str, found: TagTables) -> None:
    known = found.tags.setdefault(rater, {}).setdefault(recording, tags)
    if known != tags:
        raise SettingsError(f"{where}: expected one row for {recording} by {rater}, got a second one that differs")


def _cells(line: str) -> list[str]:
    return [cell.strip().lower() for cell in next(csv.reader([line], delimiter=_delimiter(line)), [])]


def _delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)
