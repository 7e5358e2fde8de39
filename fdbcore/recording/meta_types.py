"""The plain types that the files of runs and recordings and all documents share.

They are for type checkers and the schemas, and the forms by which the files of a run are checked as they are read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Tick: TypeAlias = Annotated[int, Meta(ge=0, description="ticks of 10 ms from the start of the session")]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]
OfActivity: TypeAlias = Annotated[str, Meta(description="of derived/activity.npz of the call that it is of")]
Spans: TypeAlias = Annotated[list[tuple[Tick, Tick]], Meta(description="spans of ticks")]
RecordingStatus: TypeAlias = Literal["running", "complete", "interrupted", "failed"]


class Detectors(TypedDict):
    """The voice activity detector of each side: its name, version and settings."""

    A: dict[str, Any]
    B: dict[str, Any]


Tools: TypeAlias = Annotated[
    dict[str, Any],
    Meta(
        description="what answers the tool calls of side B, as it describes itself: its settings, and functions, what "
        "may be called; of a recording also seed, of the latencies, and perhaps state, what the calls have changed"
    ),
]


class Settings(TypedDict):
    """The settings that decided the events."""

    turns: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    vad: Annotated[Detectors, Meta(description="of each side's voice activity detector")]
    max_s: NotRequired[Annotated[float, Meta(description="of a live call: its longest length")]]
    clock: NotRequired[Annotated[str, Meta(description="of a live call: real or virtual")]]
    ends: NotRequired[
        Annotated[
            dict[str, float],
            Meta(description="of a live call with a recorded user: when it is over (quiet_s, most_s), in seconds"),
        ]
    ]
    line_open: NotRequired[Annotated[bool, Meta(description="a silent line was taken as open, and so measured")]]
    count_bad_input: NotRequired[Annotated[bool, Meta(description="a recording that went wrong is scored, too")]]
