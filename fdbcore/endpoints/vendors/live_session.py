"""A session of GPT-Live: its settings, from an address to the server's form, and the calls of tools in it.

Source: `openai.types.live.SessionConfig`, openai 3.54. The names are the vendor's own; those of the model that calls
the tools stand in `delegation.responses` there, and begin with `responses_` here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.endpoints.vendors.party_log import Json
from fdbcore.endpoints.vendors.realtime_events import output_of
from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of
from fdbcore.runtime.json_values import json_or_text
from fdbcore.types.tools import Tool, ToolCall, ToolResult

RATE_HZ: Final = 24_000

SETTINGS: Final = (
    INSTRUCTIONS,
    theirs("voice", "the voice"),
    theirs("store", "whether the vendor keeps a recording", bool),
    Setting("safety_identifier", "names the user to the vendor", unset="none"),
    Setting("responses_model", "the model that calls the tools", unset="none; needed for tools"),
    theirs("responses_instructions", "what that model is told; `@FILE` for the text in a file"),
    theirs(
        "responses_reasoning_effort", "of that model", choices=("none", "minimal", "low", "medium", "high", "xhigh")
    ),
    Setting("responses_tool_choice", "whether it may call tools", unset="auto", choices=("auto", "none", "required")),
    theirs("responses_parallel_tool_calls", "whether several at once", bool),
    theirs(
        "acknowledgement_delay_ms",
        "how long after a task was handed to that model the voice says so",
        int,
        unit="ms",
        least=0,
    ),
)
"""The settings of an address."""

_OF_RESPONSES: Final = ("model", "tool_choice", "parallel_tool_calls")


def session_of(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The session to ask the server for, without tools; it holds nothing but what was given, and the form of the audio.

    given: the settings by name, without those that were not given. SettingsError for a setting of a model that is not
    named.
    """
    session: dict[str, Any] = {"model": model, "audio": {"format": {"type": "audio/pcm", "rate": RATE_HZ}}}
    if "instructions" in given:
        session["instructions"] = text_of(given["instructions"])
    if "voice" in given:
        session["audio"]["output"] = {"voice": given["voice"]}
    session |= picked(given, ("store", "safety_identifier"))
    if "responses_model" in given:
        session["delegation"] = _delegation(given)
    elif lost := [name for name in given if name.startswith("responses_") or name == "acknowledgement_delay_ms"]:
        raise SettingsError(
            f"openai-live: {lost[0]}: expected responses_model=NAME beside it, the model that it is for"
        )
    return session


def _delegation(values: Mapping[str, Any]) -> dict[str, Any]:
    responses = {name: values[f"responses_{name}"] for name in _OF_RESPONSES if f"responses_{name}" in values}
    if "responses_instructions" in values:
        responses["instructions"] = text_of(values["responses_instructions"])
    if "responses_reasoning_effort" in values:
        responses["reasoning"] = {"effort": values["responses_reasoning_effort"]}
    return {"type": "responses", "responses": responses, **picked(values, ("acknowledgement_delay_ms",))}


def with_tools(session: Mapping[str, Any], tools: Sequence[Tool]) -> dict[str, Any]:
    """The session with tools declared to the model that calls them."""
    if not tools:
        return dict(session)
    delegation = session["delegation"]
    declared = [{"type": "function", **tool.to_json()} for tool in tools]
    return {**session, "delegation": {**delegation, "responses": {**delegation["responses"], "tools": declared}}}


class Delegated:
    """The calls of the model that the voice hands its tasks to."""

    def __init__(self) -> None:
        self._active: set[str] = set()  # responses that are under way
        self._begun: dict[str, tuple[str, str]] = {}  # id of a call: its response and name
        self._unanswered: set[str] = set()
        self._owes_response = False

    def take(self, event: Json) -> list[ToolCall]:
        """The calls of tools that an event of the model means."""
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
        return [{"type": "response.item.create", "item": output_of(result)}, *self.continuation()]

    def continuation(self) -> list[Json]:
        """The request to go on, once no response is under way and no result is missing."""
        if not self._owes_response or self._unanswered or self._active:
            return []
        self._owes_response = False
        return [{"type": "response.create"}]
