"""The types of our measures in a scores document. They need msgspec, and are for type checkers and for the schema."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.suites.fdb_v3.terms import FailureClass

WiderInterval: TypeAlias = Annotated[
    tuple[float, float] | None, Meta(description="95 %, the wider of both kinds of clusters; null where there is none")
]
ClusterKind: TypeAlias = Annotated[
    Literal["speaker", "scenario"] | None, Meta(description="the clusters of the interval; null without one")
]


class OursFigure(TypedDict):
    """A measure over recordings, in its unit."""

    value: Annotated[float | None, Meta(description="a share or mean from 0 to 1, or a median in ms")]
    ci95: WiderInterval
    by: ClusterKind
    n: Annotated[int, Meta(description="calls that have it")]


class OursRow(TypedDict):
    """A system over all recordings, or over those of one slice."""

    system: str
    slice: Annotated[str, Meta(description="empty: all")]
    n: Annotated[int, Meta(description="calls: recordings times trials")]
    recordings: int
    failures: Annotated[dict[FailureClass, int], Meta(description="calls that do not pass, by the first class")]
    measures: dict[str, OursFigure]


class OursComparison(TypedDict):
    """System a less system b, over the recordings that both have. p_holm: corrected for all comparisons."""

    measure: str
    a: str
    b: str
    n: Annotated[int, Meta(description="recordings in which both have the measure")]
    difference: float | None
    ci95: WiderInterval
    by: ClusterKind
    p: float
    p_holm: float


class OursPasses(TypedDict):
    """How often a system passes at least once in k trials of a recording, and in all of k."""

    system: str
    k: int
    pass_at_k: OursFigure
    pass_all_k: OursFigure


class OursRanks(TypedDict):
    """How alike people and recordings rank systems by a measure, on the scenarios that both have."""

    condition: str
    measure: str
    systems: int
    scenarios: int
    rho: Annotated[float | None, Meta(description="Spearman's; null with fewer than three systems, or equal figures")]
