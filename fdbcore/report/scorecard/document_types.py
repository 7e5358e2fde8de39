"""The types of a scorecard as JSON, `fdbcore.scorecard/1`.

They need msgspec, and are for type checkers and for the schema: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count

Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Low: TypeAlias = Annotated[float | None, Meta(description="lower limit of the interval at `level`")]
High: TypeAlias = Annotated[float | None, Meta(description="upper limit of the interval at `level`")]


class Measure(TypedDict):
    """A measure of the suite."""

    id: str
    label: str
    part: Annotated[str, Meta(description="the title over measures that belong together")]
    unit: str
    direction: Annotated[Literal[-1, 0, 1], Meta(description="1: more is better, -1: less is, 0: neither")]
    main: bool
    adds_to: Annotated[str | None, Meta(description="the id of the measure that this one and its like sum to")]


class Row(TypedDict):
    """One measure of one system under one condition."""

    condition: str
    group: Annotated[str, Meta(description='"system", or what systems are seen beside: "ceiling", "baseline", ...')]
    system: str
    subset: Annotated[str | None, Meta(description="which of the cases these are; null: all of the condition")]
    measure: str
    n: Annotated[Count | None, Meta(description="how many cases or items it is over; null where that is not stated")]
    value: float | None
    sd: Annotated[float | None, Meta(description="standard deviation of single cases")]
    low: Low
    high: High
    note: Annotated[str, Meta(description="what is not in the figures, or counts as nothing")]


class Difference(TypedDict):
    """By how much system a exceeds system b in a measure, over the cases that both have."""

    condition: str
    measure: str
    a: str
    b: str
    n: Count
    difference: float | None
    low: Low
    high: High
    p: Share | None
    p_corrected: Annotated[Share | None, Meta(description="for all differences of the scorecard; null: not tested")]
    smallest_detectable: Annotated[
        float | None, Meta(description="the least true difference that so many cases are likely to show")
    ]
    better: Annotated[str | None, Meta(description="which system is better; null where it cannot be told")]


class Telling(TypedDict):
    """A case to look at first."""

    what: Annotated[str, Meta(description='"most" or "least" of the measure, for example')]
    measure: str
    value: float
    condition: str
    system: str
    id: str
    text: str


class Problem(TypedDict):
    """What was left out, and why."""

    where: str
    reason: str


class ScorecardDocument(TypedDict):
    """What the systems of a benchmark scored. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.scorecard/1"]
    suite: str
    fdbcore: Annotated[str, Meta(description="the version that wrote it")]
    title: str
    measures: list[Measure]
    conditions: Annotated[dict[str, str], Meta(description="a heading for each")]
    rows: Annotated[list[Row], Meta(description="those of subsets last")]
    differences: list[Difference]
    telling: list[Telling]
    statements: Annotated[list[str], Meta(description="what it comes to, in sentences")]
    warnings: Annotated[list[str], Meta(description="what must be known before any number")]
    problems: list[Problem]
    notes: Annotated[list[str], Meta(description="what rows and measures mean, and how they were computed")]
    level: Annotated[Share, Meta(description="of the intervals; below 1 - level a corrected p tells systems apart")]
