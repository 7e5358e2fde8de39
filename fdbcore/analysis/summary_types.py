"""The types of what is pooled over sessions, as JSON values: the summary of a measure, and the scores of a recording.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.measures.finding_types import Finding
from fdbcore.measures.measure import Unit
from fdbcore.recording.meta_types import Count, Settings

Interval: TypeAlias = tuple[float, float]


class Summary(TypedDict):
    """The summary of a measure; its id carries the unit and the denominator."""

    n: Annotated[Count, Meta(description="items; of a share its denominator; of a rate the events counted")]
    count: NotRequired[Annotated[Count, Meta(description="of a share: its numerator")]]
    median: float | None
    p90: float | None
    p95: NotRequired[float | None]
    p95_ci95: NotRequired[Interval | None]
    mean: Annotated[float | None, Meta(description="of a share or a rate: its value")]
    max: NotRequired[float | None]
    ci95: Annotated[Interval | None, Meta(description="of the median, or of a share or a rate itself")]
    unit: Unit
    excluded: Annotated[dict[str, Annotated[int, Meta(ge=1)]], Meta(description="items left out, by reason")]
    of: NotRequired[
        Annotated[
            tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]],
            Meta(description="of a difference of two shares: their denominators"),
        ]
    ]
    by_chance: NotRequired[
        Annotated[float | None, Meta(description="the share to expect if the sides did not hear each other")]
    ]
    clusters: NotRequired[Annotated[Count, Meta(description="that have the measure; the interval resamples them")]]
    clusters_with_either: NotRequired[
        Annotated[Count, Meta(description="of a share: that have the event, or lack it, whichever are fewer")]
    ]
    with_echo: NotRequired[Annotated[Summary, Meta(description="with the suspect events, where that differs")]]


Measures: TypeAlias = Annotated[dict[str, Summary], Meta(description="by id")]


class ResponseCurve(TypedDict):
    """The share of its opportunities that B has begun to answer after x ms: the latencies of at most x over all."""

    latency_ms: list[int]
    eligible: Count


class Curves(TypedDict):
    """Curves, for drawing."""

    response: ResponseCurve


class Scores(TypedDict):
    """The scores of a recording, as they are kept with it."""

    schema: Literal["fdbcore.scores/2"]
    settings: Settings
    measures: Measures
    curves: Curves
    findings: list[Finding]
    warnings: list[str]
    unscored: NotRequired[Annotated[str, Meta(description="why there are no measures")]]
