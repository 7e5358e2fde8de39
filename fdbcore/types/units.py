"""Quantities in documents: counts, and times in ticks and in seconds."""

from typing import Annotated, TypeAlias

from msgspec import Meta

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Tick: TypeAlias = Annotated[int, Meta(ge=0, description="ticks of 10 ms from the start of the session")]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
Spans: TypeAlias = Annotated[list[tuple[Tick, Tick]], Meta(description="spans of ticks")]
