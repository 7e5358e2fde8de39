"""The types of what the lines of a call do to its edges and latencies, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count

LineStatus: TypeAlias = Literal["like", "unlike", "not measured", "not known"]


class MeasuredLine(TypedDict):
    """A line that was measured, and what it does to the edges that a detector finds. Errors are found less true."""

    name: str
    what: str
    place: Annotated[dict[str, float | None], Meta(description="where its sides lie, by figure")]
    units: Annotated[Count, Meta(description="stretches of speech that were said on it")]
    unit_f1: Annotated[float, Meta(description="of stretches of speech")]
    edges_within_ms: Annotated[float | None, Meta(description="nine of ten starts and ends lie within it")]
    start_ms: Annotated[float | None, Meta(description="median of starts of speech")]
    end_ms: Annotated[float | None, Meta(description="median of ends of speech")]
    turn_start_ms: Annotated[float | None, Meta(description="of starts at which a side takes the floor")]
    turn_end_ms: Annotated[float | None, Meta(description="of ends at which it gives the floor")]
    premature_points: Annotated[
        float | None,
        Meta(description="premature answers above the truth, in points; null where there are a few at most"),
    ]


class PlacedLine(TypedDict):
    """The line of a side among those that were measured."""

    status: Annotated[
        LineStatus,
        Meta(
            description="unlike: far from all measured lines; not measured: by this detector; not known: too little of "
            "the side was heard to tell"
        ),
    ]
    like: Annotated[MeasuredLine | None, Meta(description="the line that it is most like; null if unlike all")]
    distance: Annotated[
        float | None, Meta(description="from the nearest line, in units of how far sides of one line lie from it")
    ]
    answers_ms: Annotated[
        float | None,
        Meta(description="the error of the side's answer times: of its own starts, less that of the other side's ends"),
    ]
    text: Annotated[str, Meta(description="the same in a sentence")]


class PlacedLines(TypedDict):
    """The lines of both sides; null for a side without speech."""

    A: PlacedLine | None
    B: PlacedLine | None
