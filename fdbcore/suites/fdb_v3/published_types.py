"""The types of what was published. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta


class V3PublishedSystem(TypedDict):
    """A system over all recordings, and its Pass@1 by slice."""

    system: str
    measures: Annotated[dict[str, float], Meta(description="shares, and mean latencies in s, by names of `compat`")]
    passed: Annotated[dict[str, float], Meta(description="Pass@1 of each slice")]


class V3PublishedStudyRow(TypedDict):
    """A system on the recording of a case study. null: the table has none."""

    system: str
    measures: dict[str, float | None]


class V3PublishedStudy(TypedDict):
    """One recording, and what all systems did with it."""

    record: str
    about: str
    rows: list[V3PublishedStudyRow]


class V3Published(TypedDict):
    """The tables of the paper. They have no intervals."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    source: str
    conditions: str
    notes: list[str]
    slices: Annotated[dict[str, int], Meta(description="recordings of each slice, which the rates fit")]
    systems: list[V3PublishedSystem]
    case_studies: list[V3PublishedStudy]
