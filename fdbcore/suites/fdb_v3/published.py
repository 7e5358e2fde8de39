"""The tables of the paper, to show beside one's own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from fdbcore.suites.fdb_v3.terms import PUBLISHED, compat_id
from fdbcore.types.scorecard import Figure, ScoreRow

CONDITION: Final = "published"


class PublishedSystem(Struct, frozen=True):
    """A system over all recordings, and its Pass@1 by slice."""

    system: str
    measures: Annotated[dict[str, float], Meta(description="shares, and mean latencies in s, by names of measures")]
    passed: Annotated[dict[str, float], Meta(description="Pass@1 of each slice")]


class StudyRow(Struct, frozen=True):
    """A system on the recording of a case study. null: the table has none."""

    system: str
    measures: dict[str, float | None]


class CaseStudy(Struct, frozen=True):
    """One recording, and what all systems did with it."""

    record: str
    about: str
    rows: list[StudyRow]

    @property
    def title(self) -> str:
        """What it is about."""
        return f"{self.record}, {self.about}"

    def table(self) -> list[list[str]]:
        """Its cells; the first row is the head."""
        names = list(self.rows[0].measures)
        rows = [[row.system, *(_cell(name, row.measures[name]) for name in names)] for row in self.rows]
        return [["", *(PUBLISHED[name].label for name in names)], *rows]


class V3Published(Struct, frozen=True):
    """The tables of the paper. They have no intervals."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    source: str
    conditions: str
    notes: list[str]
    slices: Annotated[dict[str, int], Meta(description="recordings of each slice, which the rates fit")]
    systems: list[PublishedSystem]
    case_studies: list[CaseStudy]


def published() -> V3Published:
    """The tables that ship with fdbcore."""
    data = (files("fdbcore.suites.fdb_v3") / "data" / "published.json").read_bytes()
    return msgspec.json.decode(data, type=V3Published)


def published_rows(found: V3Published) -> Iterator[ScoreRow]:
    """A row of a scorecard for each system: over all recordings, then over each slice."""
    n = sum(found.slices[name] for name in ("easy", "medium", "hard"))
    for each in found.systems:
        figures = {compat_id(name): Figure(value) for name, value in each.measures.items()}
        yield ScoreRow(CONDITION, "published", each.system, n, figures)
    for each in found.systems:
        for name, rate in each.passed.items():
            passed = {PUBLISHED["passed"].id: Figure(rate)}
            yield ScoreRow(CONDITION, "published", each.system, found.slices[name], passed, subset=name)


def _cell(name: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} {PUBLISHED[name].unit}".strip()
