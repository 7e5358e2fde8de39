"""The lines of events.jsonl, with the fields that measures and reports rest on; other fields are free."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType, defstruct

from fdbcore.recording.files import REFUSAL, REPLY
from fdbcore.recording.form import MOST_TICKS
from fdbcore.types import Side, examiner_events, session_events, system_events, tools, usage
from fdbcore.types.units import Count

_Tick = Annotated[int, Meta(ge=0, le=MOST_TICKS)]
_Ms = Annotated[float, Meta(ge=-10 * MOST_TICKS, le=10 * MOST_TICKS)]
_Stage = Literal["begun", "complete", "cancelled"]


def _event(may_have: dict[str, Any] | None = None, **has: Any) -> Any:  # noqa: ANN401
    """The form of a line with these fields, beside those that every line has or may have."""
    every = {"tick": _Tick, "side": Side | None, "kind": str}  # a tick that was missed is of no side
    any_may_have = {
        "delay_samples": int,
        "start_ms": _Ms | None,
        "end_ms": _Ms | None,
        "at_ms": _Ms,
        "item": str | None,
    }
    optional = [(name, kind | UnsetType, UNSET) for name, kind in (any_may_have | (may_have or {})).items()]
    return defstruct("Event", [*(every | has).items(), *optional], kw_only=True)


ANY_EVENT: Final = _event()
FORMS: Final = {
    "arrivals": _event(
        {"heard_tick": list[int], "waited_samples": list[int]},
        at_us=list[int],
        start_sample=list[int],
        samples=list[int],
    ),
    "line_start": _event(line=Annotated[int, Meta(ge=1)]),
    "line_end": _event(line=Annotated[int, Meta(ge=1)], stopped=bool),
    session_events.MUTED: _event(from_tick=_Tick, to_tick=_Tick, loud_ms=_Ms, loudest_dbfs=float | None),
    system_events.ITEM: _event(said_samples=Count),
    system_events.INTERRUPTED: _event(said_ms=_Ms | None, heard_ms=_Ms),
    system_events.TRANSCRIPT: _event(of=Literal["partner", "self"], text=str),
    system_events.SYSTEM_TURN: _event(name=str),
    system_events.STAGE: _event(name=str),
    tools.TOOL_CALL: _event({"latency_ms": _Ms}, id=str, name=str, stage=_Stage),
    tools.TOOL_RESULT: _event({"status": str}, id=str),
    usage.USAGE: _event(vendor=str, model=str),
    examiner_events.SAYS: _event({"goal": int | None, "reaction_ms": _Ms | None}, what=str, cue=str),
    examiner_events.SAID: _event(said_ms=_Ms, of_ms=_Ms),
    examiner_events.GOAL: _event(goal=int, verdict=str),
    examiner_events.CUE_CONTRADICTED: _event(edge=str, edge_tick=_Tick),
    examiner_events.ENDS: _event(reason=str),
    REFUSAL: _event(reason=str),
    REPLY: _event(text=str),
}
"""The form of a line by its kind; those of all other kinds are of ANY_EVENT."""
