"""The settings of an Ultravox call: from an address to the request that creates it.

The names are the vendor's own, but for `instructions` (its `systemPrompt`).
Source: https://docs.ultravox.ai/api-reference/calls/calls-post.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of
from fdbcore.types.tools import Tool

RATE_HZ: Final = 48_000
"""Both ways, so that nothing is resampled here."""

CLIENT_BUFFER_MS: Final = 30_000
"""Audio that the server may send ahead. What is played when is decided here."""

TOOL_TIMEOUT: Final = "30s"
"""The vendor's own limit is 2.5 s, shorter than slow tools of a world take."""


def _is_duration(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d{1,9})?s", text) is not None


def _duration(name: str, meaning: str) -> Setting:
    return theirs(name, meaning, form="a duration such as 0.5s", fits=_is_duration)


SETTINGS: Final = (
    INSTRUCTIONS,
    theirs("voice", "the name or id of the voice"),
    theirs("temperature", "of the model", float, least=0, most=1),
    theirs("languageHint", "of the call, as BCP-47"),
    theirs(
        "firstSpeaker",
        "who begins; what the agent says before tick 0 is heard from tick 0 on",
        choices=("FIRST_SPEAKER_AGENT", "FIRST_SPEAKER_USER"),
    ),
    _duration("maxDuration", "the longest call; one that reaches it ends as `session limit`"),
    _duration("turnEndpointDelay", "how much silence ends a turn"),
    _duration("minimumTurnDuration", "how much speech makes a turn"),
    _duration("minimumInterruptionDuration", "how much speech interrupts the agent"),
    theirs(
        "frameActivationThreshold",
        "how likely speech must be, for the server's detector of turns",
        float,
        least=0.1,
        most=1,
    ),
    theirs("recordingEnabled", "whether the vendor keeps a recording", bool),
)
"""The settings of an address."""

_PLAIN: Final = ("voice", "temperature", "languageHint", "firstSpeaker", "maxDuration", "recordingEnabled")
_DETECTION: Final = (
    *("turnEndpointDelay", "minimumTurnDuration", "minimumInterruptionDuration", "frameActivationThreshold"),
)


def call_of(model: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The request for a call, without tools.

    values: the settings that were given, by name. SettingsError for a model without its version: the vendor's newest
    one would answer, which changes.
    """
    if not re.search(r"v\d", model):
        raise SettingsError(f"ultravox: model: expected a name with its version, as in ultravox-v0.7, got {model!r}")
    detection = picked(values, _DETECTION)
    heard = {"userStartedSpeaking": True, "userStoppedSpeaking": True, "callEvent": True, "toolUsed": True}
    return {
        "model": model,
        **({"systemPrompt": text_of(values["instructions"])} if "instructions" in values else {}),
        **picked(values, _PLAIN),
        **({"vadSettings": detection} if detection else {}),
        "medium": {
            "serverWebSocket": {
                "inputSampleRate": RATE_HZ,
                "outputSampleRate": RATE_HZ,
                "clientBufferSizeMs": CLIENT_BUFFER_MS,
                "dataMessages": heard,
            }
        },
    }


def declared(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Tools in the server's form: each argument is a parameter of its own."""
    return [{"temporaryTool": _declared(tool)} for tool in tools]


def _declared(tool: Tool) -> dict[str, Any]:
    required = tool.parameters.get("required", ())
    parameters = [
        {"name": name, "location": "PARAMETER_LOCATION_BODY", "schema": schema, "required": name in required}
        for name, schema in tool.parameters.get("properties", {}).items()
    ]
    return {
        "modelToolName": tool.name,
        "description": tool.description,
        "dynamicParameters": parameters,
        "timeout": TOOL_TIMEOUT,
        "client": {},
    }
