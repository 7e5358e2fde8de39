"""The tables of the paper, to show beside one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fdbcore.report.scorecard.columns import cells_table
from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v3.terms import PUBLISHED
from fdbcore.types.scorecard import Figure, ScoreRow

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v3.document_types import V3Published, V3PublishedStudy

CONDITION: Final = "published"


def published() -> V3Published:
    """The tables that ship with fdbcore."""
    text = (files("fdbcore.suites.fdb_v3") / "data" / "published.json").read_text(encoding="utf-8")
    found: V3Published = json.loads(text)
    return found


def published_rows(found: V3Published) -> Iterator[ScoreRow]:
    """A row of a scorecard for each system: over all recordings, then over each slice."""
    n = sum(found["slices"][name] for name in ("easy", "medium", "hard"))
    for each in found["systems"]:
        figures = {f"compat_{name}": Figure(value) for name, value in each["measures"].items()}
        yield ScoreRow(CONDITION, "published", each["system"], n, figures)
    for each in found["systems"]:
        for name, rate in each["passed"].items():
            figures = {"compat_passed": Figure(rate)}
            yield ScoreRow(CONDITION, "published", each["system"], found["slices"][name], figures, subset=name)


def published_condition(found: V3Published) -> str:
    """The heading of these rows."""
    return f"{found['label']} ({found['conditions']})"


def published_details(found: V3Published, width: int) -> list[list[str]]:
    """The case studies, a block each, and what is odd about the tables; lines of at most `width` columns."""
    blocks = []
    for study in found["case_studies"]:
        title = f"{found['label']}: {study['record']}, {study['about']}"
        blocks.append([*filled(title, width).splitlines(), *cells_table(study_table(study), width)])
    return [*blocks, [line for note in found["notes"] for line in filled(note, width, "  ").splitlines()]]


def study_table(study: V3PublishedStudy) -> list[list[str]]:
    """A case study as the cells of a table; the first row is the head."""
    names = list(study["rows"][0]["measures"])
    rows = [[row["system"], *(_cell(name, row["measures"][name]) for name in names)] for row in study["rows"]]
    return [["", *(PUBLISHED[name].label for name in names)], *rows]


def _cell(name: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} {PUBLISHED[name].unit}".strip()
