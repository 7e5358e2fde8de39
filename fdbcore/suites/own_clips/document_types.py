"""The types of a scores document of the suite. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from fdbcore.analysis.comparison_types import GroupDifference
from fdbcore.analysis.summary_types import Measures


class ClipsSettings(TypedDict):
    """What made the figures."""

    fdbcore: str
    level: Annotated[float, Meta(description="of the intervals")]


class ClipsGroup(TypedDict):
    """The calls of one system over one line: all, or those with a value in a column."""

    line: str
    system: str
    column: Annotated[str, Meta(description="of the table of labels; empty for all calls")]
    value: str
    calls: int
    measures: Measures


class ClipsComparison(TypedDict):
    """Two systems over one line."""

    line: str
    differences: list[GroupDifference]


class ClipsItem(TypedDict):
    """A call."""

    line: str
    system: str
    clip: str
    trial: str
    columns: dict[str, str]
    values: Annotated[dict[str, float], Meta(description="its measures, by id")]
    call: Annotated[str, Meta(description="the folder of its recording")]


class ClipsProblem(TypedDict):
    """A call that is in no figure, or something that is missing of one that is."""

    where: str
    reason: str


class ClipsDocument(TypedDict):
    """Scores of systems on recorded users of one's own. Fields may be added under the same version; a field is never
    given another meaning."""

    schema: Literal["fdbcore.clips/1"]
    settings: ClipsSettings
    groups: list[ClipsGroup]
    comparisons: list[ClipsComparison]
    items: list[ClipsItem]
    problems: Annotated[list[ClipsProblem], Meta(description="the calls that are in no figure")]
    gaps: Annotated[list[ClipsProblem], Meta(description="what is missing of the others, such as the end of a clip")]
    warnings: list[str]
