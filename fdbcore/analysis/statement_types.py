"""The types of what holds of a whole run, `fdbcore.statements/1`: the document of `fdbcore score RUN`, scores.json; and
of a trend over runs, `fdbcore.trend/1`.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.comparison_types import (
    BetterWhen,
    ComparedCalls,
    DescribedRun,
    LongerBetween,
    MeasuredDifference,
    Verdict,
    VerdictOfA,
)
from fdbcore.analysis.summary_types import Interval, Measures, Summary
from fdbcore.recording.meta_types import Count, Settings


class Evidence(TypedDict):
    """What the statements rest on, and which calls are in none of them."""

    schema: Literal["fdbcore.statements/1"]
    run: Annotated[str, Meta(description="the name of its folder")]
    by: Annotated[str | None, Meta(description="the column whose values are the groups")]
    unscored: Annotated[dict[str, str], Meta(description="calls that are in no figure: why")]
    unread: Annotated[dict[str, str], Meta(description="those of them that could not be read")]
    settings: Annotated[Settings, Meta(description="those of most calls")]
    settings_sha256s: Annotated[dict[str, Count], Meta(description="how many calls have each settings")]
    versions: Annotated[dict[str, list[str]], Meta(description="of each package, the most common first")]


class StatedGroup(TypedDict):
    """Calls and their measures."""

    name: Annotated[str, Meta(description="the value of the column; empty for all calls")]
    calls: Count
    clusters: Annotated[Count, Meta(description="how many units the intervals resample")]
    measures: Measures


class StatedUnit(TypedDict):
    """What intervals resample."""

    column: Annotated[str | None, Meta(description="its values; null: the calls")]
    own: Annotated[list[str], Meta(description="calls without a value there, each a unit of its own")]


class GroupDifference(MeasuredDifference):
    """A measure of group a less that of group b."""

    measure: str
    a: str
    b: str
    better: BetterWhen
    verdict: VerdictOfA
    paired_by: Annotated[str | None, Meta(description="a column; null where too few calls have their like")]


class SettingsVariant(TypedDict):
    """Settings under which the activity was read again."""

    name: str
    changes: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    detector: Annotated[str | None, Meta(description="another detector; null for the run's own")]


class FigureRange(TypedDict):
    """The figures of a measure under the settings; null where there are no items."""

    own: float | None
    low: float | None
    high: float | None
    low_at: Annotated[str | None, Meta(description="the name of the variant")]
    high_at: str | None
    figures: Annotated[list[float | None], Meta(description="of each variant")]


class VariedGroup(TypedDict):
    """A group under the settings."""

    name: str
    measures: dict[str, FigureRange]


class OrderFlip(TypedDict):
    """Two groups that stand the other way round under some settings."""

    measure: str
    a: str
    b: str
    at: Annotated[list[str], Meta(description="the names of the variants")]


class Sensitivity(TypedDict):
    """What the figures owe to the settings."""

    detectors: Annotated[list[str], Meta(min_length=1, description="its own, and the others")]
    variants: list[SettingsVariant]
    unheard: Annotated[dict[str, str], Meta(description="calls that another detector could not hear: why")]
    unread: dict[str, str]
    groups: list[VariedGroup]
    flips: list[OrderFlip]


class ReferenceDetectors(TypedDict):
    """The voice activity detectors of both."""

    run: str
    reference: str


class Bins(TypedDict):
    """The bins of the histograms of floor transfer offsets, in ms; the outer ones are open."""

    first: int
    last: int
    width: int


class HalfDistances(TypedDict):
    """How far two halves of the reference are apart: the median, and the 95th percentile."""

    jensen_shannon: list[float]
    wasserstein_ms: list[float]


class DistanceEstimate(TypedDict):
    """A distance with its interval."""

    value: float
    ci95: Interval


class FloorTransfers(TypedDict):
    """How far floor transfer offsets of a side are from those of the reference; null where there are too few calls."""

    n: Count
    reference_n: Count
    jensen_shannon: DistanceEstimate | None
    wasserstein_ms: DistanceEstimate | None


class FloorTransfersOfSides(TypedDict):
    """Of the turns of each side after the other's."""

    A: FloorTransfers
    B: FloorTransfers


class ReferenceRow(TypedDict):
    """How the time is filled with something, here and in the reference."""

    run: Summary
    reference: Summary
    difference: MeasuredDifference
    verdict: Annotated[Verdict, Meta(description="whether they are different; neither is better")]


class ReferencedGroup(TypedDict):
    """A group beside the reference."""

    rows: dict[str, ReferenceRow]
    floor_transfers: FloorTransfersOfSides
    name: str


class BesideReference(TypedDict):
    """A run beside a reference corpus."""

    path: str
    calls: Count
    detectors: ReferenceDetectors
    bins_ms: Bins
    floor: HalfDistances | None
    groups: list[ReferencedGroup]
    unread: dict[str, str]


class StatedGroups(StatedGroup):
    """All calls, their groups and how these differ; where asked for, under many settings and beside a reference."""

    unit: StatedUnit
    groups: list[StatedGroup]
    paired_by: Annotated[str | None, Meta(description="what all differences are paired by, if they are")]
    differences: Annotated[list[GroupDifference], Meta(description="of each pair of groups, measure by measure")]
    longer: Annotated[
        list[LongerBetween], Meta(description="pairs of groups of which one has longer moments; none of many groups")
    ]
    sensitivity: NotRequired[Sensitivity]
    reference: NotRequired[BesideReference]


class Statements(Evidence, StatedGroups):
    """What holds of a run: its measures, its groups, how these differ. Fields may be added under the same version; a
    field is never given another meaning."""

    input: Annotated[list[str], Meta(description="what must be known of the audio")]


class Trend(TypedDict):
    """Several runs of a system, one after the other. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.trend/1"]
    cluster: Annotated[str | None, Meta(description="the column whose values intervals resample; null: the calls")]
    notes: Annotated[list[str], Meta(description="what must be known before any figure")]
    runs: Annotated[list[DescribedRun], Meta(description="in the order of the trend, the latest last")]
    points: Annotated[list[StatedGroup], Meta(description="the headline measures of each run")]
    latest: Annotated[ComparedCalls, Meta(description="the latest run less the one before")]
