"""Agreement of raters on the disfluencies of recordings: Krippendorff's alpha of each class, with intervals.

A table of tags is a CSV with a header, a row a recording and rater:

- `recording`: its id; `rater`: who tagged it, the file's name if the column is missing.
- `disfluencies`: the classes that it has, with spaces between; empty for none.

A file of recorded scenarios stands for its labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import numpy as np
from msgspec import Meta, Struct

from fdbcore.errors import SettingsError
from fdbcore.report import ColumnGroup, agreement_screen, counted, estimates, number_text, table, wrapped
from fdbcore.results import ProblemEntry, Rater, compared_all, problem_entries
from fdbcore.runtime import read_whole
from fdbcore.sources import columns_of, rated_rows
from fdbcore.suites.fdb_v3.scenarios import SCHEMA as SCENARIOS
from fdbcore.suites.fdb_v3.scenarios import Disfluency, look_at
from fdbcore.suites.fdb_v3.verdict_agreement import first_of
from fdbcore.types import Problem

LEGEND: Final = (
    "n: recordings that two raters or more tagged. tagged: by how many of them each rater has that class. identical: "
    "share on which all say the same. alpha: Krippendorff's, nominal; none where all say the same throughout. "
    "Brackets: 95 %, over recordings."
)
RECORDING, RATER, TAGS = "recording", "rater", "disfluencies"
CLASSES: Final[Sequence[Disfluency]] = get_args(Disfluency)


class TagRater(Struct, frozen=True):
    """A rater who tagged recordings."""

    name: str
    recordings: int


class TagAgreement(Struct, frozen=True):
    """Agreement of raters on whether recordings have a disfluency of one class."""

    kind: Disfluency
    n: Annotated[int, Meta(description="recordings that two raters or more tagged")]
    tagged: Annotated[list[int], Meta(description="of these by each rater with this class, in the order of raters")]
    identical: Annotated[float | None, Meta(description="share on which all of its raters say the same")]
    alpha: Annotated[float | None, Meta(description="Krippendorff's, nominal; null if all say the same throughout")]
    ci95: Annotated[tuple[float, float] | None, Meta(description="of alpha, over recordings; null where there is none")]
    reason: Annotated[str, Meta(description="why alpha, or its interval, is null")]


class DisfluencyAgreement(Struct, frozen=True):
    """The result of `fdbcore agree` on tags."""

    schema: Literal["fdbcore.disfluency_agreement/1"]
    raters: list[TagRater]
    classes: list[TagAgreement]
    problems: list[ProblemEntry]


def holds_tags(path: Path) -> bool:
    """True if it is a table of tags, by its header, or a file of recorded scenarios."""
    if path.suffix.lower() != ".json":
        return {RECORDING, TAGS} <= {*columns_of(path)}
    try:
        return SCENARIOS.encode() in read_whole(path)[:1000]
    except OSError:
        return False


def tag_agreement(paths: Sequence[Path]) -> DisfluencyAgreement:
    """The agreement of all raters in these files. SettingsError for a file that cannot be used, or too few raters."""
    raters: dict[str, Rater] = {}
    problems: list[Problem] = []
    for path in paths:
        for name, recording, tags, where in _labels(path) if path.suffix.lower() == ".json" else _rows(path, problems):
            rater = raters.setdefault(name, Rater(name, "person"))
            rater.take((recording,), {(kind,): float(kind in tags) for kind in CLASSES}, where, f"row for {recording}")
    if len(raters) < 2:
        given = ", ".join(raters) or "nobody"
        raise SettingsError(f"expected tags by two raters or more, got those of {given}{first_of(problems)}")
    classes = [_agreement(kind, list(raters.values())) for kind in CLASSES]
    if not classes[0].n:
        raise SettingsError(f"expected recordings that two raters tagged, got none{first_of(problems)}")
    return DisfluencyAgreement(
        "fdbcore.disfluency_agreement/1",
        [TagRater(each.name, len(each.marks)) for each in raters.values()],
        classes,
        problem_entries(problems),
    )


def _agreement(kind: Disfluency, raters: Sequence[Rater]) -> TagAgreement:
    """Of one class, between all raters."""
    found = compared_all("people", raters, (kind,))
    identical, alpha = found.figure("identical"), found.figure("alpha")
    tagged = [int(count) for count in np.nansum(found.ratings, axis=0)]
    return TagAgreement(kind, len(found.items), tagged, identical.value, alpha.value, alpha.ci95, alpha.reason)


def _labels(path: Path) -> Iterator[tuple[str, str, frozenset[str], str]]:
    """The labels of a file of recorded scenarios: as `_rows`."""
    file, faults = look_at(path)
    if file is None:
        raise SettingsError("; ".join(f"{fault.where}: {fault.reason}" for fault in faults))
    for record in file.record:
        yield path.stem, record.id, frozenset(record.disfluencies), str(path)


def _rows(path: Path, problems: list[Problem]) -> Iterator[tuple[str, str, frozenset[str], str]]:
    """Of each row of a table that can be used the rater, the recording, its classes, and its place."""
    for where, row in rated_rows(path, (RECORDING, TAGS)):
        recording, rater = row[RECORDING], row.get(RATER, path.stem)
        tags = frozenset(row.get(TAGS, "").upper().replace("-", "_").split())
        if not (recording and rater):
            column = RATER if recording else RECORDING
            problems.append(Problem(where, f"{column}: left out: expected a name, got none"))
        elif unknown := sorted(tags - {*CLASSES}):
            reason = f"{TAGS}: left out: expected of {', '.join(CLASSES)}, got {', '.join(unknown)}"
            problems.append(Problem(where, reason))
        else:
            yield rater, recording, tags, where


def tags_screen(content: Mapping[str, Any], width: int) -> str:
    """The agreement in at most `width` columns (60 or more), without a newline at the end."""
    raters, classes = content["raters"], content["classes"]
    counts = [[str(count) for count in each["tagged"]] for each in classes]
    groups = [
        ColumnGroup("", ["n"], [5], [[f"{each['n']:,}"] for each in classes]),
        ColumnGroup("tagged by", [str(n) for n in range(1, len(raters) + 1)], [4] * len(raters), counts),
        ColumnGroup("identical", [""], [9], [[number_text(each["identical"])] for each in classes]),
        estimates("alpha", [{"value": each["alpha"], "ci95": each["ci95"]} for each in classes]),
    ]
    names = [each["kind"].lower().replace("_", " ") for each in classes]
    told = [f"{each['name']}: {counted(each['recordings'], 'recording')}" for each in raters]
    return agreement_screen(content, told, [table(names, groups, width), wrapped(LEGEND, width)], width)
