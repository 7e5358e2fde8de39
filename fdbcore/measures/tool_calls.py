"""The calls of tools in a recorded conversation, put together from its events."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.types import Side
from fdbcore.types.tools import TOOL_CALL, TOOL_RESULT
from fdbcore.types.units import Count, Tick


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


def tool_calls_in(events: Iterable[Mapping[str, Any]]) -> list[HeldToolCall]:
    """Each call with its result, in the order in which they began. events: the lines of events.jsonl."""
    found: list[HeldToolCall] = []
    for event in events:
        if event["kind"] not in (TOOL_CALL, TOOL_RESULT):
            continue
        stage, tick = event.get("stage"), event["tick"]
        if stage == "begun":
            begun: HeldToolCall = {
                "id": event["id"],
                "name": event["name"],
                "side": event["side"],
                "status": "incomplete",
                "begun_tick": tick,
                "complete_tick": None,
                "end_tick": None,
                "latency_ms": None,
                "arguments": None,
            }
            found.append(begun)
            continue
        # An id that was used twice: its calls and their results come in the same order.
        call = next((call for call in found if call["id"] == event["id"] and _goes_on(call, stage)), None)
        if call is None:
            continue
        if stage == "complete":
            call["name"], call["arguments"] = event["name"], event["arguments"]
            call["complete_tick"], call["latency_ms"] = tick, event.get("latency_ms")
        else:
            call["status"], call["end_tick"] = event.get("status", "cancelled"), tick
            call |= {name: event[name] for name in ("result", "error") if name in event}  # type: ignore[typeddict-item]
    return found


def _goes_on(call: HeldToolCall, stage: str | None) -> bool:
    """True if a call can have an event of this stage; None: a result."""
    if call["end_tick"] is not None:
        return False
    return (call["complete_tick"] is None) == (stage == "complete") or stage == "cancelled"
