"""The types of what is found in a recording, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from fdbcore.measures.measure import MomentKind
from fdbcore.recording.meta_types import Seconds, Tick
from fdbcore.types import Side


class Finding(TypedDict):
    """What must be said of the call first, in plain words: who was silent, and since when."""

    id: str
    side: Side | None
    name: Annotated[str, Meta(description="what all calls with it have in common")]
    text: str
    start_tick: Tick
    end_tick: Tick
    start_s: float
    end_s: float


class Moment(TypedDict):
    """A span in which something took longer than it may."""

    kind: MomentKind
    side: Side
    start_tick: Tick
    end_tick: Tick
    start_s: Seconds
    end_s: Seconds
    severity: Annotated[float, Meta(gt=1, description="length as a multiple of what is ordinary for its kind")]
    text: str
