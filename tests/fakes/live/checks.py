"""Whether GPT-Live knows what a client sends, by the types of the vendor's own client."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from fakes.realtime.checks import Wrong, check, literal
from openai.types.live import ClientEvent
from pydantic import BaseModel


@cache
def client_events() -> Mapping[str, type[BaseModel]]:
    """The types of the events that may be sent."""
    return {literal(kind, "type"): kind for kind in get_args(get_args(ClientEvent)[0])}


def check_event(event: Any) -> None:
    """Raise Wrong unless it may be sent. What is absent must be absent."""
    known = client_events()
    if not isinstance(event, dict) or event.get("type") not in known:
        given = event.get("type") if isinstance(event, dict) else event
        names = ", ".join(f"'{name}'" for name in sorted(known))
        raise Wrong("invalid_value", f"Invalid value: '{given}'. Supported values are: {names}.", "type")
    if "event_id" in event and event["event_id"] is None:
        raise Wrong("invalid_type", "Invalid type for 'event_id': expected a string, but got null.", "event_id")
    check(event, known[event["type"]])
