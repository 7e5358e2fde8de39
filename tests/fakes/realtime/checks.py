"""Whether the interface knows what a client sends, by the vendor's own types; and what the vendor says if not."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from openai.types.realtime import ConversationItem, RealtimeClientEvent
from pydantic import BaseModel, ValidationError, create_model

SIMPLE = ("int", "str", "float", "bool")


class Wrong(Exception):
    """What is answered by an `error` event; the session lives on."""

    def __init__(self, code: str, message: str, param: str | None = None, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.code, self.message, self.param, self.kind = code, message, param, kind

    def to_json(self, event_id: str | None) -> dict[str, Any]:
        told = {"type": self.kind, "code": self.code, "message": self.message, "param": self.param}
        return told | {"event_id": event_id}


@cache
def client_events() -> Mapping[str, type[BaseModel]]:
    """The types of the events that a client may send, by their names."""
    return {literal(kind, "type"): kind for kind in get_args(get_args(RealtimeClientEvent)[0])}


def literal(kind: type[BaseModel], field: str) -> str:
    """The one value that a field may have."""
    return str(get_args(kind.model_fields[field].annotation)[0])


def check_event(event: Any, settings: type[BaseModel], foreign_items: bool) -> None:
    """Raise Wrong unless it is an event that a client may send.

    settings: the type of the session. foreign_items: items and responses may be such as OpenAI does not know.
    """
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise Wrong("missing_required_parameter", "Missing required parameter: 'type'.", "type")
    known = client_events()
    if event["type"] not in known:
        names = ", ".join(f"'{name}'" for name in sorted(known))
        told = f"Invalid value: '{event['type']}'. Supported values are: {names}."
        raise Wrong("invalid_value", told, "type")
    if foreign_items and event["type"] in ("conversation.item.create", "response.create"):
        return
    kind = known[event["type"]]
    if event["type"] == "session.update":
        kind = _narrowed(kind, "session", settings)
    if event["type"] == "conversation.item.create" and (item := _item(event.get("item"))):
        kind = _narrowed(kind, "item", item)
    check(event, kind)


@cache
def _narrowed(kind: type[BaseModel], field: str, inner: type[BaseModel]) -> type[BaseModel]:
    """The type of an event whose field is of one type alone, so that complaints are about that one."""
    fields: dict[str, Any] = {field: (inner, ...)}
    return create_model(kind.__name__, __base__=kind, **fields)


def _item(item: Any) -> type[BaseModel] | None:
    """The type of an item, by what it calls itself."""
    for kind in get_args(get_args(ConversationItem)[0]):
        named = {name: literal(kind, name) for name in ("type", "role") if name in kind.model_fields}
        if isinstance(item, dict) and named.items() <= item.items():
            found: type[BaseModel] = kind
            return found
    return None


def check(value: Mapping[str, Any], kind: type[BaseModel]) -> None:
    """Raise Wrong, as the vendor words it, for what is missing, of a wrong type or unknown."""
    try:
        parsed = kind.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise _worded(error) from None
    for path in _unknown(parsed):
        raise Wrong("unknown_parameter", f"Unknown parameter: '{path}'.", path)


def _worded(error: ValidationError) -> Wrong:
    # Of a union each member complains; the complaint that goes deepest, and not about its kind, is about the one meant.
    found = max(error.errors(), key=lambda each: (each["loc"][-1] != "type", len(each["loc"])))
    parts = [part for part in found["loc"] if isinstance(part, int) or not part[0].isupper()]
    path = _path([part for part in parts if isinstance(part, int) or (part.isidentifier() and part not in SIMPLE)])
    if found["type"] == "missing":
        return Wrong("missing_required_parameter", f"Missing required parameter: '{path}'.", path)
    if found["type"] == "literal_error":
        supported = found["ctx"]["expected"].replace(" or ", ", ")
        return Wrong("invalid_value", f"Invalid value: '{found['input']}'. Supported values are: {supported}.", path)
    return Wrong("invalid_type", f"Invalid type for '{path}': {found['msg'].lower()}.", path)


def _path(parts: list[Any]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _unknown(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, BaseModel):
        prefix = f"{path}." if path else ""
        yield from (f"{prefix}{name}" for name in value.model_extra or ())
        for name in value.model_fields_set & type(value).model_fields.keys():
            yield from _unknown(getattr(value, name), f"{prefix}{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _unknown(each, f"{path}[{number}]")
