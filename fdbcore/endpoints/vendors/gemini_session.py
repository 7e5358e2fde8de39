"""The settings of a session of the Gemini Live API: from an address to the server's form, and how its models differ.

The names are the vendor's own, but for `instructions`. Source: `google.genai.types.LiveClientSetup`, google-genai 3.4.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from fdbcore.endpoints.vendors.their_settings import INSTRUCTIONS, picked, theirs
from fdbcore.errors import SettingsError
from fdbcore.runtime.address import Setting, text_of
from fdbcore.types.tools import Tool

Behavior: TypeAlias = Literal["BLOCKING", "NON_BLOCKING"]

SETTINGS: Final = (
    INSTRUCTIONS,
    theirs("voice_name", "the voice"),
    theirs("language_code", "of what it says, as BCP-47"),
    theirs(
        "start_of_speech_sensitivity",
        "of the server's detector of turns",
        choices=("START_SENSITIVITY_HIGH", "START_SENSITIVITY_LOW"),
    ),
    theirs("end_of_speech_sensitivity", "of the same", choices=("END_SENSITIVITY_HIGH", "END_SENSITIVITY_LOW")),
    theirs("prefix_padding_ms", "how much speech it needs before a turn counts", int, unit="ms", least=0),
    theirs("silence_duration_ms", "how much silence ends a turn", int, unit="ms", least=0),
    theirs(
        "activity_handling",
        "whether speech interrupts the model",
        choices=("START_OF_ACTIVITY_INTERRUPTS", "NO_INTERRUPTION"),
    ),
    theirs(
        "turn_coverage", "what belongs to a turn", choices=("TURN_INCLUDES_ONLY_ACTIVITY", "TURN_INCLUDES_ALL_INPUT")
    ),
    theirs(
        "thinking_level",
        "needed by `gemini-3.8-live-extended-thinking`",
        choices=("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"),
    ),
    theirs("thinking_budget", "in tokens; 0 for none, -1 as the model likes", int, least=-1),
    theirs("temperature", "of the model", float, least=0, most=2),
    theirs("seed", "of the model; it may hear the same and yet say something else", int, least=0),
    theirs("max_output_tokens", "of a turn", int, least=1),
    Setting(
        "input_audio_transcription",
        "whether what it hears is transcribed, for the log",
        bool,
        unset="true where the model can",
    ),
    Setting("output_audio_transcription", "whether what it says is transcribed, for the log", bool, default=True),
    Setting(
        "context_window_compression",
        "whether old turns are dropped when the context is full, by the vendor's sliding window",
        bool,
        default=False,
    ),
    Setting("proactive_audio", "whether it may decide not to answer", bool, default=False),
    Setting(
        "tool_behavior",
        "whether the model waits for the result of a tool",
        unset="`BLOCKING` where the model can",
        choices=("BLOCKING", "NON_BLOCKING"),
    ),
    Setting(
        "resumption",
        "whether a session that the server cuts goes on over a new connection, with an event that says so",
        bool,
        default=False,
    ),
    Setting("api_version", "of the interface", default="v1", choices=("v1", "v1beta", "v1alpha")),
)
"""The settings of an address."""

_GENERATION: Final = ("temperature", "seed", "max_output_tokens")
_THINKING: Final = ("thinking_level", "thinking_budget")
_DETECTION: Final = (
    *("start_of_speech_sensitivity", "end_of_speech_sensitivity"),
    *("prefix_padding_ms", "silence_duration_ms"),
)
_INPUT: Final = ("activity_handling", "turn_coverage")


@dataclass(frozen=True, slots=True)
class LiveModel:
    """Peculiarities of the models whose names begin with `prefix`.

    lacks, needs: settings that they do not take, and that they must be given. behaviors: how their tools may run; the
    first one is ours where nothing else is asked for. If there is only one, a tool does not declare it.
    """

    prefix: str
    lacks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    behaviors: tuple[Behavior, ...] = ("BLOCKING", "NON_BLOCKING")


LIVE_MODELS: Final = (
    LiveModel("gemini-3.8-live-extended-thinking", needs=("thinking_level",), behaviors=("NON_BLOCKING",)),
    LiveModel("gemini-3.8-"),
    LiveModel(
        "gemini-3.",
        lacks=("proactive_audio", "input_audio_transcription", "context_window_compression"),
        behaviors=("BLOCKING",),
    ),
    LiveModel(""),  # 2.5, and what is not known yet
)
"""The first one whose prefix fits counts."""


def live_model(name: str) -> LiveModel:
    """The peculiarities of the model of that name."""
    return next(model for model in LIVE_MODELS if name.startswith(model.prefix))


def behavior_of(model: str, asked: Behavior | None) -> Behavior:
    """The behaviour of a model's tools. SettingsError if it cannot do what is asked for."""
    known = live_model(model).behaviors
    if asked is not None and asked not in known:
        raise SettingsError(f"gemini-live: tool_behavior: {model} only has {known[0]}, got {asked!r}")
    return asked or known[0]


def setup_of(model: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The set-up to ask the server for, without tools.

    values: the settings that were given, by name. SettingsError for what the model does not take, or lacks.
    """
    differs = live_model(model)
    for name in differs.lacks:
        if values.get(name):
            raise SettingsError(f"gemini-live: {name}: {model} does not take it")
    for name in differs.needs:
        if name not in values:
            raise SettingsError(f"gemini-live: {name}: {model} needs it, got none")
    detection = _named(values, _DETECTION)
    heard = _named(values, _INPUT) | ({"automaticActivityDetection": detection} if detection else {})
    transcribes = values.get("input_audio_transcription", "input_audio_transcription" not in differs.lacks)
    optional = {
        "systemInstruction": {"parts": [{"text": text_of(values["instructions"])}]} if "instructions" in values else {},
        "realtimeInputConfig": heard,
        "contextWindowCompression": {"slidingWindow": {}} if values.get("context_window_compression") else {},
        "proactivity": {"proactiveAudio": True} if values.get("proactive_audio") else {},
    }
    return {
        "model": f"models/{model}",
        "generationConfig": _generation(values),
        **{name: value for name, value in optional.items() if value},
        **({"inputAudioTranscription": {}} if transcribes else {}),
        **({"outputAudioTranscription": {}} if values.get("output_audio_transcription") else {}),
    }


def directed(setup: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """A set-up with further instructions, in which the partner's speech does not interrupt a turn.

    setup: of `setup_of`; an `activityHandling` that was asked for stays.
    """
    told = list((setup.get("systemInstruction") or {}).get("parts", ()))
    return {
        **setup,
        "systemInstruction": {"parts": [*told, {"text": instructions}]},
        "realtimeInputConfig": {"activityHandling": "NO_INTERRUPTION", **setup.get("realtimeInputConfig", {})},
        "outputAudioTranscription": {},
    }


def declared(tools: Sequence[Tool], model: str, behavior: Behavior) -> list[dict[str, Any]]:
    """Tools in the server's form."""
    told = {"behavior": behavior} if len(live_model(model).behaviors) > 1 else {}
    functions = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.parameters), **told}
        for tool in tools
    ]
    return [{"functionDeclarations": functions}]


def _generation(values: Mapping[str, Any]) -> dict[str, Any]:
    speech: dict[str, Any] = _named(values, ("language_code",))
    if "voice_name" in values:
        speech["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": values["voice_name"]}}
    thinking = _named(values, _THINKING)
    return {
        "responseModalities": ["AUDIO"],
        **_named(values, _GENERATION),
        **({"speechConfig": speech} if speech else {}),
        **({"thinkingConfig": thinking} if thinking else {}),
    }


def _named(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values that were given, by the names of the server's form: maxOutputTokens."""
    given = picked(values, names).items()
    return {re.sub("_(.)", lambda letter: letter[1].upper(), name): value for name, value in given}
