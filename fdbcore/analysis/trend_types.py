"""The types of the document of a trend over runs, `fdbcore.trend/1`.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from fdbcore.analysis.comparison_types import ComparedCalls, DescribedRun
from fdbcore.analysis.statement_types import StatedGroup


class Trend(TypedDict):
    """Several runs of a system, one after the other. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.trend/1"]
    cluster: Annotated[str | None, Meta(description="the column whose values intervals resample; null: the calls")]
    notes: Annotated[list[str], Meta(description="what must be known before any figure")]
    runs: Annotated[list[DescribedRun], Meta(description="in the order of the trend, the latest last")]
    points: Annotated[list[StatedGroup], Meta(description="the headline measures of each run")]
    latest: Annotated[ComparedCalls, Meta(description="the latest run less the one before")]
