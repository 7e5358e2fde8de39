"""The types of how a conversation was held, and of what was heard in it, as JSON values.

They need msgspec, and are for type checkers and for the schemas: nothing at run time imports this module.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.recording.meta_types import Count, RecordingStatus, Tick, Tools
from fdbcore.recording.recorded_types import LineOfCall, Parties
from fdbcore.recording.run_types import Outcome
from fdbcore.recording.word_types import Doubts
from fdbcore.types import Side
from fdbcore.types.timing_types import TimingCertificate


class ReplayOf(TypedDict):
    """The recording that was replayed, and whether that gave the same turn events and activity, bit for bit."""

    path: str
    same: Annotated[bool | None, Meta(description="null where it was cut off")]
    differences: list[str]


class Steps(TypedDict):
    """How long after each step of its input a party that is clocked by it had answered with as much audio."""

    n: Annotated[Count, Meta(description="steps that were answered")]
    step_ms: int
    p50_ms: float
    p99_ms: float


class Deliveries(TypedDict):
    """Of a side's audio: how many deliveries, the median length of one, and how far apart they came."""

    n: int
    length_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    steps: NotRequired[Annotated[Steps, Meta(description="missing unless it is clocked by its input")]]


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


class HeldCut(TypedDict):
    """How much of a line was heard that was cut short."""

    heard_ms: Count
    said_ms: Annotated[Count | None, Meta(description="how much of it had come by then; null if that is not known")]


class HeldLine(TypedDict):
    """Words that one side said, as a party tells them."""

    side: Annotated[Side, Meta(description="who said them")]
    told_by: Annotated[Side, Meta(description="the side itself, or the other one, which heard them so")]
    text: str
    start_tick: Annotated[Tick, Meta(description="as the party states it, or else by what was heard")]
    end_tick: Annotated[Tick | None, Meta(description="null if it is not known")]
    cut: NotRequired[Annotated[HeldCut, Meta(description="missing unless it was cut short")]]


class HeardLine(Doubts):
    """Words of a side as a transcriber heard them, in one stretch of its speech."""

    side: Side
    by: Annotated[str, Meta(description="the address of the transcriber")]
    text: str
    start_tick: Tick
    end_tick: Tick


class HeldCost(TypedDict):
    """What live calls cost by the table of models."""

    usd: Annotated[float, Meta(description="of all that has a price, failed attempts included")]
    calls: Annotated[Count, Meta(description="that sent anything beyond one's own network")]
    unpriced: Annotated[Count, Meta(description="of them: that used something without a known price")]
    incomplete: Annotated[Count, Meta(description="of them: that were cut or failed before all was counted")]
    priced_on: Annotated[str | None, Meta(description="the day of the oldest price; null if there is none")]


class TurnDifferences(TypedDict):
    """Where the system puts starts or ends of its partner's speech, less where we find them (positive: later)."""

    n: Annotated[Count, Meta(description="that the system and we have found")]
    of: Annotated[Count, Meta(description="that we have found")]
    told: Annotated[Count, Meta(description="that the system has told")]
    median_ms: Annotated[float | None, Meta(description="null if it states no times")]
    p10_ms: float | None
    p90_ms: float | None
    told_after_ms: Annotated[float | None, Meta(description="the median time from ours until the system told")]


class HeldSystemTurns(TypedDict):
    """The system's own turns against ours."""

    starts: TurnDifferences
    ends: TurnDifferences


class HeldMuted(TypedDict):
    """A side that was muted, because its partner opens the session: what it said is lost, and no figure counts it."""

    side: Side
    from_tick: Tick
    to_tick: Tick
    loud_ms: Annotated[Count, Meta(description="for how long it was louder than -40 dBFS")]
    loudest_dbfs: Annotated[float | None, Meta(description="its peak; null for silence")]


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
    muted: NotRequired[Annotated[list[HeldMuted], Meta(description="missing if no side was")]]
    tools: NotRequired[Annotated[HeldTools, Meta(description="missing if the system had none")]]
    line: NotRequired[LineOfCall]
    transcript: NotRequired[
        Annotated[list[HeldLine], Meta(description="by their start; missing if no party told any words")]
    ]
    system_turns: NotRequired[Annotated[HeldSystemTurns, Meta(description="missing if the system told none")]]
    cost: NotRequired[Annotated[HeldCost, Meta(description="missing if nothing left one's own network")]]
    recipients: NotRequired[
        Annotated[list[str], Meta(description="what went to whom, a line each; missing if nothing did")]
    ]
