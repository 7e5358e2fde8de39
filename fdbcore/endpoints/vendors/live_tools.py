"""Tools of GPT-Live: a text model of the vendor's, to which the voice hands its tasks, calls them."""

from __future__ import annotations

import json

from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.runtime.json_values import json_or_text
from fdbcore.types.tools import ToolCall, ToolResult


class Delegated:
    """The calls of the model that the voice hands its tasks to."""

    def __init__(self) -> None:
        self._active: set[str] = set()  # responses that are under way
        self._begun: dict[str, tuple[str, str]] = {}  # id of a call: its response and name
        self._unanswered: set[str] = set()
        self._owes_response = False

    def take(self, event: Json) -> list[ToolCall]:
        """What an event of the model means for its calls."""
        kind, item, response = str(event.get("type")), event.get("item"), event.get("response")
        if isinstance(response, dict):
            return self._take_state(kind.rpartition(".")[2], str(response.get("id")))
        if not isinstance(item, dict) or item.get("type") != "function_call":
            return []
        number, name = str(item.get("call_id")), str(item.get("name"))
        if kind == "response.output_item.added":
            self._begun[number] = (next(iter(self._active), ""), name)
            return [ToolCall("begun", number, name)]
        if kind == "response.output_item.done" and item.get("status") != "incomplete":
            self._begun.pop(number, None)
            self._unanswered.add(number)
            self._owes_response = True
            return [ToolCall("complete", number, name, json_or_text(str(item.get("arguments"))))]
        return []

    def _take_state(self, state: str, response: str) -> list[ToolCall]:
        if state in ("created", "in_progress", "queued"):
            self._active.add(response)
            return []
        self._active.discard(response)
        cancelled = [(number, name) for number, (of, name) in self._begun.items() if of == response]
        for number, _ in cancelled:
            del self._begun[number]
        return [ToolCall("cancelled", number, name) for number, name in cancelled]

    def answer(self, result: ToolResult) -> list[Json]:
        """The messages with a result. One that nobody waits for is not sent."""
        if result.id not in self._unanswered:
            return []
        self._unanswered.discard(result.id)
        value = result.value if result.status == "ok" else {"error": result.value}
        item = {"type": "function_call_output", "call_id": result.id, "output": json.dumps(value, ensure_ascii=False)}
        return [{"type": "response.item.create", "item": item}, *self.continuation()]

    def continuation(self) -> list[Json]:
        """The request to go on, once no response is under way and no result is missing."""
        if not self._owes_response or self._unanswered or self._active:
            return []
        self._owes_response = False
        return [{"type": "response.create"}]
