"""The types of how a conversation was held, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count, RecordingStatus, Tick, Tools
from fdbcore.recording.recorded_types import Parties
from fdbcore.recording.run_types import Outcome
from fdbcore.types import Side
from fdbcore.types.timing_types import TimingCertificate


class ReplayOf(TypedDict):
    """The recording that was replayed, and whether that gave the same turn events and activity, bit for bit."""

    path: str
    same: Annotated[bool | None, Meta(description="null where it was cut off")]
    differences: list[str]


class Deliveries(TypedDict):
    """Of a side's audio: how many deliveries, the median length of one, and how far apart they came."""

    n: int
    length_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float


class ArrivalsOfSides(TypedDict):
    """How the audio of each side came."""

    A: Deliveries | None
    B: Deliveries | None


class HeldToolCall(TypedDict):
    """A call of a tool, as far as it came."""

    id: Annotated[str, Meta(description="the party's own")]
    name: Annotated[str, Meta(description="of the tool")]
    side: Annotated[Side, Meta(description="who called")]
    status: Annotated[
        Literal["ok", "unknown", "malformed", "error", "timeout", "ended", "cancelled", "incomplete"],
        Meta(description="ended: the conversation did, before the result was due; incomplete: without all arguments"),
    ]
    begun_tick: Tick
    complete_tick: Annotated[Tick | None, Meta(description="when its arguments were complete")]
    end_tick: Annotated[Tick | None, Meta(description="of the result, or of its cancellation")]
    latency_ms: Annotated[Count | None, Meta(description="for which the result was to be held back")]
    arguments: Annotated[Any, Meta(description="a text that holds no JSON stays as it is; null while incomplete")]
    result: NotRequired[Annotated[Any, Meta(description="what the tool gave")]]
    error: NotRequired[Annotated[str, Meta(description="why it gave nothing")]]


class HeldTools(TypedDict):
    """The tools that a system could call, and its calls."""

    described: Tools
    calls: list[HeldToolCall]


class Held(TypedDict):
    """How the conversation was held."""

    created: str | None
    status: RecordingStatus
    reason: str | None
    outcome: Outcome | None
    parties: Parties | None
    timing: Annotated[TimingCertificate | None, Meta(description="its timing certificate")]
    replay_of: ReplayOf | None
    missed: Annotated[
        list[tuple[Count, Count]],
        Meta(description="spans of ticks that were silent on both sides because they came too late"),
    ]
    arrivals: ArrivalsOfSides
    tools: NotRequired[Annotated[HeldTools, Meta(description="missing if the system had none")]]
