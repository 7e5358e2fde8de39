"""Whether GPT-Live knows what a client sends, by the types of the vendor's own client."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from fakes.realtime.checks import Wrong, check, literal
from openai.types.live import ClientEvent, ConnectClientEvent
from pydantic import BaseModel

APPENDS = ("session.instructions.append", "session.thinking.append", "session.commentary.append")


@cache
def client_events(attached: bool) -> Mapping[str, type[BaseModel]]:
    """The types of the events that may be sent, on the session's own connection or on one that is attached to it."""
    union = ConnectClientEvent if attached else ClientEvent
    return {literal(kind, "type"): kind for kind in get_args(get_args(union)[0])}


def check_event(event: Any, attached: bool) -> None:
    """Raise Wrong unless it may be sent. What is absent must be absent, but for a delegation, which must be said."""
    known = client_events(attached)
    if not isinstance(event, dict) or event.get("type") not in known:
        given = event.get("type") if isinstance(event, dict) else event
        names = ", ".join(f"'{name}'" for name in sorted(known))
        raise Wrong("invalid_value", f"Invalid value: '{given}'. Supported values are: {names}.", "type")
    if "event_id" in event and event["event_id"] is None:
        raise Wrong("invalid_type", "Invalid type for 'event_id': expected a string, but got null.", "event_id")
    if event["type"] in APPENDS and "delegation_id" not in event:
        raise Wrong("missing_required_parameter", "Missing required parameter: 'delegation_id'.", "delegation_id")
    check(event, known[event["type"]])
