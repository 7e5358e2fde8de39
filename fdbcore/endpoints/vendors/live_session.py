"""The settings of a session of GPT-Live: from an address to the server's form.

Source: `openai.types.live.SessionConfig`, openai 3.54. The names are the vendor's own; those of the model that calls
the tools stand in `delegation.responses` there, and begin with `responses_` here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of
from fdbcore.types.tools import Tool

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
