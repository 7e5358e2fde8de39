"""The types of the lines of events.jsonl, with the fields that measures and reports rest on: other fields are free.

They need msgspec. A recording checks its lines by `form_of` as it reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.recording.files import REFUSAL, REPLY
from fdbcore.recording.form import MOST_TICKS
from fdbcore.recording.meta_types import Count
from fdbcore.types import Side, examiner_events, session_events, system_events, tools, usage

EventTick = Annotated[int, Meta(ge=0, le=MOST_TICKS)]
Milliseconds = Annotated[float, Meta(ge=-10 * MOST_TICKS, le=10 * MOST_TICKS)]


class AnyEvent(TypedDict):
    """What every line has."""

    tick: EventTick
    side: Side
    kind: str
    delay_samples: NotRequired[int]
    start_ms: NotRequired[Milliseconds | None]
    end_ms: NotRequired[Milliseconds | None]
    at_ms: NotRequired[Milliseconds]
    item: NotRequired[str | None]


class ArrivalsEvent(AnyEvent):
    """See `fdbcore.recording.reader.Arrivals`."""

    at_us: list[int]
    start_sample: list[int]
    samples: list[int]


class MutedEvent(AnyEvent):
    """See MUTED."""

    from_tick: EventTick
    to_tick: EventTick
    loud_ms: Milliseconds
    loudest_dbfs: float | None


class ItemEvent(AnyEvent):
    """See ITEM."""

    said_samples: Count


class InterruptedEvent(AnyEvent):
    """See INTERRUPTED."""

    said_ms: Milliseconds | None
    heard_ms: Milliseconds


class TranscriptEvent(AnyEvent):
    """See TRANSCRIPT."""

    of: Literal["partner", "self"]
    text: str


class NamedEvent(AnyEvent):
    """See SYSTEM_TURN and STAGE."""

    name: str


class ToolCallEvent(NamedEvent):
    """See `fdbcore.session.tools`."""

    id: str
    stage: Literal["begun", "complete", "cancelled"]
    arguments: NotRequired[Any]
    latency_ms: NotRequired[Milliseconds]


class ToolResultEvent(AnyEvent):
    """See `fdbcore.session.tools`."""

    id: str
    status: NotRequired[str]


class UsageEvent(AnyEvent):
    """See `fdbcore.types.usage.ModelUsage`."""

    vendor: str
    model: str


class LineEvent(AnyEvent):
    """A scripted party begins to say its line of this number, from 1, or ends."""

    line: Annotated[int, Meta(ge=1)]
    stopped: NotRequired[bool]


class SaysEvent(AnyEvent):
    """See SAYS."""

    what: str
    cue: str
    goal: NotRequired[int | None]
    reaction_ms: NotRequired[Milliseconds | None]


class SaidEvent(AnyEvent):
    """See SAID."""

    said_ms: Milliseconds
    of_ms: Milliseconds


class GoalEvent(AnyEvent):
    """See GOAL."""

    goal: int
    verdict: str


class CueEvent(AnyEvent):
    """See CUE_CONTRADICTED."""

    edge: str
    edge_tick: EventTick


class ReasonEvent(AnyEvent):
    """See ENDS and REFUSAL."""

    reason: str


class ReplyEvent(AnyEvent):
    """See REPLY."""

    text: str


FORMS: Final[dict[str, Any]] = {
    "arrivals": ArrivalsEvent,
    "line_start": LineEvent,
    "line_end": LineEvent,
    session_events.MUTED: MutedEvent,
    system_events.ITEM: ItemEvent,
    system_events.INTERRUPTED: InterruptedEvent,
    system_events.TRANSCRIPT: TranscriptEvent,
    system_events.SYSTEM_TURN: NamedEvent,
    system_events.STAGE: NamedEvent,
    tools.TOOL_CALL: ToolCallEvent,
    tools.TOOL_RESULT: ToolResultEvent,
    usage.USAGE: UsageEvent,
    examiner_events.SAYS: SaysEvent,
    examiner_events.SAID: SaidEvent,
    examiner_events.GOAL: GoalEvent,
    examiner_events.CUE_CONTRADICTED: CueEvent,
    examiner_events.ENDS: ReasonEvent,
    REFUSAL: ReasonEvent,
    REPLY: ReplyEvent,
}
"""The type of a line by its kind; those of all other kinds are of `AnyEvent`."""
